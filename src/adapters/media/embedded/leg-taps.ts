import type { G711 } from '@trunkline/rtp/g711.ts'
import type { RtpPacket } from '@trunkline/rtp/rtp.ts'
import type { MediaResult, MediaSpeechOptions } from '../../../ports/media.ts'
import { maxListeners } from '../limits.ts'
import { done, refused } from '../result.ts'
import type { MediaClock } from './media-clock.ts'
import { OrderedFrames } from './ordered-frames.ts'
import { SpeechDetector } from './speech-detector.ts'

/**
 * Hears the G.711 audio of a leg packet by packet, as it comes from the peer or goes to it: late packets too, lost ones
 * not. It must not change the packet. `at`: milliseconds of the monotonic clock.
 */
export type Tap = (codec: G711, packet: RtpPacket, at: number) => void

/** Taps of one direction. Null without taps, so that a relayed packet costs a comparison. */
type Taps = readonly Tap[] | null

const withoutTap = (taps: Taps, tap: Tap): Taps => {
  const rest = taps?.filter((one) => one !== tap) ?? []
  return rest.length === 0 ? null : rest
}

/** The taps of a leg: recorders, detectors and listeners of frames. */
export class LegTaps {
  /** Taps of what the peer says, and of what it hears. */
  said: Taps = null
  heard: Taps = null
  private readonly clock: MediaClock
  private readonly spoke: (change: 'began' | 'ended') => void
  /** Functions that end the listeners of frames, by id. */
  private readonly listeners = new Map<string, () => void>()
  /** Ends the detection of speech. */
  private ignoreSpeech: () => void = () => {}
  private isClosed = false

  constructor(clock: MediaClock, spoke: (change: 'began' | 'ended') => void) {
    this.clock = clock
    this.spoke = spoke
  }

  /** Adds a tap of what the peer says or hears. @returns a function that removes it */
  add(of: 'said' | 'heard', tap: Tap): () => void {
    this[of] = [...(this[of] ?? []), tap]
    return () => {
      this[of] = withoutTap(this[of], tap)
    }
  }

  listenForSpeech(options: MediaSpeechOptions | null): MediaResult<null> {
    this.ignoreSpeech()
    if (!options || this.isClosed) return done(null)
    const detector = new SpeechDetector(options, this.spoke)
    const removeTap = this.add('said', (codec, packet, at) => detector.detect(codec, packet, at))
    const tick = (_: number, at: number) => detector.checkEnd(at)
    this.clock.start(tick)
    this.ignoreSpeech = () => {
      removeTap()
      this.clock.stop(tick)
    }
    return done(null)
  }

  /** Gives frames of what the peer says or hears to a listener. They must be copied. */
  listen(id: string, of: 'said' | 'heard', give: (frame: Buffer) => void): MediaResult<null> {
    if (this.listeners.size >= maxListeners) return refused('full', `a leg has at most ${maxListeners} listeners`)
    if (this.isClosed) return refused('state', 'the leg has ended')
    const frames = new OrderedFrames(give, performance.now())
    const removeTap = this.add(of, (codec, packet, at) => frames.take(codec, packet, at))
    const tick = (_: number, at: number) => frames.tick(at)
    this.clock.start(tick)
    this.listeners.set(id, () => {
      removeTap()
      this.clock.stop(tick)
    })
    return done(null)
  }

  unlisten(id: string): MediaResult<null> {
    this.listeners.get(id)?.()
    this.listeners.delete(id)
    return done(null)
  }

  close(): void {
    this.isClosed = true
    this.ignoreSpeech()
    for (const id of this.listeners.keys()) this.unlisten(id)
  }
}
