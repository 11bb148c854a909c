import type { VoicePlan, VoiceProgram } from '../../../ports/voice.ts'
import type { Destination } from '../control/destination.ts'
import type { CallPlacing, ProgramSource } from '../programs/program-source.ts'
import type { Verb } from '../programs/verbs.ts'
import type { CallPrograms } from './call-programs.ts'
import type { QueuedCall } from './order-store.ts'
import { programCallOf } from './program-call.ts'

/** A call of the API, ready to be placed. */
export type PlacedOrder = VoicePlan & { readonly program: VoiceProgram }

/** After the answer and before the program, the recording begins and the digits are sent. */
const preambleOf = ({ record, send_digits: digits }: CallPlacing): readonly Verb[] => [
  ...(record ? [{ verb: 'record_call', do: 'start' } as const] : []),
  ...(digits === null ? [] : [{ verb: 'dtmf', digits } as const]),
]

/** Prepares the plan of a queued call of the API. @throws ProgramError if its program cannot run */
export const planOfOrder = async (
  programs: CallPrograms,
  row: QueuedCall & { readonly program: ProgramSource; readonly placement: CallPlacing },
  { targets }: Destination,
): Promise<PlacedOrder> => {
  const { account_id: account, id: call, placement } = row
  const program = await programs.resolve(account, row.program)
  return {
    ...{ call, account, callerId: row.caller_id_used, targets, record: null },
    ...{ ringSeconds: placement.ring_seconds, mostSeconds: placement.most_seconds, headers: placement.headers },
    program: programs.runner.begin({
      call: programCallOf(row, row.tags ?? {}),
      program,
      outbound: programs.outboundOf(account),
      preamble: preambleOf(placement),
    }),
  }
}
