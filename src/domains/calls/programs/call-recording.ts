import type { MediaChannel, MediaRecorder, MediaRecording } from '../../../ports/media.ts'
import type { VoiceLine } from '../../../ports/voice.ts'
import type { ProgramCall } from './program.ts'
import type { ProgramDeps, RecordingStatus } from './program-deps.ts'

/** A recording that was completed. `seconds` is null if the recorder has failed. */
export type FinishedRecording = { readonly id: string; readonly url: string | null; readonly seconds: number | null }

/** A recording that a program makes. It is stopped at the end of the call. */
export type CallRecording = {
  readonly id: string
  readonly recorder: MediaRecorder
  /** Stops the recorder at once, and completes the recording. Idempotent. */
  stop(): Promise<FinishedRecording>
}

type RecordingDeps = { readonly deps: ProgramDeps; readonly line: VoiceLine; call(): ProgramCall }

/** @param verb that records @returns the reason if nothing is recorded */
export const beginRecording = async (
  { deps, line, call }: RecordingDeps,
  verb: 'record' | 'record_call',
  status: RecordingStatus,
  channels: readonly [MediaChannel, MediaChannel],
): Promise<CallRecording | { readonly refused: string }> => {
  const { media } = line
  if (!media) return { refused: 'the call has no media' }
  const begun = await deps.recordings.begin(call(), { verb, status })
  if ('refused' in begun) return begun
  const { id, path } = begun
  const complete = async (content: MediaRecording | 'left'): Promise<FinishedRecording> => {
    const { url } = await deps.recordings.finish(call(), id, content)
    return { id, url, seconds: content === 'left' ? null : content.seconds }
  }
  const started = await media.record(path, ...channels)
  if (started.outcome === 'refused') {
    await complete('left')
    return { refused: started.reason }
  }
  const recorder = started.value
  let stopped: Promise<FinishedRecording> | null = null
  const stop = (): Promise<FinishedRecording> => {
    // Media may close just after the party is gone: the recorder is stopped in the same turn.
    stopped ??= recorder.stop().then((result) => complete(result.outcome === 'done' ? result.value : 'left'))
    return stopped
  }
  const onGone = () => void stop().catch(deps.onError)
  if (line.gone.aborted) onGone()
  else line.gone.addEventListener('abort', onGone, { once: true })
  return { id, recorder, stop }
}
