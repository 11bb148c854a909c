import type { VoiceDecision, VoicePlan } from '../../../ports/voice.ts'
import { maxProgramSeconds } from '../limits.ts'
import { publishProgramFailed } from '../ops.ts'
import { programCallOf } from '../orders/program-call.ts'
import { ProgramError, type ResolvedProgram } from '../programs/program.ts'
import type { ProgramFailure } from '../programs/program-deps.ts'
import type { ProgramSource } from '../programs/program-source.ts'
import { type CallRefusal, callRefusals } from '../refusals.ts'
import type { NewCall } from '../store.ts'
import type { Admission, CallControlDeps } from './call-admission.ts'

/** Returns the application that a source names; null for none. */
export const applicationIn = (source: ProgramSource): string | null =>
  source.kind === 'application' ? source.application : null

/** Returns a failure as its event names it. */
export const failureOf = ({ code, url, status, message: detail }: ProgramError): ProgramFailure => ({
  ...{ code, url, status, detail },
})

/** Admits calls to numbers that run a program: from trunks, and from the browsers of the account. */
export const makeAdmitProgram =
  (
    { db, callPrograms, log }: Pick<CallControlDeps, 'db' | 'callPrograms' | 'log'>,
    { storeRefusal, refuseInbound, admitCall }: Admission,
  ) =>
  /**
   * @param attempt with its depth, if calls of ours led to it
   * @param isRecorded the whole call is recorded, whatever the program records
   * @param uncovered answer if the balance does not suffice
   */
  async (
    attempt: NewCall,
    source: ProgramSource,
    isRecorded: boolean,
    uncovered: CallRefusal,
  ): Promise<VoiceDecision<VoicePlan>> => {
    const { account_id: account } = attempt
    let program: ResolvedProgram
    try {
      program = await callPrograms.resolve(account, source)
    } catch (error) {
      if (!(error instanceof ProgramError)) throw error
      log.warn({ account, call: attempt.id, reason: error.message }, 'calls: the program cannot run')
      const refuse = attempt.direction === 'I' ? refuseInbound : storeRefusal
      const refused = await refuse(attempt, callRefusals.programFailed())
      await db.begin((tx) => publishProgramFailed(tx, account, attempt.id, applicationIn(source), failureOf(error)))
      return refused
    }
    const { application, callbacks = null } = program
    const call = { ...attempt, application_id: application, callbacks }
    const decided = await admitCall(call, { callerId: call.caller_id_used, targets: [], isRecorded }, uncovered)
    if ('refused' in decided) return decided
    const begun = callPrograms.runner.begin({
      call: programCallOf({ ...call, status: 'RINGING' }),
      program,
      outbound: callPrograms.outboundOf(account),
    })
    return { value: { ...decided.value, mostSeconds: maxProgramSeconds, program: begun } }
  }
