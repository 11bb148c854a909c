import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readAudio } from '@trunkline/rtp/sdp.ts'
import type {
  MediaCall,
  MediaCodec,
  MediaDirection,
  MediaEvents,
  MediaLeg,
  MediaLegOptions,
  MediaLegStats,
  MediaRecording,
  MediaResult,
} from '../../../ports/media.ts'
import { statsPollMs } from '../limits.ts'
import { done, errorMessage, refused } from '../result.ts'
import { convertCapture } from './capture.ts'
import { countsOf } from './leg-counts.ts'
import type { NgClient } from './ng-client.ts'
import { type NgLeg, NgSession, unusualPacketMs } from './ng-session.ts'
import { placeholderOffer, toneFile } from './placeholder-peer.ts'
import { filterSdp, mirrorDirection, withDirection } from './sdp-filter.ts'

export type RtpengineCallDeps = {
  readonly ng: NgClient
  readonly id: string
  readonly events: MediaEvents
  readonly silenceSeconds: number
  /** Folder of rtpengine's captures, as this machine sees it. */
  readonly recordings: string
  ended(): void
}

/** A call in rtpengine. Both legs share one session there: the offer to one leg derives from the other leg's offer. */
export class RtpengineCall {
  private readonly settings: RtpengineCallDeps
  private readonly dialogue: NgSession
  private readonly legs = new Map<string, NgLeg>()
  private recording: {
    readonly path: string
    readonly from: number
    readonly channels: ReadonlyMap<number, 0 | 1>
  } | null = null
  private readonly timer: NodeJS.Timeout
  private isPolling = false
  private isLost = false
  private isClosed = false

  constructor(settings: RtpengineCallDeps) {
    this.settings = settings
    this.dialogue = new NgSession(settings.ng, settings.id)
    this.timer = setInterval(() => void this.poll(), statsPollMs)
  }

  readonly port: MediaCall = {
    addLeg: async (options) => this.addLeg(options),
    bridge: (one, other) => this.guard(() => this.bridge(one, other)),
    unbridge: (leg) => this.guard(() => this.unbridge(leg)),
    removeLeg: async () => onlyForwarded,
    startRecording: (path, left, right) => this.startRecording(path, left, right),
    stopRecording: () => this.stopRecording(),
    record: async () => onlyForwarded,
    stats: () => this.stats(),
    close: () => this.close(),
  }

  dtmf(leg: string, digit: string): void {
    if (this.legs.has(leg)) this.settings.events.dtmf(leg, digit)
  }

  private addLeg(options: MediaLegOptions): MediaResult<MediaLeg> {
    if (this.isClosed) return refused('state', 'the call has ended')
    if (this.legs.has(options.id)) return refused('state', `there is a leg ${options.id} already`)
    if (this.legs.size >= 2) return refused('state', 'a call in rtpengine has two legs')
    const offer = options.offer === null ? null : filterSdp(options.offer, options.codecs, options)
    if (offer && 'cause' in offer) return refused(offer.cause, offer.reason)
    const remote = offer?.text ?? null
    const side: NgLeg = {
      options,
      source: options.source ?? null,
      remote,
      local: null,
      other: null,
      isPlaceholder: false,
      isConnected: false,
      signs: '',
      changedAt: Date.now(),
      isSilenceReported: false,
      isBridged: true,
      isBlocked: false,
    }
    this.legs.set(options.id, side)
    const leg: MediaLeg = {
      id: options.id,
      describe: () => this.guard(() => this.describe(side)),
      accept: (answer, source) => this.guard(() => this.accept(side, answer, source)),
      renegotiate: (text) => this.guard(() => this.renegotiate(side, text)),
      reoffer: (direction) => this.guard(() => this.reoffer(side, direction)),
      sendKeys: async () => refused('state', 'rtpengine cannot send keys of its own'),
      // rtpengine listens to every single leg.
      listenForKeys: async () => done(null),
      listenForSpeech: async () => onlyForwarded,
      listen: async () => onlyForwarded,
      play: async () => onlyForwarded,
      stopSounds: async () => onlyForwarded,
      openFeed: async () => onlyForwarded,
      openStream: async () => onlyForwarded,
      playTone: (hertz) => this.guard(() => this.play(side, hertz)),
    }
    return done(leg)
  }

  private async bridge(one: MediaLeg, other: MediaLeg): Promise<MediaResult<null>> {
    const [a, b] = [this.legs.get(one.id), this.legs.get(other.id)]
    if (!a || !b || a === b) return refused('state', 'a bridge has two legs of this call')
    a.other = b
    b.other = a
    return this.setBridged(a, b, true)
  }

  /** The session in rtpengine goes on without media from one leg to the other. */
  private async unbridge({ id }: MediaLeg): Promise<MediaResult<null>> {
    const leg = this.legs.get(id)
    return leg?.other ? this.setBridged(leg, leg.other, false) : done(null)
  }

  private async setBridged(one: NgLeg, other: NgLeg, isBridged: boolean): Promise<MediaResult<null>> {
    if (one.isBridged === isBridged && other.isBridged === isBridged) return done(null)
    one.isBridged = isBridged
    other.isBridged = isBridged
    if (one.remote === null || other.remote === null || (one.local ?? other.local) === null) return done(null)
    await this.dialogue.block(one, other)
    await this.dialogue.block(other, one)
    return done(null)
  }

  private async describe(side: NgLeg): Promise<MediaResult<string>> {
    if (side.local !== null) return done(side.local)
    // A single leg can still be played tones.
    const other = side.other ?? (side.options.offer === null ? this.makePlaceholder(side) : null)
    if (!other) return refused('state', `${side.options.id} is not bridged yet`)
    if (side.options.offer !== null) return refused('state', `${other.options.id} has not answered yet`)
    if (other.remote === null) return refused('state', `${other.options.id} has made no offer`)
    const offer = filterSdp(other.remote, side.options.codecs)
    if ('cause' in offer) return refused(offer.cause, offer.reason)
    return done(await this.dialogue.offer(other, side, offer.text))
  }

  /** Makes a peer for a single leg, as rtpengine derives every offer from another. Its media go to the discard port. */
  private makePlaceholder(side: NgLeg): NgLeg {
    const remote = placeholderOffer(side.options.codecs)
    const options = { ...side.options, id: `nobody with ${side.options.id}`, offer: remote }
    const other: NgLeg = { ...side, options, remote, other: side, isPlaceholder: true }
    side.other = other
    return other
  }

  /** Plays a tone of one second, repeated for as long as a call may last. */
  private async play(side: NgLeg, hertz: number | null): Promise<MediaResult<null>> {
    const who = { 'call-id': this.settings.id, 'from-tag': side.options.id }
    if (this.isClosed || side.remote === null) return refused('state', `${side.options.id} has not answered yet`)
    if (hertz === null) await this.settings.ng.request('stop media', who)
    else await this.settings.ng.request('play media', { ...who, blob: toneFile(hertz), 'repeat-times': 3_600 })
    return done(null)
  }

  private async accept(side: NgLeg, text: string, source?: string): Promise<MediaResult<null>> {
    const { other } = side
    side.source = source ?? side.source
    if (!other || side.local === null) return refused('state', `${side.options.id} has made no offer`)
    const answer = filterSdp(text, side.options.codecs, side.options)
    if ('cause' in answer) return refused(answer.cause, answer.reason)
    side.remote = answer.text
    if (unusualPacketMs(answer.text) !== null && other.remote !== null) {
      // rtpengine takes packet times in offers only, so ours is repeated within rtpengine with that of the answer.
      const { local } = side
      await this.dialogue.offer(other, side, other.remote)
      side.local = local
    }
    await this.dialogue.answer(other, side, answer.text)
    await this.dialogue.block(other, side)
    return done(null)
  }

  /** Answers from the other leg's last description, without a new offer to it. */
  private async renegotiate(side: NgLeg, text: string): Promise<MediaResult<string>> {
    const { other } = side
    if (!other || other.remote === null) return refused('state', `${side.options.id} is not in an established bridge`)
    const offer = filterSdp(text, side.options.codecs, side.options)
    if ('cause' in offer) return refused(offer.cause, offer.reason)
    const audio = readAudio(offer.text)
    const said: MediaDirection = typeof audio === 'string' ? 'sendrecv' : audio.direction
    side.remote = offer.text
    side.changedAt = Date.now()
    const previous = other.local
    await this.dialogue.offer(side, other, offer.text)
    other.local = previous
    const answer = await this.dialogue.answer(side, other, withDirection(other.remote, mirrorDirection(said)))
    await this.dialogue.block(other, side)
    return done(answer)
  }

  private async reoffer(side: NgLeg, direction: MediaDirection): Promise<MediaResult<string>> {
    const { other } = side
    if (!other || other.remote === null || side.local === null)
      return refused('state', `${side.options.id} is not in an established bridge`)
    side.changedAt = Date.now()
    return done(await this.dialogue.offer(other, side, withDirection(other.remote, direction)))
  }

  private async startRecording(path: string, left: MediaLeg, right: MediaLeg): Promise<MediaResult<null>> {
    return this.guard(async () => {
      if (this.recording) return refused('state', 'the call is being recorded already')
      const ports = [left, right].map(({ id }) => readAudio(this.legs.get(id)?.local ?? ''))
      const [one, other] = ports
      if (!one || !other || typeof one === 'string' || typeof other === 'string')
        return refused('state', 'both legs must be described before they can be recorded')
      this.recording = { path, from: Date.now(), channels: new Map([[one.port, 0] as const, [other.port, 1] as const]) }
      await this.settings.ng.request('start recording', { 'call-id': this.settings.id })
      return done(null)
    })
  }

  private async stopRecording(): Promise<MediaResult<MediaRecording>> {
    const { recording } = this
    if (!recording) return refused('state', 'the call is not being recorded')
    this.recording = null
    return this.guard(async () => {
      const to = Date.now()
      await this.settings.ng.request('stop recording', { 'call-id': this.settings.id })
      const folder = join(this.settings.recordings, 'pcaps')
      const name = (await readdir(folder)).find((file) => file.startsWith(this.settings.id))
      if (!name) return refused('state', `rtpengine wrote no capture to ${folder}`)
      const converted = await convertCapture(join(folder, name), recording.path, recording.channels, {
        from: recording.from,
        to,
      })
      await rm(join(folder, name))
      await rm(join(this.settings.recordings, 'metadata', `rtpengine-meta-${name.replace(/pcap$/, 'txt')}`), {
        force: true,
      })
      return done(converted)
    })
  }

  private stats(): Promise<MediaResult<readonly MediaLegStats[]>> {
    return this.guard(async () => {
      if (this.isClosed) return refused('state', 'the call has ended')
      const reply = await this.settings.ng.request('query', { 'call-id': this.settings.id })
      return done(
        [...this.legs.values()].map((side): MediaLegStats => {
          const counts = countsOf(reply, side.options.id)
          const otherCounts = side.other ? countsOf(reply, side.other.options.id) : null
          return {
            leg: side.options.id,
            codec: codecOf(counts?.codec),
            received: { packets: counts?.packets ?? 0, bytes: counts?.bytes ?? 0, lost: null, jitterMs: null },
            sent: { packets: otherCounts?.packets ?? 0, bytes: otherCounts?.bytes ?? 0, lost: null },
            dropped: null,
            roundTripMs: null,
            lastMediaAt: counts?.packets ? counts.lastAt : null,
            local: counts?.local ?? null,
            remote: counts?.remote ?? null,
          }
        }),
      )
    })
  }

  private async close(): Promise<void> {
    if (this.isClosed) return
    if (this.recording && !this.isLost) await this.stopRecording()
    this.isClosed = true
    clearInterval(this.timer)
    if (!this.isLost)
      await this.guard(async () => done(await this.settings.ng.request('delete', { 'call-id': this.settings.id })))
    this.settings.ended()
  }

  /** Polls the counters every second to detect connected and silent legs. */
  private async poll(): Promise<void> {
    const stands = [...this.legs.values()].filter(({ local, remote }) => local !== null && remote !== null)
    if (this.isPolling || this.isClosed || stands.length === 0) return
    this.isPolling = true
    const reply = await this.settings.ng.request('query', { 'call-id': this.settings.id }).catch((error: unknown) => {
      // rtpengine is gone, has restarted without the call, or ended it by a watchdog of its own.
      if (!this.isClosed && !this.isLost) this.settings.events.failed(null, errorMessage(error))
      this.isLost = true
      return null
    })
    this.isPolling = false
    if (!reply || this.isClosed) return
    const now = Date.now()
    // While one side holds the call, no side need send anything.
    const isOnHold = stands.some(isHeld)
    for (const side of stands) {
      const counts = countsOf(reply, side.options.id)
      const packets = counts?.packets ?? 0
      const signs = `${counts?.allPackets} ${counts?.lastSignAt}`
      if (signs !== side.signs || isOnHold) {
        side.signs = signs
        side.changedAt = now
        side.isSilenceReported = false
      }
      if (packets > 0 && !side.isConnected) {
        side.isConnected = true
        this.settings.events.connected(side.options.id)
      }
      const seconds = Math.floor((now - side.changedAt) / 1_000)
      if (seconds < this.settings.silenceSeconds || side.isSilenceReported) continue
      side.isSilenceReported = true
      this.settings.events.silence(side.options.id, seconds)
    }
  }

  private async guard<T>(act: () => Promise<MediaResult<T>>): Promise<MediaResult<T>> {
    try {
      return await act()
    } catch (error) {
      return refused('state', errorMessage(error))
    }
  }
}

const onlyForwarded = refused('state', 'rtpengine forwards the audio of this call; it plays tones only')

const isHeld = ({ local, remote }: NgLeg): boolean =>
  [local, remote].some((text) => {
    const audio = readAudio(text ?? '')
    return typeof audio !== 'string' && audio.direction !== 'sendrecv'
  })

const codecOf = (name = ''): MediaCodec | null =>
  (['opus', 'pcmu', 'pcma'] as const).find((codec) => name.toLowerCase().startsWith(codec)) ?? null
