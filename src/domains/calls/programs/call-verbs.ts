import { print } from '../../../platform/lib/id.ts'
import type { VoiceDialled, VoiceScreening } from '../../../ports/voice.ts'
import { maxTagBytes } from '../limits.ts'
import { type ProgramCall, ProgramError } from './program.ts'
import { type ProgramStream, printStream } from './program-deps.ts'
import type { CallCallbacks } from './program-source.ts'
import { answeredLeg, callOver, idle, sleep, type VerbContext, type VerbOutcome } from './verb-context.ts'
import type { Verb, VerbOf } from './verbs.ts'

const refusals = {
  rejected: { status: 603, reason: 'Decline' },
  busy: { status: 486, reason: 'Busy Here' },
  unavailable: { status: 480, reason: 'Temporarily Unavailable' },
  unknown: { status: 404, reason: 'Not Found' },
} as const

export const answer = async (context: VerbContext): Promise<VerbOutcome> =>
  (await answeredLeg(context)) ? idle : callOver

/** Lets the caller hear ringing, of a call that is not answered. */
export const ring = async ({ line, signal }: VerbContext, { seconds = 3 }: VerbOf<'ring'>): Promise<VerbOutcome> => {
  if (line.isAnswered) return idle
  await line.ring()
  await sleep(seconds * 1_000, signal)
  return { result: null, isIdle: seconds === 0 }
}

export const pause = async ({ signal }: VerbContext, { seconds = 1 }: VerbOf<'pause'>): Promise<VerbOutcome> => {
  await sleep(seconds * 1_000, signal)
  return { result: null, isIdle: seconds === 0 }
}

/** Ends the call; one that is not answered is refused. */
export const hangUp = ({ line }: Pick<VerbContext, 'line'>, reason: string): VerbOutcome => {
  if (line.isAnswered) line.hangUp({ how: 'completed', status: 200, reason })
  else line.refuse(refusals.rejected.status, refusals.rejected.reason)
  return callOver
}

export const reject = (context: VerbContext, { reason = 'rejected' }: VerbOf<'reject'>): VerbOutcome => {
  const { line } = context
  if (line.isAnswered) {
    line.note('reject: the call is answered already, and is hung up')
    return hangUp(context, 'Rejected by the program')
  }
  line.refuse(refusals[reason].status, refusals[reason].reason)
  return callOver
}

/** Merges data into the tags of the call. @throws ProgramError if they become too long */
export const tag = async ({ deps, state, call }: VerbContext, { data }: VerbOf<'tag'>): Promise<VerbOutcome> => {
  const tags = { ...state.tags, ...data }
  if (Buffer.byteLength(JSON.stringify(tags)) > maxTagBytes)
    throw new ProgramError('attribute', `tag: the tags of a call have at most ${maxTagBytes} bytes as JSON`)
  state.tags = tags
  await deps.storeTags(call(), tags)
  return idle
}

const waits = new Map([
  ['w', 500],
  ['W', 1_000],
])

/** Sends keys; `w` waits for half a second, `W` for a second. */
export const dtmf = async (context: VerbContext, { digits }: VerbOf<'dtmf'>): Promise<VerbOutcome> => {
  const leg = await answeredLeg(context)
  if (!leg) return callOver
  for (const part of digits.match(/[wW]|[^wW]+/g) ?? []) {
    if (context.signal.aborted) break
    const ms = waits.get(part)
    if (ms !== undefined) {
      await sleep(ms, context.signal)
      continue
    }
    const sent = await leg.sendKeys(part)
    if (sent.outcome === 'done' || context.line.gone.aborted) continue
    context.line.note(`dtmf: ${sent.reason}`)
    return { result: null, errorCode: 'media', isIdle: true }
  }
  return { result: null }
}

const dialStatus = ({ how, isAnswered }: VoiceDialled): string => {
  if (isAnswered) return 'completed'
  // A person who declines is as one who talks already.
  if (how === 'busy' || how === 'rejected') return 'busy'
  return how === 'no_answer' || how === 'canceled' ? how : 'failed'
}

/** Returns the receiver of the statuses of a dialled call. */
const callbacksOf = ({ program }: VerbContext, { targets: [target] }: VerbOf<'dial'>): CallCallbacks | null => {
  if (target?.status_url === undefined) return null
  const { status_url: url, status_method: method = 'POST', status_events: events = ['completed'] } = target
  return { url, method, events, shape: program.shape, application: program.application }
}

/** Returns what the callee of a dialled call is asked before it is connected; null for nothing. */
const screeningOf = (
  { screen }: VerbContext,
  { targets: [target], confirm = [] }: VerbOf<'dial'>,
  callee: ProgramCall,
): VoiceScreening | null => {
  const digits = target && 'send_digits' in target ? target.send_digits : undefined
  const verbs: readonly Verb[] = digits === undefined ? confirm : [{ verb: 'dtmf', digits }, ...confirm]
  return verbs.length === 0 ? null : screen(callee, verbs)
}

/** Connects the party with another one. A call that fails is a result, and the program goes on. */
export const dial = async (context: VerbContext, verb: VerbOf<'dial'>): Promise<VerbOutcome> => {
  const { deps, line, call, signal } = context
  if (verb.answer_on_bridge !== true && !(await answeredLeg(context))) return callOver
  const placed = await deps.placeChild(call(), verb, callbacksOf(context, verb))
  if ('failed' in placed) {
    line.note(`dial: refused with ${placed.failed}, ${placed.reason}`)
    return {
      result: { status: 'failed', call_uuid: null, recording_uuid: null, seconds: 0, sip_status: placed.failed },
      errorCode: 'dial_refused',
      isIdle: true,
    }
  }
  const screening = screeningOf(context, verb, placed.call)
  const ended = await line.dial(screening ? { ...placed.plan, screening } : placed.plan, {
    answersOnBridge: verb.answer_on_bridge === true,
    endsOnStar: verb.hangup_on_star === true,
    signal,
  })
  const { record } = placed.plan
  return {
    result: {
      status: dialStatus(ended),
      call_uuid: print('CDR', placed.call.id),
      // A recording begins with the connection.
      recording_uuid: record && ended.isAnswered ? print('REC', record.id) : null,
      seconds: ended.seconds,
      sip_status: ended.status,
    },
  }
}

/** Opens a stream, which goes on in the background. Returns an outcome if it could not be. */
export const openStream = async (
  context: VerbContext,
  verb: VerbOf<'stream'>,
): Promise<{ readonly stream: ProgramStream } | { readonly failed: VerbOutcome }> => {
  const { deps, state, line, program, call } = context
  const leg = await answeredLeg(context)
  if (!leg) return { failed: callOver }
  const note = (text: string) => line.note(text)
  const begun = await deps.runStream({ call: call(), program, leg, verb, note })
  if ('error_code' in begun) {
    const { reason, error_code: errorCode } = begun
    const result = { reason, code: null, seconds: 0, error_code: errorCode }
    return { failed: { result, errorCode, isIdle: true, skipsAction: verb.on_error !== 'action' } }
  }
  const entry = { name: verb.name ?? null, stream: begun, takesKeys: verb.direction !== 'in' }
  state.streams.add(entry)
  void begun.ended.catch(deps.onError).finally(() => state.streams.delete(entry))
  return { stream: begun }
}

/** Streams the call to a server. In both directions, the program goes on once the stream has ended. */
export const stream = async (context: VerbContext, verb: VerbOf<'stream'>): Promise<VerbOutcome> => {
  const { state, signal } = context
  const opened = await openStream(context, verb)
  if ('failed' in opened) return opened.failed
  if (verb.direction === 'in') return { result: { stream: printStream(opened.stream.id) }, isIdle: true }
  const stop = () => opened.stream.stop()
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  state.isStreaming = true
  try {
    const result = await opened.stream.ended
    const errorCode = typeof result.error_code === 'string' ? result.error_code : null
    return { result, errorCode, skipsAction: errorCode !== null && verb.on_error !== 'action' }
  } finally {
    state.isStreaming = false
    signal.removeEventListener('abort', stop)
  }
}

/** Ends open streams: those of a name, with an id, or all. Returns their number. */
export const stopStreams = ({ state }: Pick<VerbContext, 'state'>, name: string | null, id: string | null): number => {
  const found = [...state.streams].filter(
    (entry) => (name === null || entry.name === name) && (id === null || entry.stream.id === id),
  )
  for (const { stream: open } of found) open.stop()
  return found.length
}
