import { randomBytes } from 'node:crypto'
import type { MediaAnswer, MediaEvents, MediaLegWish, MediaRecording } from '../../port.ts'
import { done, refused, textOf } from '../answer.ts'
import { openRecorder, type Recorder } from '../recording/recorder.ts'
import { bridgeable, isG711 } from './agree.ts'
import { openBrowser } from './browser.ts'
import { Leg } from './leg.ts'
import type { LineEvents, Place } from './line.ts'
import { openPlain } from './plain.ts'
import type { Ports } from './ports.ts'

/** What the calls of one worker share. */
export type Ground = {
  readonly place: Place
  readonly rtpPorts: Ports
  readonly webrtcPorts: Ports
  readonly silenceSeconds: number
}

const maxLegs = 4
const reportMs = 5_000

/** The legs of one call, what is between them, and its recording. */
export class Call {
  private readonly ground: Ground
  private readonly events: MediaEvents
  private readonly legs = new Map<string, Leg>()
  private readonly adding = new Set<string>()
  private readonly name = randomBytes(8).toString('hex')
  private recording: { readonly recorder: Recorder; readonly channels: ReadonlyMap<string, 0 | 1> } | null = null
  /** The first report goes after a second, so that the round trip is known early. */
  private reportedAt = performance.now() - reportMs + 1_000
  private isClosed = false

  constructor(ground: Ground, events: MediaEvents) {
    this.ground = ground
    this.events = events
  }

  async addLeg({ id, kind, codecs, offer, source, srtp = 'never' }: MediaLegWish): Promise<MediaAnswer<null>> {
    if (this.legs.has(id) || this.adding.has(id)) return refused('state', `there is a leg ${id} already`)
    if (this.legs.size + this.adding.size >= maxLegs) return refused('state', `a call has at most ${maxLegs} legs`)
    this.adding.add(id)
    try {
      // The line is made first, and told of nobody until the leg stands.
      let leg: Leg | null = null
      const events: LineEvents = {
        rtp: (packet) => leg?.takeRtp(packet, performance.now()),
        rtcp: (packet) => leg?.takeRtcp(packet, performance.now()),
        connected: () => this.events.connected(id),
        failed: (reason) => this.events.failed(id, reason),
        dropped: (from, expected) => this.events.dropped(id, from, expected),
      }
      const { place, rtpPorts, webrtcPorts } = this.ground
      const line =
        kind === 'webrtc'
          ? await openBrowser(webrtcPorts, place, events)
          : await openPlain(rtpPorts, place, { source: source ?? null, srtp }, events)
      leg = new Leg({ id, kind, codecs, srtp }, this.name, line, {
        heard: (codec, packet, at) => {
          const channel = this.recording?.channels.get(id)
          if (channel !== undefined && isG711(codec)) this.recording?.recorder.take(channel, codec, packet, at)
        },
        dtmf: (digit) => this.events.dtmf(id, digit),
      })
      const taken = this.isClosed
        ? refused('state', 'the call has ended')
        : offer === null
          ? done(null)
          : leg.takeOffer(offer)
      if (taken.outcome === 'done') this.legs.set(id, leg)
      else leg.close()
      return taken
    } catch (error) {
      return refused('full', textOf(error))
    } finally {
      this.adding.delete(id)
    }
  }

  leg(id: string): Leg | null {
    return this.legs.get(id) ?? null
  }

  bridge(one: Leg, other: Leg): MediaAnswer<null> {
    if (one === other) return refused('state', 'a bridge has two legs')
    if (one.codec && other.codec && bridgeable([one.codec], [other.codec]).length === 0)
      return refused('codec', `${one.id} speaks ${one.codec} and ${other.id} ${other.codec}`)
    for (const leg of [one, other]) if (leg.other) leg.other.other = null
    one.other = other
    other.other = one
    return done(null)
  }

  async startRecording(path: string, left: Leg, right: Leg): Promise<MediaAnswer<null>> {
    if (this.recording) return refused('state', 'the call is being recorded already')
    for (const leg of [left, right])
      if (leg.codec && !isG711(leg.codec)) return refused('codec', `${leg.id} speaks ${leg.codec}; G.711 is recorded`)
    try {
      const recorder = await openRecorder(path, performance.now())
      if (this.recording || this.isClosed) {
        await recorder.close(performance.now())
        return refused('state', 'the call has ended, or is being recorded already')
      }
      this.recording = { recorder, channels: new Map([[left.id, 0] as const, [right.id, 1] as const]) }
      return done(null)
    } catch (error) {
      return refused('state', `the recording cannot be made: ${textOf(error)}`)
    }
  }

  async stopRecording(): Promise<MediaAnswer<MediaRecording>> {
    const { recording } = this
    if (!recording) return refused('state', 'the call is not being recorded')
    this.recording = null
    try {
      return done(await recording.recorder.close(performance.now()))
    } catch (error) {
      return refused('state', `the recording could not be written: ${textOf(error)}`)
    }
  }

  stats() {
    return [...this.legs.values()].map((leg) => leg.stats())
  }

  /** Once a second, or more often. */
  tick(at: number): void {
    this.recording?.recorder.flush(at)
    const isReport = at - this.reportedAt >= reportMs
    if (isReport) this.reportedAt = at
    for (const leg of this.legs.values()) {
      if (isReport) leg.report(at)
      const since = leg.silentSince()
      if (since === null || leg.isSilenceTold || at - since < this.ground.silenceSeconds * 1_000) continue
      leg.isSilenceTold = true
      this.events.silence(leg.id, Math.floor((at - since) / 1_000))
    }
  }

  async close(): Promise<void> {
    this.isClosed = true
    for (const leg of this.legs.values()) leg.close()
    if (this.recording) await this.stopRecording()
    this.legs.clear()
  }
}
