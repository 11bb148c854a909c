import { print } from '../../../platform/lib/id.ts'
import type { MediaLeg, MediaSound } from '../../../ports/media.ts'
import { idleGatherMs, leastSpeechMs, maxGatheredKeys, verbTimeoutSeconds } from '../limits.ts'
import { beginRecording, type CallRecording } from './call-recording.ts'
import type { RecordingStatus } from './program-deps.ts'
import { playPrompts, playSounds } from './sound-verbs.ts'
import { answeredLeg, callOver, type VerbContext, type VerbOutcome } from './verb-context.ts'
import type { VerbOf } from './verbs.ts'

/** Keys that end a `record` which names none. */
const defaultFinishKeys = '1234567890*#'

const beep: MediaSound = { tones: [1_000], onMs: 300, offMs: 0, loop: 1 }

/** Plays the prompts of a `gather`. With `barge_in`, a key ends them. Returns the code of the first that failed. */
const promptParty = async (context: VerbContext, leg: MediaLeg, verb: VerbOf<'gather'>): Promise<string | null> => {
  const { keys } = context.state
  const { prompts = [], barge_in: takesKeys = true } = verb
  if (prompts.length === 0 || (takesKeys && !keys.isEmpty)) return null
  const pressed = new AbortController()
  const release = takesKeys ? keys.onKey(() => pressed.abort()) : () => {}
  const errorCode = await playPrompts(context, leg, prompts, AbortSignal.any([context.signal, pressed.signal]))
  release()
  if (!takesKeys) keys.clear()
  return errorCode
}

/** Plays prompts and takes keys. A prompt that fails never ends it. */
export const gather = async (context: VerbContext, verb: VerbOf<'gather'>): Promise<VerbOutcome> => {
  const leg = await answeredLeg(context)
  if (!leg) return callOver
  const { keys } = context.state
  const firstMs = (verb.timeout ?? verbTimeoutSeconds) * 1_000
  const nextMs = verb.inter_digit_timeout === undefined ? firstMs : verb.inter_digit_timeout * 1_000
  const finishKeys = verb.finish_on_key ?? '#'
  const most = verb.num_digits ?? maxGatheredKeys
  const began = performance.now()
  const errorCode = await promptParty(context, leg, verb)
  let digits = ''
  let finishedOn: string | null = null
  while (digits.length < most) {
    const key = await keys.next(digits === '' ? firstMs : nextMs, context.signal)
    if (key === null) break
    if (finishKeys.includes(key)) {
      finishedOn = key
      break
    }
    digits += key
  }
  return {
    result: { reason: digits === '' ? 'timeout' : 'digits', digits, finished_on_key: finishedOn },
    errorCode,
    isIdle: digits === '' && performance.now() - began < idleGatherMs,
    skipsAction: digits === '' && verb.on_empty !== 'action',
    // A callee that presses nothing is not connected, unless the program has another way for it.
    isOver: context.isScreening && digits === '' && verb.on_empty === undefined,
  }
}

type RecordEnd = { readonly reason: 'key' | 'silence' | 'max_seconds' | 'hangup' | 'stopped'; readonly key: string }

/** Resolves when a `record` ends. The recording is stopped in the same turn. */
const recordEnd = (
  { line, state, signal }: VerbContext,
  {
    timeout = verbTimeoutSeconds,
    finish_on_key: finishKeys = defaultFinishKeys,
    trim = true,
    max_seconds: most = 3_600,
  }: VerbOf<'record'>,
  recording: CallRecording,
): Promise<RecordEnd> =>
  new Promise((resolve) => {
    let silence: NodeJS.Timeout | undefined
    const end = (reason: RecordEnd['reason'], key = '') => {
      clearTimeout(silence)
      clearTimeout(longest)
      for (const release of releases) release()
      signal.removeEventListener('abort', abort)
      void recording.stop(reason === 'silence' && trim ? timeout : 0).catch(() => {})
      resolve({ reason, key })
    }
    const abort = () => end(line.gone.aborted ? 'hangup' : 'stopped')
    const awaitSpeech = () => {
      if (timeout > 0) silence = setTimeout(() => end('silence'), timeout * 1_000)
    }
    const takeKeys = () => {
      for (let key = state.keys.take(); key !== null; key = state.keys.take())
        if (finishKeys.includes(key)) return end('key', key)
    }
    const longest = setTimeout(() => end('max_seconds'), most * 1_000)
    const releases = [
      state.keys.onKey(takeKeys),
      line.speech((change) => {
        clearTimeout(silence)
        // The event comes once the silence has lasted for the whole timeout.
        if (change === 'ended' && timeout > 0) end('silence')
      }),
    ]
    awaitSpeech()
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    // Keys came while the recording began.
    else takeKeys()
  })

/** Returns the address that gets a recording once it is stored. */
const statusOf = (
  { program }: VerbContext,
  { status_url: url, status_method: method = 'POST' }: VerbOf<'record' | 'record_call'>,
): RecordingStatus => (url === undefined ? null : { url, method, shape: program.shape })

const failedRecord = ({ line }: VerbContext, reason: string): VerbOutcome => {
  line.note(`record: ${reason}`)
  const errorCode = 'recording_failed'
  return { result: { reason: 'failed', error_code: errorCode, seconds: 0, digits: '' }, errorCode, isIdle: true }
}

/** Records what the party says, until a key, silence, the longest time or its end. */
export const record = async (context: VerbContext, verb: VerbOf<'record'>): Promise<VerbOutcome> => {
  const leg = await answeredLeg(context)
  if (!leg) return callOver
  const { timeout = verbTimeoutSeconds } = verb
  if (verb.beep !== false) await playSounds(leg, [beep], { signal: context.signal })
  if (context.signal.aborted) return context.line.gone.aborted ? callOver : { result: null, skipsAction: true }
  // Keys that were pressed before do not end it.
  context.state.keys.clear()
  const recording = await beginRecording(context, 'record', statusOf(context, verb), [{ leg, of: 'said' }, null])
  if ('refused' in recording) return failedRecord(context, recording.refused)
  const began = performance.now()
  if (timeout > 0) await leg.listenForSpeech({ leastMs: leastSpeechMs, silenceMs: timeout * 1_000 })
  const { reason, key } = await recordEnd(context, verb, recording)
  const seconds = (performance.now() - began) / 1_000
  if (timeout > 0 && !context.line.gone.aborted) await leg.listenForSpeech(null)
  const finished = await recording.stop()
  return {
    result: {
      recording_uuid: print('REC', finished.id),
      recording_url: finished.url,
      seconds: finished.seconds ?? Math.round(seconds * 1_000) / 1_000,
      digits: key,
      reason,
    },
  }
}

const failedRecordCall = ({ line }: VerbContext, reason: string): VerbOutcome => {
  line.note(`record_call: ${reason}`)
  const errorCode = 'recording_failed'
  return { result: { error_code: errorCode }, errorCode, isIdle: true }
}

/** The source of a recording of both sides, by that of its verb. */
const sources = { order: 'order', document: 'record_call', command: 'command' } as const

const startRecording = async (
  context: VerbContext,
  leg: MediaLeg,
  verb: VerbOf<'record_call'>,
): Promise<CallRecording | { readonly refused: string }> => {
  const { state, origin } = context
  if (state.recording) return { refused: 'the call is recorded already' }
  const begun = await beginRecording(context, sources[origin], statusOf(context, verb), [
    { leg, of: 'said' },
    { leg, of: 'heard' },
  ])
  if (!('refused' in begun)) state.recording = begun
  return begun
}

const changeRecording = async (
  { state }: VerbContext,
  { do: change, pause = 'silence' }: VerbOf<'record_call'>,
): Promise<CallRecording | { readonly refused: string }> => {
  const { recording } = state
  if (!recording) return { refused: 'the call is not recorded' }
  if (change === 'stop') {
    state.recording = null
    await recording.stop()
    return recording
  }
  const { recorder } = recording
  const changed = change === 'pause' ? await recorder.pause(pause) : await recorder.resume()
  return changed.outcome === 'refused' ? { refused: changed.reason } : recording
}

/** Starts, pauses, resumes or stops the recording of both sides. */
export const recordCall = async (context: VerbContext, verb: VerbOf<'record_call'>): Promise<VerbOutcome> => {
  const leg = await answeredLeg(context)
  if (!leg) return callOver
  const recording =
    verb.do === 'start' ? await startRecording(context, leg, verb) : await changeRecording(context, verb)
  if ('refused' in recording) return failedRecordCall(context, recording.refused)
  return { result: { recording_uuid: print('REC', recording.id) }, isIdle: true }
}
