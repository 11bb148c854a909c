import { readAudio } from '../../../lib/sdp.ts'
import type { MediaDirection, MediaLeg } from '../../port.ts'
import type { VoiceDialog, VoiceLeg, VoicePerson } from '../../voice-port.ts'
import type { Dialog } from '../codec/dialog/dialog.ts'
import type { Session, SessionEnd, SessionEvents } from '../codec/dialog/session.ts'
import { contentTypeOf } from '../codec/fields.ts'
import type { SipRequest } from '../codec/message.ts'
import type { Answer } from '../codec/reply.ts'
import type { Flow } from '../codec/transport/flow.ts'
import { ofMedia } from './ending.ts'

export type SideEvents = {
  ended(side: Side, why: SessionEnd): void
  note(side: Side, text: string): void
}

export const described = (content: string): NonNullable<Answer['body']> => ({ type: 'application/sdp', content })

const mostKeys = 64

/** The key of an INFO: `Signal=5` of application/dtmf-relay, or the bare one of application/dtmf. */
export const keyOf = (request: SipRequest): string | null => {
  const text = request.body.toString()
  const [, key = null] =
    contentTypeOf(request) === 'application/dtmf-relay'
      ? (/^[ \t]*Signal[ \t]*=[ \t]*([\d*#A-D])[ \t]*\r?$/im.exec(text) ?? [])
      : (/^\s*([\d*#A-D])\s*$/i.exec(text) ?? [])
  return key
}

const directionIn = (offer: string): MediaDirection => {
  const audio = readAudio(offer)
  return typeof audio === 'string' ? 'sendrecv' : audio.direction
}

/** One side of a call: its dialog, its media, and what it says within the call. */
export class Side implements SessionEvents {
  readonly name: VoiceLeg
  readonly trunk: string | null
  readonly person: VoicePerson | null
  readonly media: MediaLeg
  private readonly events: SideEvents
  session: Session | null = null
  partner: Side | null = null
  /** How a browser is reached; a broken connection until it is back. */
  flow: Flow | null
  /** What we last said of our media, and what waits to be said. */
  private shown: MediaDirection = 'sendrecv'
  private showing: Promise<void> = Promise.resolve()
  private keys = 0
  private pressing: Promise<void> = Promise.resolve()

  constructor(
    name: VoiceLeg,
    where: { readonly trunk: string | null; readonly person: VoicePerson | null; readonly flow: Flow | null },
    media: MediaLeg,
    events: SideEvents,
  ) {
    this.name = name
    this.trunk = where.trunk
    this.person = where.person
    this.flow = where.flow
    this.media = media
    this.events = events
  }

  /** The dialog, to be kept against a crash. */
  freeze(dialog: Dialog): VoiceDialog {
    return { leg: this.name, trunk: this.trunk, frozen: dialog.freeze() }
  }

  move(flow: Flow): void {
    this.flow = flow
    this.session?.move(flow)
  }

  async offered(request: SipRequest): Promise<Answer> {
    // It wants an offer of ours; its answer comes with the ACK (RFC 3261, 14.2).
    const answer =
      request.body.length === 0
        ? await this.media.reoffer(this.shown)
        : await this.media.renegotiate(request.body.toString())
    if (answer.outcome === 'refused') return ofMedia(answer)
    if (request.body.length > 0) void this.partner?.show(directionIn(request.body.toString()))
    return { status: 200, body: described(answer.value) }
  }

  async acknowledged(ack: SipRequest): Promise<void> {
    if (ack.body.length === 0) return
    const taken = await this.media.accept(ack.body.toString())
    if (taken.outcome === 'refused') this.events.note(this, `its answer was not taken: ${taken.reason}`)
  }

  info(request: SipRequest): Answer {
    const type = contentTypeOf(request)
    if (type !== 'application/dtmf-relay' && type !== 'application/dtmf')
      return { status: 415, headers: [['Accept', 'application/dtmf-relay, application/dtmf']] }
    const key = keyOf(request)
    if (key === null) return { status: 400, reason: 'Not A Key' }
    if (this.keys >= mostKeys) return { status: 503, reason: 'Too Many Keys' }
    this.keys++
    this.pressing = this.pressing.then(async () => {
      const pressed = await this.partner?.media.press(key)
      if (pressed?.outcome === 'refused') this.events.note(this, `a key was not passed on: ${pressed.reason}`)
      this.keys--
    })
    return { status: 200 }
  }

  ended(why: SessionEnd): void {
    this.events.ended(this, why)
  }

  /** Says what the other side said of its media: hold, and its end. */
  private show(direction: MediaDirection): Promise<void> {
    this.showing = this.showing.then(async () => {
      if (direction === this.shown || !this.session || this.session.isOver) return
      const before = this.shown
      this.shown = direction
      const offer = await this.media.reoffer(direction)
      if (offer.outcome === 'refused') {
        this.events.note(this, `hold was not passed on: ${offer.reason}`)
        return
      }
      const outcome = await this.session.reinvite({ body: described(offer.value) })
      if (outcome?.outcome === 'answered' && outcome.response.status < 300)
        await this.media.accept(outcome.response.body.toString())
      else {
        this.shown = before
        this.events.note(this, 'hold was refused')
      }
    })
    return this.showing
  }
}
