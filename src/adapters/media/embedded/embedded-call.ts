import { randomBytes } from 'node:crypto'
import type {
  MediaEvents,
  MediaLegOptions,
  MediaPlayed,
  MediaRecording,
  MediaResult,
  MediaSound,
} from '../../../ports/media.ts'
import type { MediaStreamEvents, MediaStreamOptions } from '../../../ports/media-stream.ts'
import { maxFeeds, maxLegs, maxRecordings, maxSounds, reportMs } from '../limits.ts'
import { openRecorder, type Recorder } from '../recording/recorder.ts'
import { done, errorMessage, refused } from '../result.ts'
import { LegStream } from '../stream/leg-stream.ts'
import { AudioFeed } from './audio-feed.ts'
import { Leg } from './leg.ts'
import type { MediaClock } from './media-clock.ts'
import { bridgeable, isG711 } from './negotiate.ts'
import { openPlainTransport } from './plain-transport.ts'
import type { Player } from './player.ts'
import type { SoundFiles } from './sound-files.ts'
import type { SoundReader } from './sound-reader.ts'
import { openSound } from './sounds.ts'
import type { TransportAddresses, TransportEvents } from './transport.ts'
import { UdpPorts } from './udp-ports.ts'
import { openWebRtcTransport } from './webrtc-transport.ts'

/** Dependencies shared by the calls of a worker. */
export type EmbeddedCallDeps = {
  readonly addresses: TransportAddresses
  readonly rtpPorts: UdpPorts
  readonly webrtcPorts: UdpPorts
  readonly silenceSeconds: number
  readonly clock: MediaClock
  readonly files: SoundFiles
}

/** For legs whose peers are legs of this machine. Any port: the configured range is for firewalls. */
const onLoopback = {
  addresses: { bind: '127.0.0.1', advertised: '127.0.0.1', offersOwnAddress: false },
  rtpPorts: new UdpPorts('127.0.0.1', [0, 0]),
}

/** A channel of a recording: what the peer of a leg says, or what it hears. */
type Channel = { readonly leg: Leg; readonly of: 'said' | 'heard' }

/** A running recording, with functions that remove its taps. */
type Recording = { readonly recorder: Recorder; readonly taps: readonly (() => void)[] }

/** The legs of a call, their bridges, and its recordings. */
export class EmbeddedCall {
  private readonly deps: EmbeddedCallDeps
  private readonly events: MediaEvents
  private readonly legs = new Map<string, Leg>()
  private readonly adding = new Set<string>()
  private readonly name = randomBytes(8).toString('hex')
  private readonly recordings = new Map<string, Recording>()
  /** Streams of legs to WebSocket servers, by id. */
  private readonly streams = new Map<string, LegStream>()
  /** Start value for a first report after 1 s, so that the round trip is known early. */
  private reportedAt = performance.now() - reportMs + 1_000
  /** When a leg was on hold last, by the monotonic clock. */
  private heldAt = 0
  private isClosed = false

  constructor(deps: EmbeddedCallDeps, events: MediaEvents) {
    this.deps = deps
    this.events = events
  }

  async addLeg({ isLocal = false, ...options }: MediaLegOptions): Promise<MediaResult<null>> {
    const { id, kind, codecs, offer, source, srtp = 'never' } = options
    if (this.legs.has(id) || this.adding.has(id)) return refused('state', `there is a leg ${id} already`)
    if (this.legs.size + this.adding.size >= maxLegs) return refused('state', `a call has at most ${maxLegs} legs`)
    this.adding.add(id)
    try {
      // The transport is created first; its events are ignored until the leg exists.
      let leg: Leg | null = null
      const events: TransportEvents = {
        rtp: (packet) => leg?.receiveRtp(packet, performance.now()),
        rtcp: (packet) => leg?.receiveRtcp(packet, performance.now()),
        connected: () => this.events.connected(id),
        alive: () => leg?.noteLife(performance.now()),
        failed: (reason) => this.events.failed(id, reason),
        dropped: (from, expected) => this.events.dropped(id, from, expected),
      }
      const { webrtcPorts } = this.deps
      const { addresses, rtpPorts } = isLocal ? onLoopback : this.deps
      const transport =
        kind === 'webrtc'
          ? await openWebRtcTransport(webrtcPorts, this.deps.addresses, events)
          : await openPlainTransport(rtpPorts, addresses, { source: source ?? null, srtp }, events)
      leg = new Leg({ id, kind, codecs, srtp }, this.name, transport, this.deps.clock, {
        dtmf: (digit) => this.events.dtmf(id, digit),
        speech: (change) => this.events.speech?.(id, change),
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
      return refused('full', errorMessage(error))
    } finally {
      this.adding.delete(id)
    }
  }

  leg(id: string): Leg | null {
    return this.legs.get(id) ?? null
  }

  bridge(one: Leg, other: Leg): MediaResult<null> {
    if (one === other) return refused('state', 'a bridge has two legs')
    if (one.codec && other.codec && bridgeable([one.codec], [other.codec]).length === 0)
      return refused('codec', `${one.id} speaks ${one.codec} and ${other.id} ${other.codec}`)
    for (const leg of [one, other]) this.unbridge(leg)
    one.other = other
    other.other = one
    return done(null)
  }

  /** Ends the bridge of a leg, if it has one. */
  unbridge(leg: Leg): MediaResult<null> {
    if (leg.other) leg.other.other = null
    leg.other = null
    return done(null)
  }

  removeLeg(leg: Leg): MediaResult<null> {
    this.unbridge(leg)
    this.legs.delete(leg.id)
    leg.close()
    return done(null)
  }

  /** Plays sounds; resolves when they end. */
  async play(leg: Leg, sounds: readonly MediaSound[]): Promise<MediaResult<MediaPlayed>> {
    const begun = await this.beginSounds(leg, sounds)
    return begun.outcome === 'done' ? done(await begun.value.ended) : begun
  }

  /** Plays a tone until it is stopped; resolves when it begins. */
  async playTone(leg: Leg, hertz: number): Promise<MediaResult<null>> {
    const begun = await this.beginSounds(leg, [{ tones: [hertz], onMs: 1_000, offMs: 0, loop: 0 }])
    return begun.outcome === 'done' ? done(null) : begun
  }

  private async beginSounds(leg: Leg, sounds: readonly MediaSound[]): Promise<MediaResult<Player>> {
    if (sounds.length > maxSounds) return refused('description', `at most ${maxSounds} sounds are played at once`)
    const { files } = this.deps
    return leg.play(async () => {
      const opened: SoundReader[] = []
      for (const sound of sounds) {
        const reader = await openSound(sound, leg.feeds, files).catch(errorMessage)
        if (typeof reader === 'string') {
          for (const one of opened) one.close?.()
          return reader
        }
        opened.push(reader)
      }
      return opened
    })
  }

  openFeed(leg: Leg, id: string): MediaResult<null> {
    if (leg.feeds.has(id)) return refused('state', `there is a feed ${id} already`)
    if (leg.feeds.size >= maxFeeds) return refused('full', `a leg has at most ${maxFeeds} feeds`)
    leg.feeds.set(id, new AudioFeed())
    return done(null)
  }

  /** Opens a stream of a leg to a WebSocket server. @param id of the stream within the call */
  openStream(leg: Leg, id: string, options: MediaStreamOptions, events: MediaStreamEvents): MediaResult<null> {
    if (!leg.codec || !isG711(leg.codec)) return refused('state', `${leg.id} has not negotiated G.711`)
    if (options.isTwoWay && [...this.streams.values()].some((one) => one.isTwoWay && one.isOf(leg)))
      return refused('state', `${leg.id} has a two-way stream already`)
    const stream = new LegStream(id, leg, options, {
      ...events,
      ended: (end) => {
        this.streams.delete(id)
        events.ended(end)
      },
    })
    const begun = stream.begin()
    if (begun.outcome === 'done') this.streams.set(id, stream)
    return begun
  }

  /** Reports a key of the peer to the server of a stream. */
  pressStream(id: string, digit: string): MediaResult<null> {
    return this.streams.get(id)?.sendKey(digit) ?? refused('state', 'the stream has ended')
  }

  stopStream(id: string): MediaResult<null> {
    this.streams.get(id)?.end('stopped', 'the stream was stopped')
    return done(null)
  }

  /**
   * Records one or two legs or directions of legs, one in each channel.
   * @param id of the recording within the call
   */
  async startRecording(id: string, path: string, left: Channel, right: Channel | null): Promise<MediaResult<null>> {
    if (this.recordings.has(id)) return refused('state', 'the call is being recorded already')
    if (this.recordings.size >= maxRecordings)
      return refused('full', `a call has at most ${maxRecordings} recordings at a time`)
    const channels = right ? [left, right] : [left]
    for (const { leg } of channels)
      if (leg.codec && !isG711(leg.codec)) return refused('codec', `${leg.id} speaks ${leg.codec}; G.711 is recorded`)
    try {
      const recorder = await openRecorder(path, performance.now(), right ? 2 : 1)
      if (this.recordings.has(id) || this.isClosed) {
        await recorder.close(performance.now())
        return refused('state', 'the call has ended or is already being recorded')
      }
      const record = ({ leg, of }: Channel, channel: 0 | 1) =>
        leg.taps.add(of, (codec, packet, at) => recorder.addPacket(channel, codec, packet, at))
      const taps = [record(left, 0), ...(right ? [record(right, 1)] : [])]
      this.recordings.set(id, { recorder, taps })
      return done(null)
    } catch (error) {
      return refused('state', `the recording cannot be made: ${errorMessage(error)}`)
    }
  }

  /** Pauses a recording, or with null resumes it. */
  pauseRecording(id: string, fill: 'silence' | 'skip' | null): MediaResult<null> {
    const recording = this.recordings.get(id)
    if (!recording) return refused('state', 'the call is not being recorded')
    if (fill === null) recording.recorder.resume(performance.now())
    else recording.recorder.pause(fill, performance.now())
    return done(null)
  }

  async stopRecording(id: string): Promise<MediaResult<MediaRecording>> {
    const recording = this.recordings.get(id)
    if (!recording) return refused('state', 'the call is not being recorded')
    this.recordings.delete(id)
    for (const remove of recording.taps) remove()
    try {
      return done(await recording.recorder.close(performance.now()))
    } catch (error) {
      return refused('state', `the recording could not be written: ${errorMessage(error)}`)
    }
  }

  stats() {
    return [...this.legs.values()].map((leg) => leg.stats())
  }

  /** Called at least once per second. */
  tick(at: number): void {
    for (const { recorder } of this.recordings.values()) recorder.flush(at)
    const isReport = at - this.reportedAt >= reportMs
    if (isReport) this.reportedAt = at
    if (isReport) for (const leg of this.legs.values()) leg.report(at)
    this.reportSilence(at)
  }

  /** While one side holds the call, no side need send anything. */
  private reportSilence(at: number): void {
    const legs = [...this.legs.values()]
    if (legs.some(({ isHeld }) => isHeld)) {
      this.heldAt = at
      return
    }
    for (const leg of legs) {
      const heard = leg.lastSignAt
      if (heard === null || leg.isSilenceReported) continue
      const silentMs = at - Math.max(heard, this.heldAt)
      if (silentMs < this.deps.silenceSeconds * 1_000) continue
      leg.isSilenceReported = true
      this.events.silence(leg.id, Math.floor(silentMs / 1_000))
    }
  }

  async close(): Promise<void> {
    this.isClosed = true
    for (const stream of this.streams.values()) stream.end('call_ended', 'the call has ended')
    for (const leg of this.legs.values()) leg.close()
    await Promise.all([...this.recordings.keys()].map((id) => this.stopRecording(id)))
    this.legs.clear()
  }
}
