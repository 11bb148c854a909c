import { makeSerialQueue } from '../../../platform/lib/serial-queue.ts'
import type { MediaLeg } from '../../../ports/media.ts'
import type { VoiceCodeEntry } from '../../../ports/voice.ts'
import type { ActiveCall, CallBehaviour } from './active-call.ts'
import { failure } from './hangup-cause.ts'

/** The tone that asks for keys: hertz, and milliseconds of sound and of silence. */
const tone = { hertz: 440, onMs: 600, offMs: 1_400 }

/** The callee of a call that the platform places hears a tone and enters digits on the keypad. */
export class CodeEntry implements CallBehaviour {
  /** Telephones suppress silence, and the call is short. */
  readonly endsOnSilence = false
  private readonly call: ActiveCall
  private readonly entry: VoiceCodeEntry
  /** The media of the callee, once it has answered. */
  private media: MediaLeg | null = null
  private typed = ''
  /** The callee's key transport, fixed by its first key: some telephones send each key in both. */
  private keyTransport: 'rtp' | 'info' | null = null
  /** One entry is judged at a time; keys pressed meanwhile belong to the next. */
  private readonly checkQueue = makeSerialQueue()

  constructor(call: ActiveCall, entry: VoiceCodeEntry) {
    this.call = call
    this.entry = entry
  }

  async run(): Promise<void> {
    const { call, entry } = this
    const media = await call.openMedia()
    if (!media) return
    const found = await call.search({ media, caller: null, codecs: ['pcmu', 'pcma'], headers: [] })
    if (!found) return
    const { target, leg } = found
    call.setLegs([leg])
    const { session } = leg
    if (!session) return
    if (!(await call.persistAnswer(target, () => [leg.snapshot(session.dialog)]))) return
    call.establish()
    if (call.isOver) return
    this.media = leg.media
    call.after('entry', entry.seconds * 1_000, () =>
      call.end({ how: 'entry_timeout', status: 200, reason: `No code within ${entry.seconds} s`, by: null }),
    )
    void leg.media.listenForKeys()
    this.playTone(leg.media)
  }

  pressed(way: 'rtp' | 'info', key: string): void {
    if (!this.call.isTalking) return
    this.keyTransport ??= way
    if (this.keyTransport !== way) return
    this.stopTone()
    this.typed = /\d/.test(key) ? this.typed + key : ''
    if (this.typed.length < this.entry.length) return
    const typed = this.typed
    this.typed = ''
    void this.checkQueue(() => this.judge(typed))
  }

  /** Repeats the tone until a key is pressed. */
  private playTone(media: MediaLeg): void {
    void media.playTone(tone.hertz).then((played) => {
      if (played.outcome === 'refused')
        this.call.addEntry({ leg: 'callee', what: 'media', text: `no tone is played: ${played.reason}` })
    })
    this.call.after('tone', tone.onMs, () => {
      void media.playTone(null)
      this.call.after('tone', tone.offMs, () => this.playTone(media))
    })
  }

  private stopTone(): void {
    this.call.stopTimer('tone')
    void this.media?.playTone(null)
  }

  private async judge(typed: string): Promise<void> {
    const { call, media } = this
    if (call.isOver) return
    try {
      const verdict = await this.entry.check(typed)
      if (verdict !== 'again') call.end({ how: 'completed', status: 200, reason: verdict.done, by: null })
      else if (media && !call.isOver && this.typed === '') this.playTone(media)
    } catch (error) {
      call.onError(error)
      call.end(failure(500, 'The code could not be checked'))
    }
  }
}
