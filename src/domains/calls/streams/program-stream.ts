import { print, uuid } from '../../../platform/lib/id.ts'
import type { Outbound } from '../../../platform/lib/outbound.ts'
import { printSid } from '../../../platform/lib/sid.ts'
import type { MediaStream } from '../../../ports/media.ts'
import type { MediaStreamOptions } from '../../../ports/media-stream.ts'
import { ordinaryCallSeconds } from '../limits.ts'
import type { ProgramCall, ResolvedProgram } from '../programs/program.ts'
import type { RunStream } from '../programs/program-deps.ts'
import type { VerbOf } from '../programs/verbs.ts'
import { runStream } from './run-stream.ts'

type StreamVerb = VerbOf<'stream'>

export type ProgramStreamDeps = {
  outboundOf(account: string): Outbound
  /** Returns the headers of the handshake: a signature in the shape of the program. @throws ProgramError */
  headersOf(program: ResolvedProgram, url: string): Promise<Readonly<Record<string, string>>>
  onError(error: unknown): void
}

const tracksOf = ({ direction, track = 'inbound' }: StreamVerb): MediaStreamOptions['tracks'] => {
  // One that goes both ways gives what the party says.
  if (direction !== 'in' || track === 'inbound') return ['inbound']
  return track === 'both' ? ['inbound', 'outbound'] : ['outbound']
}

/** The ids in the frames of a stream, as the program knows them. */
const idsOf = (id: string, { account, id: call }: ProgramCall, shape: ResolvedProgram['shape']) =>
  shape === 'twilio'
    ? { stream: printSid('MZ', id), account: printSid('AC', account), call: printSid('CA', call) }
    : { stream: `MZ${id}`, account: print('ACC', account), call: print('CDR', call) }

/** Makes what opens the streams of programs. */
export const makeRunStream =
  ({ outboundOf, headersOf, onError }: ProgramStreamDeps): RunStream =>
  async ({ call, program, leg, verb }) => {
    const id = uuid()
    const headers = await headersOf(program, verb.url)
    let running: MediaStream | null = null
    let isStopped = false
    const begun = Promise.withResolvers<void>()
    const ended = runStream(
      { outbound: outboundOf(call.account), leg, headersOf: () => headers },
      {
        url: verb.url,
        ids: idsOf(id, call, program.shape),
        parameters: verb.parameters ?? {},
        tracks: tracksOf(verb),
        isTwoWay: verb.direction !== 'in',
        format: verb.format ?? 'audio/x-mulaw;rate=8000',
        framing: verb.framing ?? 'json',
        mostSeconds: verb.max_seconds ?? ordinaryCallSeconds,
      },
      {
        begun: (stream) => {
          running = stream
          if (isStopped) void stream.stop().catch(onError)
          begun.resolve()
        },
      },
    )
    const first = await Promise.race([begun.promise, ended])
    if (first !== undefined && first.error_code !== null) {
      const { reason, error_code, detail } = first
      return { reason, error_code, detail }
    }
    return {
      id,
      ended: ended.then(({ reason, code, seconds, error_code }) => ({
        ...{ reason, code, seconds },
        ...(error_code === null ? {} : { error_code }),
      })),
      sendKey: (key) => void running?.sendKey(key).catch(onError),
      stop: () => {
        isStopped = true
        void running?.stop().catch(onError)
      },
    }
  }
