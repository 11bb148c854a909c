import type { MediaChannel, MediaRecorder, MediaRecording, MediaResult } from '../../../ports/media.ts'
import type { VoiceLine } from '../../../ports/voice.ts'
import type { RecordingSource } from '../recordings/recording-store.ts'
import type { ProgramCall } from './program.ts'
import type { ProgramDeps, RecordingStatus } from './program-deps.ts'

/** A recording that was completed. `seconds` is null if the recorder has failed. */
export type FinishedRecording = { readonly id: string; readonly url: string | null; readonly seconds: number | null }

/** A recording that a program makes. It is stopped at the end of the call. */
export type CallRecording = {
  readonly id: string
  readonly recorder: MediaRecorder
  /** Stops the recorder at once, and completes the recording without this silence at its end. The first call counts. */
  stop(silentSeconds?: number): Promise<FinishedRecording>
}

type RecordingDeps = { readonly deps: ProgramDeps; readonly line: VoiceLine; call(): ProgramCall }

/** Begins a recording. @returns the reason if nothing is recorded */
export const beginRecording = async (
  { deps, line, call }: RecordingDeps,
  source: RecordingSource,
  status: RecordingStatus,
  channels: readonly [MediaChannel, MediaChannel | null],
): Promise<CallRecording | { readonly refused: string }> => {
  const { media } = line
  if (!media) return { refused: 'the call has no media' }
  const begun = await deps.recordings.begin(call(), source, status)
  if ('refused' in begun) return begun
  const { id, path } = begun
  const closed = async (
    result: MediaResult<MediaRecording>,
    silentSeconds: number,
  ): Promise<MediaRecording | 'left'> => {
    if (result.outcome === 'refused') return 'left'
    return silentSeconds > 0 ? deps.trimRecording(path, silentSeconds) : result.value
  }
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
  const stop = (silentSeconds = 0): Promise<FinishedRecording> => {
    // Media may close just after the party is gone: the recorder is stopped in the same turn.
    line.gone.removeEventListener('abort', onGone)
    stopped ??= recorder.stop().then(async (result) => complete(await closed(result, silentSeconds)))
    return stopped
  }
  const onGone = () => void stop().catch(deps.onError)
  if (line.gone.aborted) onGone()
  else line.gone.addEventListener('abort', onGone, { once: true })
  return { id, recorder, stop }
}
