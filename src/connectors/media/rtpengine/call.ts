import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readAudio } from '../../../lib/sdp.ts'
import type {
  MediaAnswer,
  MediaCall,
  MediaCodec,
  MediaDirection,
  MediaEvents,
  MediaLeg,
  MediaLegStats,
  MediaLegWish,
  MediaRecording,
} from '../../port.ts'
import { done, refused, textOf } from '../answer.ts'
import { Dialogue, type Side } from './dialogue.ts'
import { direct, mirrored, narrow } from './narrow.ts'
import type { Ng } from './ng.ts'
import { convert } from './pcap.ts'
import { countsOf } from './query.ts'

export type CallSettings = {
  readonly ng: Ng
  readonly id: string
  readonly events: MediaEvents
  readonly silenceSeconds: number
  /** Where rtpengine's captures are for us. */
  readonly recordings: string
  ended(): void
}

const pollMs = 1_000

/** A call in rtpengine. Its two legs are one dialogue there: the offer of the one is made of the offer of the other. */
export class RtpengineCall {
  private readonly settings: CallSettings
  private readonly dialogue: Dialogue
  private readonly sides = new Map<string, Side>()
  private recording: {
    readonly path: string
    readonly from: number
    readonly channels: ReadonlyMap<number, 0 | 1>
  } | null = null
  private readonly timer: NodeJS.Timeout
  private isPolling = false
  private isLost = false
  private isClosed = false

  constructor(settings: CallSettings) {
    this.settings = settings
    this.dialogue = new Dialogue(settings.ng, settings.id)
    this.timer = setInterval(() => void this.poll(), pollMs)
  }

  readonly port: MediaCall = {
    addLeg: async (wish) => this.addLeg(wish),
    bridge: async (one, other) => this.bridge(one, other),
    startRecording: (path, left, right) => this.startRecording(path, left, right),
    stopRecording: () => this.stopRecording(),
    stats: () => this.stats(),
    close: () => this.close(),
  }

  dtmf(leg: string, digit: string): void {
    if (this.sides.has(leg)) this.settings.events.dtmf(leg, digit)
  }

  private addLeg(wish: MediaLegWish): MediaAnswer<MediaLeg> {
    if (this.isClosed) return refused('state', 'the call has ended')
    if (this.sides.has(wish.id)) return refused('state', `there is a leg ${wish.id} already`)
    if (this.sides.size >= 2) return refused('state', 'a call in rtpengine has two legs')
    if (wish.srtp === 'require') return refused('codec', 'this engine does not encrypt the audio of trunks')
    const offer = wish.offer === null ? null : narrow(wish.offer, wish.codecs, wish.kind)
    if (offer && 'cause' in offer) return refused(offer.cause, offer.reason)
    const remote = offer?.text ?? null
    const counts = { isConnected: false, packets: 0, changedAt: Date.now(), isSilenceTold: false, isBlocked: false }
    const side: Side = { wish, source: wish.source ?? null, remote, local: null, other: null, ...counts }
    this.sides.set(wish.id, side)
    const none = refused('state', 'this engine sends nothing of its own')
    return done({
      id: wish.id,
      describe: () => this.guard(() => this.describe(side)),
      accept: (answer, source) => this.guard(() => this.accept(side, answer, source)),
      renegotiate: (text) => this.guard(() => this.renegotiate(side, text)),
      reoffer: (direction) => this.guard(() => this.reoffer(side, direction)),
      press: async () => none,
      play: async (hertz) => (hertz === null ? done(null) : none),
    })
  }

  private bridge(one: MediaLeg, other: MediaLeg): MediaAnswer<null> {
    const [a, b] = [this.sides.get(one.id), this.sides.get(other.id)]
    if (!a || !b || a === b) return refused('state', 'a bridge has two legs of this call')
    a.other = b
    b.other = a
    return done(null)
  }

  private async describe(side: Side): Promise<MediaAnswer<string>> {
    if (side.local !== null) return done(side.local)
    const { other } = side
    if (!other) return refused('state', `${side.wish.id} is not bridged yet`)
    if (side.wish.offer !== null) return refused('state', `${other.wish.id} has not answered yet`)
    if (other.remote === null) return refused('state', `${other.wish.id} has made no offer`)
    const offer = narrow(other.remote, side.wish.codecs)
    if ('cause' in offer) return refused(offer.cause, offer.reason)
    return done(await this.dialogue.offer(other, side, offer.text))
  }

  private async accept(side: Side, text: string, source?: string): Promise<MediaAnswer<null>> {
    const { other } = side
    side.source = source ?? side.source
    if (!other || side.local === null) return refused('state', `${side.wish.id} has made no offer`)
    const answer = narrow(text, side.wish.codecs, side.wish.kind)
    if ('cause' in answer) return refused(answer.cause, answer.reason)
    side.remote = answer.text
    await this.dialogue.answer(other, side, answer.text)
    await this.dialogue.block(other, side)
    return done(null)
  }

  /** Answered here, with what the other leg last said: it is not asked. */
  private async renegotiate(side: Side, text: string): Promise<MediaAnswer<string>> {
    const { other } = side
    if (!other || other.remote === null) return refused('state', `${side.wish.id} is in no bridge that stands`)
    const offer = narrow(text, side.wish.codecs, side.wish.kind)
    if ('cause' in offer) return refused(offer.cause, offer.reason)
    const audio = readAudio(offer.text)
    const said: MediaDirection = typeof audio === 'string' ? 'sendrecv' : audio.direction
    side.remote = offer.text
    side.changedAt = Date.now()
    const kept = other.local
    await this.dialogue.offer(side, other, offer.text)
    other.local = kept
    const answer = await this.dialogue.answer(side, other, direct(other.remote, mirrored(said)))
    await this.dialogue.block(other, side)
    return done(answer)
  }

  private async reoffer(side: Side, direction: MediaDirection): Promise<MediaAnswer<string>> {
    const { other } = side
    if (!other || other.remote === null || side.local === null)
      return refused('state', `${side.wish.id} is in no bridge that stands`)
    side.changedAt = Date.now()
    return done(await this.dialogue.offer(other, side, direct(other.remote, direction)))
  }

  private async startRecording(path: string, left: MediaLeg, right: MediaLeg): Promise<MediaAnswer<null>> {
    return this.guard(async () => {
      if (this.recording) return refused('state', 'the call is being recorded already')
      const ports = [left, right].map(({ id }) => readAudio(this.sides.get(id)?.local ?? ''))
      const [one, other] = ports
      if (!one || !other || typeof one === 'string' || typeof other === 'string')
        return refused('state', 'both legs have to be described before they are recorded')
      this.recording = { path, from: Date.now(), channels: new Map([[one.port, 0] as const, [other.port, 1] as const]) }
      await this.settings.ng.ask('start recording', { 'call-id': this.settings.id })
      return done(null)
    })
  }

  private async stopRecording(): Promise<MediaAnswer<MediaRecording>> {
    const { recording } = this
    if (!recording) return refused('state', 'the call is not being recorded')
    this.recording = null
    return this.guard(async () => {
      const to = Date.now()
      await this.settings.ng.ask('stop recording', { 'call-id': this.settings.id })
      const folder = join(this.settings.recordings, 'pcaps')
      const name = (await readdir(folder)).find((file) => file.startsWith(this.settings.id))
      if (!name) return refused('state', `rtpengine has left no capture in ${folder}`)
      const made = await convert(join(folder, name), recording.path, recording.channels, { from: recording.from, to })
      await rm(join(folder, name))
      await rm(join(this.settings.recordings, 'metadata', `rtpengine-meta-${name.replace(/pcap$/, 'txt')}`), {
        force: true,
      })
      return done(made)
    })
  }

  private stats(): Promise<MediaAnswer<readonly MediaLegStats[]>> {
    return this.guard(async () => {
      if (this.isClosed) return refused('state', 'the call has ended')
      const reply = await this.settings.ng.ask('query', { 'call-id': this.settings.id })
      return done(
        [...this.sides.values()].map((side): MediaLegStats => {
          const counts = countsOf(reply, side.wish.id)
          const given = side.other ? countsOf(reply, side.other.wish.id) : null
          return {
            leg: side.wish.id,
            codec: codecOf(counts?.codec),
            received: { packets: counts?.packets ?? 0, bytes: counts?.bytes ?? 0, lost: null, jitterMs: null },
            sent: { packets: given?.packets ?? 0, bytes: given?.bytes ?? 0, lost: null },
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
      await this.guard(async () => done(await this.settings.ng.ask('delete', { 'call-id': this.settings.id })))
    this.settings.ended()
  }

  /** Once a second: who speaks, and who has fallen silent. */
  private async poll(): Promise<void> {
    const stands = [...this.sides.values()].filter(({ local, remote }) => local !== null && remote !== null)
    if (this.isPolling || this.isClosed || stands.length === 0) return
    this.isPolling = true
    const reply = await this.settings.ng.ask('query', { 'call-id': this.settings.id }).catch((error: unknown) => {
      // It is gone, or has begun anew and knows nothing of the call, or ended it by a watchdog of its own.
      if (!this.isClosed && !this.isLost) this.settings.events.failed(null, textOf(error))
      this.isLost = true
      return null
    })
    this.isPolling = false
    if (!reply || this.isClosed) return
    const now = Date.now()
    for (const side of stands) {
      const packets = countsOf(reply, side.wish.id)?.packets ?? 0
      if (packets !== side.packets || isHeld(side))
        Object.assign(side, { packets, changedAt: now, isSilenceTold: false })
      if (packets > 0 && !side.isConnected) {
        side.isConnected = true
        this.settings.events.connected(side.wish.id)
      }
      const seconds = Math.floor((now - side.changedAt) / 1_000)
      if (seconds < this.settings.silenceSeconds || side.isSilenceTold) continue
      side.isSilenceTold = true
      this.settings.events.silence(side.wish.id, seconds)
    }
  }

  private async guard<T>(act: () => Promise<MediaAnswer<T>>): Promise<MediaAnswer<T>> {
    try {
      return await act()
    } catch (error) {
      return refused('state', textOf(error))
    }
  }
}

const isHeld = ({ local, remote }: Side): boolean =>
  [local, remote].some((text) => {
    const audio = readAudio(text ?? '')
    return typeof audio !== 'string' && audio.direction !== 'sendrecv'
  })

const codecOf = (name = ''): MediaCodec | null =>
  (['opus', 'pcmu', 'pcma'] as const).find((codec) => name.toLowerCase().startsWith(codec)) ?? null
