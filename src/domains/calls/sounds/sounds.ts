import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Logger } from 'pino'
import type { Config } from '../../../config.ts'
import type { Db } from '../../../platform/db/sql.ts'
import { type FairLimiter, makeFairLimiter, QueueFull } from '../../../platform/lib/fair-limiter.ts'
import type { OutboundPair } from '../../../platform/lib/outbound.ts'
import type { MediaSound } from '../../../ports/media.ts'
import type { Media } from '../../msgapp/media/ops.ts'
import { findClipFile } from '../clips/ops.ts'
import { maxSpokenCharacters, maxToneBytes, soundReadyMs, soundsAtATime } from '../limits.ts'
import { SoundCache, type SoundCacheLimits, soundKey } from './sound-cache.ts'
import { makeSoundConverter } from './sound-converter.ts'
import { downloadSound } from './sound-download.ts'
import { failed, SoundError, type SoundErrorCode } from './sound-error.ts'
import { findSpeaker, type Speaker } from './speech.ts'
import { speakTones } from './spoken-tones.ts'
import { UnusableSound } from './unusable-sound.ts'

/** What a call is to play. `clip`: id of an uploaded clip, without prefix. `language`: BCP 47; null: the default. */
export type SoundSource =
  | { readonly url: string }
  | { readonly clip: string }
  | { readonly text: string; readonly language: string | null; readonly voice: string | null }

/** Sounds that a leg can play at once. `note`: what the timeline says about them, such as the engine that spoke. */
export type PreparedSound = { readonly sounds: readonly MediaSound[]; readonly note: string | null }

export type SoundFailure = {
  readonly error_code: SoundErrorCode
  readonly detail: string
}

export type Sounds = {
  /**
   * Turns a source into files that a media engine plays. Takes at most 3 s. The files stay readable for at least 30 s;
   * a player that has opened them is not affected by their deletion.
   * @param account id without prefix @throws the abort reason of the signal, and errors of the database and of the disk
   */
  prepare(account: string, source: SoundSource, signal: AbortSignal): Promise<PreparedSound | SoundFailure>
}

export type SoundsDeps = {
  readonly db: Db
  readonly config: Pick<Config, 'home'>
  readonly outbound: OutboundPair
  readonly sandboxAccounts: { has(account: string): boolean }
  readonly media: Pick<Media, 'find' | 'read'>
  readonly log: Pick<Logger, 'error'>
}

/** Differences for tests. `speaker`: null speaks by tones; default: espeak-ng where it is installed. */
export type SoundsOptions = {
  readonly cacheLimits?: Partial<SoundCacheLimits>
  readonly speaker?: Promise<Speaker | null>
  readonly readyMs?: number
}

type CachedSound = { readonly path: string; readonly note: string | null }

/** One attempt at a time for each key: later callers wait for the same. */
class SharedWork {
  readonly #running = new Map<string, Promise<CachedSound>>()

  run(key: string, work: () => Promise<CachedSound>): Promise<CachedSound> {
    const running = this.#running.get(key)
    if (running) return running
    const begun = work().finally(() => this.#running.delete(key))
    // A caller that stopped waiting does not see the failure.
    begun.catch(() => {})
    this.#running.set(key, begun)
    return begun
  }

  get all(): readonly Promise<CachedSound>[] {
    return [...this.#running.values()]
  }
}

const tonesNote = 'spoken as tones, as espeak-ng is not installed'

class SoundPreparation {
  readonly #deps: SoundsDeps
  readonly #cache: SoundCache
  readonly #converter = makeSoundConverter()
  // Slow addresses do not delay texts.
  readonly #fetches = makeFairLimiter(soundsAtATime)
  readonly #texts = makeFairLimiter(soundsAtATime)
  readonly #shared = new SharedWork()
  readonly #readyMs: number
  readonly #closing = new AbortController()
  #speaker: Promise<Speaker | null> | undefined

  constructor(deps: SoundsDeps, { cacheLimits, speaker, readyMs = soundReadyMs }: SoundsOptions) {
    this.#deps = deps
    this.#cache = new SoundCache(resolve(deps.config.home), cacheLimits)
    this.#speaker = speaker
    this.#readyMs = readyMs
  }

  async prepare(account: string, source: SoundSource, signal: AbortSignal): Promise<PreparedSound | SoundFailure> {
    signal.throwIfAborted()
    const lateCode = 'text' in source ? 'tts_unavailable' : 'timeout'
    const late = AbortSignal.timeout(this.#readyMs)
    const waiting = new AbortController()
    const until = AbortSignal.any([signal, late, waiting.signal])
    try {
      const aborted = once(until, 'abort').then(() => {
        signal.throwIfAborted()
        throw failed(lateCode, `the sound was not ready within ${this.#readyMs / 1_000} s`)
      })
      // Settles with `waiting`, when the sound is ready.
      aborted.catch(() => {})
      const { path, note } = await Promise.race([this.#find(account, source), aborted])
      return { sounds: [{ file: path, fromMs: 0, loop: 1 }], note }
    } catch (error) {
      if (error instanceof SoundError || error instanceof UnusableSound)
        return { error_code: error.code, detail: error.message }
      if (error instanceof QueueFull)
        return { error_code: lateCode, detail: 'too many sounds of the account are being prepared' }
      throw error
    } finally {
      waiting.abort()
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#converter.close()
    if (this.#speaker) (await this.#speaker)?.close()
    await Promise.allSettled(this.#shared.all)
    await this.#cache.close()
  }

  #find(account: string, source: SoundSource): Promise<CachedSound> {
    if ('url' in source) return this.#fromUrl(account, source.url)
    if ('clip' in source) return this.#fromClip(account, source.clip)
    return this.#fromText(account, source)
  }

  /** Makes a sound and stores it in the cache, once at a time. @param make writes a WAV or MP3 file */
  #make(
    turns: FairLimiter,
    account: string,
    key: string,
    make: (file: string) => Promise<{ readonly isStreamed: boolean; readonly note: string | null } | CachedSound>,
  ): Promise<CachedSound> {
    const work = async () => {
      const [input, output] = [await this.#cache.temporaryFile(), await this.#cache.temporaryFile()]
      try {
        const made = await make(input)
        if ('path' in made) return made
        const { octets, sha256, isSilent } = await this.#converter.convert(account, {
          ...{ input, output, isStreamed: made.isStreamed },
        })
        if (made.isStreamed && isSilent) throw failed('tts_empty', 'espeak-ng said nothing')
        return { path: await this.#cache.add(account, key, { file: output, sha256, octets }), note: made.note }
      } finally {
        await Promise.all([input, output].map((file) => rm(file, { force: true })))
      }
    }
    return this.#shared.run(`${account} ${key}`, () => turns.run(account, work))
  }

  async #fromUrl(account: string, url: string): Promise<CachedSound> {
    const key = soundKey('url', url)
    const known = await this.#cache.find(account, key)
    const origin = known === null ? null : await this.#cache.originOf(account, key)
    if (known !== null && origin !== null && Date.now() < origin.expiresAt) return { path: known, note: null }
    return this.#fetch(account, url, key)
  }

  async #fetch(account: string, url: string, key: string): Promise<CachedSound> {
    const outbound = this.#deps.outbound.of(this.#deps.sandboxAccounts.has(account))
    let fetched: Awaited<ReturnType<typeof downloadSound>> | null = null
    return this.#make(this.#fetches, account, key, async (file) => {
      const known = await this.#cache.find(account, key)
      const origin = known === null ? null : await this.#cache.originOf(account, key)
      fetched = await downloadSound(outbound, url, origin, file, this.#closing.signal)
      if (fetched.isChanged || known === null) return { isStreamed: false, note: null }
      return { path: known, note: null }
    }).then(async (prepared) => {
      if (fetched) await this.#cache.setOrigin(account, key, fetched.origin)
      return prepared
    })
  }

  async #fromClip(account: string, clip: string): Promise<CachedSound> {
    const { db, media, log } = this.#deps
    const found = await findClipFile(db, media, account, clip)
    if (!found) throw failed('clip_not_found', `there is no clip CLP${clip}`)
    const key = soundKey('clip', clip)
    const known = await this.#cache.find(account, key)
    if (known !== null) return { path: known, note: null }
    return this.#make(this.#fetches, account, key, async (file) => {
      try {
        await pipeline(await media.read(found), createWriteStream(file, { flags: 'wx', mode: 0o600 }))
      } catch (error) {
        log.error({ clip, err: error }, 'sounds: reading a clip failed')
        throw failed('clip_not_found', `the file of clip CLP${clip} cannot be read`)
      }
      return { isStreamed: false, note: null }
    })
  }

  async #fromText(
    account: string,
    { text, language, voice }: Extract<SoundSource, { text: string }>,
  ): Promise<CachedSound> {
    if (text.trim() === '') throw failed('tts_empty', 'the text is empty')
    if (text.length > maxSpokenCharacters)
      throw failed('too_large', `the text has ${text.length} characters; ${maxSpokenCharacters} are allowed`)
    this.#speaker ??= findSpeaker()
    const speaker = await this.#speaker
    if (!speaker) return this.#asTones(account, text)
    const chosen = speaker.voiceOf(voice, language)
    const key = soundKey('espeak-ng', chosen, text)
    const note = `spoken by espeak-ng, voice ${chosen}`
    const known = await this.#cache.find(account, key)
    if (known !== null) return { path: known, note }
    return this.#make(this.#texts, account, key, async (file) => {
      await speaker.speak(account, text, chosen, file)
      return { isStreamed: true, note }
    })
  }

  async #asTones(account: string, text: string): Promise<CachedSound> {
    const key = soundKey('tones', text)
    const isCut = Buffer.byteLength(text) > maxToneBytes
    const note = isCut ? `${tonesNote}; cut after ${maxToneBytes} bytes` : tonesNote
    const known = await this.#cache.find(account, key)
    if (known !== null) return { path: known, note }
    return this.#shared.run(`${account} ${key}`, async () => {
      const octets = speakTones(text)
      const file = await this.#cache.temporaryFile()
      await writeFile(file, octets, { mode: 0o600 })
      const sha256 = createHash('sha256').update(octets).digest('hex')
      return { path: await this.#cache.add(account, key, { file, sha256, octets: octets.length }), note }
    })
  }
}

/** Makes the sounds of calls. Only one process of an installation's home may use it: that which runs the calls. */
export const makeSounds = (deps: SoundsDeps, options: SoundsOptions = {}): Sounds & { close(): Promise<void> } => {
  const preparation = new SoundPreparation(deps, options)
  return {
    prepare: (account, source, signal) => preparation.prepare(account, source, signal),
    close: () => preparation.close(),
  }
}
