import type { MediaCall, MediaCodec, MediaSound } from '../../../ports/media.ts'
import type { VoiceDialled, VoiceLine, VoicePlan, VoiceScreening } from '../../../ports/voice.ts'
import type { ActiveCall, CallBehaviour } from './active-call.ts'
import type { CallLeg } from './call-leg.ts'
import { causeOfMedia, type HangupCause } from './hangup-cause.ts'
import { ScreeningLine } from './screening-line.ts'

const codecs: readonly MediaCodec[] = ['pcmu', 'pcma']

/** An answered party hears it while the dialled side rings. */
const ringback: MediaSound = { tones: [440, 480], onMs: 2_000, offMs: 4_000, loop: 0 }

/** A callee is refused, unless its program hung up itself. */
const notConfirmed: HangupCause = {
  how: 'completed',
  status: 200,
  reason: 'The callee did not confirm',
  by: 'callee',
}

/** The call that dials: its party talks with the target that answers. */
export type DiallingSide = { readonly call: ActiveCall; readonly line: VoiceLine; readonly party: CallLeg }

/**
 * A call that the program of another one dials. It uses the media of that call, and ends without it. A callee that is
 * screened is connected once that has confirmed it; the party hears ringing until then.
 */
export class DialledChild implements CallBehaviour {
  private readonly call: ActiveCall
  private readonly screening: VoiceScreening | null
  private readonly side: DiallingSide
  /** The ids of its media legs begin with it. */
  private readonly legPrefix: string
  /** Set where keys of the callee do not just pass to the party. */
  readonly pressed?: NonNullable<CallBehaviour['pressed']>
  private media: MediaCall | null = null
  private callee: CallLeg | null = null
  private screeningLine: ScreeningLine | null = null
  /** When the sides were connected. */
  private connectedAt: number | null = null
  private endedAt = 0
  /** The target sends early media. */
  private isHeard = false
  /** The party hears our ringing. */
  private isRinging = false

  constructor(call: ActiveCall, { screening }: Pick<VoicePlan, 'screening'>, side: DiallingSide, prefix: string) {
    this.call = call
    this.screening = screening ?? null
    this.side = side
    this.legPrefix = prefix
    if (screening) this.pressed = (way, key, mediaLeg) => this.passKey(way, key, mediaLeg)
  }

  /** Telephones suppress silence, and a callee that is screened may just listen. */
  get endsOnSilence(): boolean {
    return this.connectedAt !== null
  }

  async run(): Promise<void> {
    const { call, legPrefix, screening } = this
    const { line, party } = this.side
    const media = call.borrowMedia(this.side.call, party, legPrefix)
    if (!media) return
    this.media = media
    const found = await call.search({
      ...{ media, caller: party, codecs, headers: [], legPrefix, isScreened: screening !== null },
      ringing: () => this.ringing(),
      early: () => this.early(),
    })
    if (!found) return
    const { target, leg: callee } = found
    this.callee = callee
    call.setLegs([callee])
    const { session } = callee
    if (!session) return
    if (!(await call.persistAnswer(target, () => [callee.snapshot(session.dialog)]))) return
    if (screening && !(await this.screen(screening, media, callee))) return
    // The end of its call ends this one.
    if (!(await line.answer()) || call.isOver) return
    if (screening && !(await this.bridge(media, callee))) return
    void party.media.stopSounds()
    party.partner = callee
    callee.partner = party
    await call.record(party, callee)
    if (call.isOver) return
    this.connectedAt = call.now()
    if (!screening) call.establish()
  }

  ended(): void {
    const { party } = this.side
    this.endedAt = this.call.now()
    this.screeningLine?.end()
    party.partner = null
    // Before the sounds stop, as the bridge would be heard after them.
    void this.media?.unbridge(party.media)
    if (this.media && this.connectedAt === null) void party.media.stopSounds()
    // The other side may have put it on hold.
    void party.sendDirection('sendrecv')
  }

  /** How the call ended, once it has. */
  get dialled(): VoiceDialled {
    const { how, status, by } = this.call.ending ?? { how: 'failed', status: 500, by: null }
    const { connectedAt, endedAt } = this
    if (connectedAt !== null)
      return { how, status, isAnswered: true, seconds: Math.round((endedAt - connectedAt) / 1_000) }
    const isScreenedOut = (how === 'completed' || how === 'time_limit') && this.screeningLine !== null
    const unconnected = by === 'callee' ? 'no_answer' : 'canceled'
    return { how: isScreenedOut ? unconnected : how, status, isAnswered: false, seconds: 0 }
  }

  /** The answered callee is asked, and hears nothing of the party. Returns false if the call is over. */
  private async screen(screening: VoiceScreening, media: MediaCall, callee: CallLeg): Promise<boolean> {
    const { call } = this
    this.side.party.partner = null
    callee.partner = null
    const line = new ScreeningLine(call, media, callee)
    this.screeningLine = line
    call.establish()
    if (call.isOver) return false
    this.ring()
    void callee.media.listenForKeys()
    await call.connection(callee)
    try {
      if (!(await screening.run(line))) call.end(notConfirmed)
    } catch (error) {
      call.onError(error)
      call.end({ how: 'program_error', status: 500, reason: 'The screening of the call failed', by: null })
    }
    return !call.isOver
  }

  /** Bridges a callee that was screened. Returns false if the call is over. */
  private async bridge(media: MediaCall, callee: CallLeg): Promise<boolean> {
    const bridged = await media.bridge(this.side.party.media, callee.media)
    if (bridged.outcome === 'refused') this.call.end(causeOfMedia(bridged))
    return !this.call.isOver
  }

  /** Keys of the callee are for its screening, and pass to the party afterwards. The bridge relays those in the audio. */
  private passKey(way: 'rtp' | 'info', key: string, mediaLeg: string): void {
    const { callee, connectedAt, screeningLine } = this
    if (mediaLeg !== callee?.media.id) return
    if (connectedAt === null) screeningLine?.pressed(way, key)
    else if (way === 'info') callee.passKey(key)
  }

  private ringing(): void {
    if (!this.call.isOver && !this.isHeard) this.ring()
  }

  /** Lets the party hear ringing. */
  private ring(): void {
    const { line, party } = this.side
    if (line.leg === null) void line.ring()
    else if (!this.isRinging) {
      this.isRinging = true
      void party.media.play([ringback])
    }
  }

  private early(): void {
    const { line, party } = this.side
    this.isHeard = true
    this.isRinging = false
    // Sounds, such as ours of ringing, take the place of the bridge.
    void party.media.stopSounds()
    if (!line.isAnswered) void line.early()
  }
}
