import { parse } from '../../../platform/lib/id.ts'
import type { MediaLeg, MediaSound } from '../../../ports/media.ts'
import { maxSoundLoops, maxSoundPreparationMs } from '../limits.ts'
import type { PreparedSounds, SoundSource } from './program-deps.ts'
import { answeredLeg, callOver, sleep, type VerbContext, type VerbOutcome } from './verb-context.ts'
import type { VerbOf } from './verbs.ts'

type SoundVerb = VerbOf<'say'> | VerbOf<'play'>

/** Sounds of a verb that are ready; those that are not were noted. */
type ReadySounds = { readonly sounds: readonly MediaSound[]; readonly errorCode: string | null }

/** A verb that a `gather` plays while it waits for keys. */
export type Prompt = SoundVerb | VerbOf<'pause'>

const sourcesOf = (verb: SoundVerb): readonly (SoundSource | null)[] => {
  if (verb.verb === 'say') return [{ text: verb.text, language: verb.language ?? null, voice: verb.voice ?? null }]
  if (verb.clip_uuid !== undefined) {
    const clip = parse('CLP', verb.clip_uuid)
    return [clip === null ? null : { clip }]
  }
  return (verb.urls ?? (verb.url === undefined ? [] : [verb.url])).map((url) => ({ url }))
}

const prepareSource = async (
  { deps, program }: VerbContext,
  source: SoundSource | null,
  signal: AbortSignal,
): Promise<PreparedSounds> => {
  if (!source) return { error_code: 'clip_not_found', detail: 'clip_uuid is not the id of a clip' }
  const deadline = AbortSignal.timeout(maxSoundPreparationMs)
  const either = AbortSignal.any([signal, deadline])
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(either.reason)
  either.addEventListener('abort', abort, { once: true })
  try {
    either.throwIfAborted()
    return await Promise.race([deps.sounds.prepare(program.account, source, either), aborted.promise])
  } catch (error) {
    if (signal.aborted) return { sounds: [], note: null }
    if (deadline.aborted)
      return { error_code: 'timeout', detail: `not ready within ${maxSoundPreparationMs / 1_000} s` }
    deps.onError(error)
    return { error_code: 'internal_error', detail: 'something went wrong on our side' }
  } finally {
    either.removeEventListener('abort', abort)
  }
}

const toneOf = ({ tone }: VerbOf<'play'>): readonly MediaSound[] =>
  tone ? [{ tones: tone.hertz, onMs: tone.on_ms, offMs: tone.off_ms ?? 0, loop: 1 }] : []

/** Makes the sounds of a verb ready, and notes those that cannot be. Takes at most 3 s. */
export const prepareSounds = async (
  context: VerbContext,
  verb: SoundVerb,
  signal: AbortSignal,
): Promise<ReadySounds> => {
  if (verb.verb === 'play' && verb.tone) return { sounds: toneOf(verb), errorCode: null }
  const fromMs = verb.verb === 'play' ? Math.round((verb.from_seconds ?? 0) * 1_000) : 0
  const prepared = await Promise.all(sourcesOf(verb).map((source) => prepareSource(context, source, signal)))
  const sounds: MediaSound[] = []
  let errorCode: string | null = null
  for (const each of prepared) {
    if ('error_code' in each) {
      errorCode ??= each.error_code
      context.line.note(`${verb.verb}: ${each.error_code}, ${each.detail}`)
      continue
    }
    if (each.note !== null) context.line.note(`${verb.verb}: ${each.note}`)
    sounds.push(...each.sounds.map((sound) => ('file' in sound ? { ...sound, fromMs: sound.fromMs + fromMs } : sound)))
  }
  return { sounds, errorCode }
}

/** How sounds ended. `ms`: of sound that was played. */
export type PlayedSounds = { readonly how: 'done' | 'stopped' | 'failed'; readonly ms: number }

/** Plays sounds until they end, or the signal aborts. @param loop 0: without an end */
export const playSounds = async (
  leg: MediaLeg,
  sounds: readonly MediaSound[],
  { loop = 1, maxMs = null, signal }: { loop?: number; maxMs?: number | null; signal: AbortSignal },
): Promise<PlayedSounds> => {
  if (sounds.length === 0) return { how: 'done', ms: 0 }
  let isTimeUp = false
  const stop = () => void leg.stopSounds()
  const timer =
    maxMs === null
      ? undefined
      : setTimeout(() => {
          isTimeUp = true
          stop()
        }, maxMs)
  signal.addEventListener('abort', stop)
  try {
    let ms = 0
    for (let left = loop === 0 ? maxSoundLoops : loop; left > 0 && !isTimeUp; left--) {
      if (signal.aborted) return { how: 'stopped', ms }
      const played = await leg.play(sounds)
      if (played.outcome === 'refused') return { how: signal.aborted ? 'stopped' : 'failed', ms }
      ms += played.value.ms
      if (played.value.how === 'stopped') return { how: isTimeUp ? 'done' : 'stopped', ms }
    }
    return { how: 'done', ms }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

/** Plays the sounds of a verb that were made ready. */
export const playReady = (leg: MediaLeg, verb: SoundVerb, { sounds }: ReadySounds, signal: AbortSignal) =>
  playSounds(leg, sounds, {
    ...(verb.loop === undefined ? {} : { loop: verb.loop }),
    maxMs: verb.verb === 'play' && verb.max_seconds !== undefined ? verb.max_seconds * 1_000 : null,
    signal,
  })

const soundOutcome = (played: PlayedSounds, errorCode: string | null): VerbOutcome => {
  const code = errorCode ?? (played.how === 'failed' ? 'media' : null)
  return {
    result: code === null ? { how: played.how } : { how: 'failed', error_code: code },
    errorCode: code,
    isIdle: played.ms === 0,
  }
}

/** Executes `say` and `play`. A sound that fails is noted, and the program goes on. */
export const playVerb = async (context: VerbContext, verb: SoundVerb): Promise<VerbOutcome> => {
  const { line, signal } = context
  // Prepares while the call is answered.
  const ready = prepareSounds(context, verb, signal)
  const isEarly = verb.early === true && !line.isAnswered
  if (isEarly && !(await line.early())) {
    await ready
    if (line.gone.aborted) return callOver
    line.note(`${verb.verb}: the call has no early media`)
    return { result: { how: 'failed', error_code: 'no_early_media' }, errorCode: 'no_early_media', isIdle: true }
  }
  const leg = isEarly ? line.leg : await answeredLeg(context)
  const sounds = await ready
  if (!leg) return callOver
  return soundOutcome(await playReady(leg, verb, sounds, signal), sounds.errorCode)
}

/**
 * Plays prompts one after the other; the next is made ready meanwhile. Prompts that fail are noted and left out.
 * @returns the code of the first that failed
 */
export const playPrompts = async (
  context: VerbContext,
  leg: MediaLeg,
  prompts: readonly Prompt[],
  signal: AbortSignal,
): Promise<string | null> => {
  const prepare = (prompt: Prompt | undefined) =>
    prompt === undefined || prompt.verb === 'pause' ? null : prepareSounds(context, prompt, signal)
  let errorCode: string | null = null
  let next = prepare(prompts[0])
  for (const [index, prompt] of prompts.entries()) {
    const ready = await next
    if (signal.aborted) break
    next = prepare(prompts[index + 1])
    if (prompt.verb === 'pause') await sleep((prompt.seconds ?? 1) * 1_000, signal)
    else if (ready) {
      const { how } = await playReady(leg, prompt, ready, signal)
      errorCode ??= ready.errorCode ?? (how === 'failed' ? 'media' : null)
    }
  }
  await next
  return errorCode
}
