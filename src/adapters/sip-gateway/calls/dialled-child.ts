import type { MediaCall, MediaCodec, MediaSound } from '../../../ports/media.ts'
import type { VoiceDialled, VoiceLine } from '../../../ports/voice.ts'
import type { ActiveCall, CallBehaviour } from './active-call.ts'
import type { CallLeg } from './call-leg.ts'

const codecs: readonly MediaCodec[] = ['pcmu', 'pcma']

/** An answered party hears it while the dialled side rings. */
const ringback: MediaSound = { tones: [440, 480], onMs: 2_000, offMs: 4_000, loop: 0 }

/** The call that dials: its party talks with the target that answers. */
export type DiallingSide = { readonly call: ActiveCall; readonly line: VoiceLine; readonly party: CallLeg }

/** A call that the program of another one dials. It uses the media of that call, and ends without it. */
export class DialledChild implements CallBehaviour {
  readonly endsOnSilence = true
  private readonly call: ActiveCall
  private readonly side: DiallingSide
  /** The ids of its media legs begin with it. */
  private readonly legPrefix: string
  private media: MediaCall | null = null
  private answeredAt: number | null = null
  private endedAt = 0
  /** The target sends early media. */
  private isHeard = false

  constructor(call: ActiveCall, side: DiallingSide, legPrefix: string) {
    this.call = call
    this.side = side
    this.legPrefix = legPrefix
  }

  async run(): Promise<void> {
    const { call, legPrefix } = this
    const { line, party } = this.side
    const media = call.borrowMedia(this.side.call, party, legPrefix)
    if (!media) return
    this.media = media
    const found = await call.search({
      ...{ media, caller: party, codecs, headers: [], legPrefix },
      ringing: () => this.ringing(),
      early: () => this.early(),
    })
    if (!found) return
    const { target, leg: callee } = found
    call.setLegs([callee])
    const { session } = callee
    if (!session) return
    if (!(await call.persistAnswer(target, () => [callee.snapshot(session.dialog)]))) return
    // The end of its call ends this one.
    if (!(await line.answer()) || call.isOver) return
    void party.media.stopSounds()
    party.partner = callee
    callee.partner = party
    await call.record(party, callee)
    if (call.isOver) return
    this.answeredAt = call.now()
    call.establish()
  }

  ended(): void {
    const { party } = this.side
    this.endedAt = this.call.now()
    party.partner = null
    if (this.media && this.answeredAt === null) void party.media.stopSounds()
    void this.media?.unbridge(party.media)
    // The other side may have put it on hold.
    void party.sendDirection('sendrecv')
  }

  /** How the call ended, once it has. */
  get dialled(): VoiceDialled {
    const { how, status } = this.call.ending ?? { how: 'failed', status: 500 }
    const { answeredAt, endedAt } = this
    const isAnswered = answeredAt !== null
    return { how, status, isAnswered, seconds: isAnswered ? Math.round((endedAt - answeredAt) / 1_000) : 0 }
  }

  private ringing(): void {
    const { line, party } = this.side
    if (this.call.isOver || this.isHeard) return
    if (line.leg === null) {
      void line.ring()
      return
    }
    void party.media.play([ringback])
  }

  private early(): void {
    const { line, party } = this.side
    this.isHeard = true
    // Sounds, such as ours of ringing, take the place of the bridge.
    void party.media.stopSounds()
    if (!line.isAnswered) void line.early()
  }
}
