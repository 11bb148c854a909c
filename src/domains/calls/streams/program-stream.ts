import { print, uuid } from '../../../platform/lib/id.ts'
import type { Outbound } from '../../../platform/lib/outbound.ts'
import { printSid } from '../../../platform/lib/sid.ts'
import type { MediaStream } from '../../../ports/media.ts'
import type { MediaStreamOptions } from '../../../ports/media-stream.ts'
import { ordinaryCallSeconds } from '../limits.ts'
import type { ProgramCall, ResolvedProgram } from '../programs/program.ts'
import { printStream, type RunStream } from '../programs/program-deps.ts'
import type { VerbOf } from '../programs/verbs.ts'
import { runStream, type StreamResult } from './run-stream.ts'
import type { ReportStream, StreamReport } from './stream-status.ts'

type StreamVerb = VerbOf<'stream'>

/** The dependencies of the streams of programs. */
export type ProgramStreamDeps = {
  /** Returns the client for addresses of an account. */
  outboundOf(account: string): Outbound
  /** Returns the headers of the handshake: a signature in the shape of the program. @throws ProgramError */
  headersOf(program: ResolvedProgram, url: string): Promise<Readonly<Record<string, string>>>
  /** Reports the changes of a stream to its `status_url`. */
  readonly report: ReportStream
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
    : { stream: printStream(id), account: print('ACC', account), call: print('CDR', call) }

/** Faults of a stream that goes on: audio was dropped, on its way to the server or from it. */
const drops = {
  sent: {
    code: 'frames_dropped',
    detail: 'the server reads too slowly: the oldest of 2 s of waiting frames are dropped',
  },
  received: { code: 'buffer_full', detail: 'more than 300 s of audio wait to be played: further audio is dropped' },
} as const

type Watch = Pick<Parameters<RunStream>[0], 'call' | 'program' | 'verb' | 'note'> & { readonly id: string }

/** Reports the changes of a stream to its `status_url`, and its faults to the timeline of the call too. */
const watchStream = ({ report }: ProgramStreamDeps, { id, call, program, verb, note }: Watch) => {
  const { status_url: url, status_method: method = 'POST', name = null } = verb
  const { shape, application } = program
  let isOpen = false
  const send = (change: StreamReport['change'], rest: Partial<StreamReport> = {}) => {
    if (url === undefined) return
    report(call, { url, method, shape, application }, { stream: id, name, change, error: null, end: null, ...rest })
  }
  const fail = (error: { readonly code: string; readonly detail: string }) => {
    note(`stream: ${error.code}, ${error.detail}`)
    send('error', { error })
  }
  return {
    opened: () => {
      isOpen = true
      send('started')
    },
    dropped: (of: keyof typeof drops) => fail(drops[of]),
    ended: ({ reason, code, seconds, error_code, detail }: StreamResult) => {
      if (error_code !== null) fail({ code: error_code, detail })
      if (isOpen) send('stopped', { end: { reason, code, seconds } })
    },
  }
}

/** Makes what opens the streams of programs. */
export const makeRunStream =
  (deps: ProgramStreamDeps): RunStream =>
  async ({ call, program, leg, verb, note }) => {
    const { outboundOf, headersOf, onError } = deps
    const id = uuid()
    const headers = await headersOf(program, verb.url)
    const watch = watchStream(deps, { id, call, program, verb, note })
    let running: MediaStream | null = null
    let isStopped = false
    const begun = Promise.withResolvers<void>()
    const ended = runStream(
      { outbound: outboundOf(call.account), leg },
      {
        url: verb.url,
        headers,
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
        opened: watch.opened,
        dropped: watch.dropped,
      },
    ).then((result) => {
      watch.ended(result)
      return result
    })
    const first = await Promise.race([begun.promise, ended])
    if (first !== undefined && first.error_code !== null) {
      const { reason, error_code, detail } = first
      return { reason, error_code, detail }
    }
    return {
      id,
      ended: ended.then(({ reason, code, seconds, error_code }) => ({
        reason,
        code,
        seconds,
        ...(error_code === null ? {} : { error_code }),
      })),
      sendKey: (key) => void running?.sendKey(key).catch(onError),
      stop: () => {
        isStopped = true
        void running?.stop().catch(onError)
      },
    }
  }
