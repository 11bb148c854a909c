import { readAudio } from '@trunkline/rtp/sdp.ts'
import type { Dialog } from '@trunkline/sip/dialog/dialog.ts'
import type { SipSession, SipSessionEnd, SipSessionEvents } from '@trunkline/sip/dialog/sip-session.ts'
import { contentTypeOf } from '@trunkline/sip/fields.ts'
import { header, type SipRequest } from '@trunkline/sip/message.ts'
import type { ResponseOptions } from '@trunkline/sip/response.ts'
import type { Flow } from '@trunkline/sip/transport/flow.ts'
import { makeSerialQueue } from '../../../platform/lib/serial-queue.ts'
import type { MediaDirection, MediaLeg } from '../../../ports/media.ts'
import type { VoiceDialog, VoiceLeg, VoiceUser } from '../../../ports/voice.ts'
import { maxPendingKeys } from '../limits.ts'
import { causeOfMedia } from './hangup-cause.ts'

export type CallLegEvents = {
  ended(side: CallLeg, why: SipSessionEnd): void
  note(side: CallLeg, text: string): void
  /** The peer acknowledged our first offer without an answer: there is no session. */
  undescribed(side: CallLeg): void
  /** A key received as INFO, in place of passing it on. */
  pressed?(side: CallLeg, key: string): void
}

export const sdpBody = (content: string): NonNullable<ResponseOptions['body']> => ({ type: 'application/sdp', content })

/** The key of an INFO: `Signal=5` of application/dtmf-relay, or the bare key of application/dtmf. */
export const dtmfKeyOf = (request: SipRequest): string | null => {
  const text = request.body.toString()
  const [, key = null] =
    contentTypeOf(request) === 'application/dtmf-relay'
      ? (/^[ \t]*Signal[ \t]*=[ \t]*([\d*#A-D])[ \t]*\r?$/im.exec(text) ?? [])
      : (/^\s*([\d*#A-D])\s*$/i.exec(text) ?? [])
  return key
}

const directionOf = (offer: string): MediaDirection => {
  const audio = readAudio(offer)
  return typeof audio === 'string' ? 'sendrecv' : audio.direction
}

/** One leg of a call: its dialog, its media, and its requests within the call. */
export class CallLeg implements SipSessionEvents {
  readonly name: VoiceLeg
  readonly trunk: string | null
  readonly person: VoiceUser | null
  readonly media: MediaLeg
  private readonly events: CallLegEvents
  session: SipSession | null = null
  /** The peer's INVITE had no offer: its ACK must have the answer to ours (RFC 3261, 13.2.1). */
  isAnswerDue = false
  private onDescribed = () => {}
  partner: CallLeg | null = null
  /** The connection of a browser; null for a trunk. */
  flow: Flow | null
  /** The direction we last sent, and the queue of changes to send. */
  private sentDirection: MediaDirection = 'sendrecv'
  private readonly directionQueue = makeSerialQueue()
  /** A later offer than the first was answered. */
  isRenegotiated = false
  private pendingKeys = 0
  private readonly keyQueue = makeSerialQueue()

  constructor(
    name: VoiceLeg,
    where: { readonly trunk: string | null; readonly person: VoiceUser | null; readonly flow: Flow | null },
    media: MediaLeg,
    events: CallLegEvents,
  ) {
    this.name = name
    this.trunk = where.trunk
    this.person = where.person
    this.flow = where.flow
    this.media = media
    this.events = events
  }

  /** Snapshot of the dialog, stored for recovery after a crash. */
  snapshot(dialog: Dialog): VoiceDialog {
    return { leg: this.name, trunk: this.trunk, frozen: dialog.snapshot() }
  }

  setFlow(flow: Flow): void {
    this.flow = flow
    this.session?.setFlow(flow)
  }

  async offered(request: SipRequest): Promise<ResponseOptions> {
    // A request without a body asks for our offer; the answer arrives in the ACK (RFC 3261, 14.2).
    const answer =
      request.body.length === 0
        ? await this.media.reoffer(this.sentDirection)
        : await this.media.renegotiate(request.body.toString())
    if (answer.outcome === 'refused') return causeOfMedia(answer)
    this.isRenegotiated = true
    if (request.body.length > 0) void this.partner?.sendDirection(directionOf(request.body.toString()))
    return { status: 200, body: sdpBody(answer.value) }
  }

  async acknowledged(ack: SipRequest): Promise<void> {
    if (ack.body.length === 0) {
      if (this.isAnswerDue) this.events.undescribed(this)
      return
    }
    this.isAnswerDue = false
    const taken = await this.media.accept(ack.body.toString())
    if (taken.outcome === 'refused') this.events.note(this, `its answer was not taken: ${taken.reason}`)
    this.onDescribed()
  }

  /** Resolves once the peer has described its session. */
  described(): Promise<void> {
    if (!this.isAnswerDue) return Promise.resolve()
    return new Promise((resolve) => {
      this.onDescribed = resolve
    })
  }

  info(request: SipRequest): ResponseOptions {
    const type = contentTypeOf(request)
    const isKey = type === 'application/dtmf-relay' || type === 'application/dtmf'
    // We have announced no package (RFC 6086, 4.2.2).
    if (!isKey && header(request, 'Info-Package') !== null) return { status: 469, headers: [['Recv-Info', '']] }
    // INFO without a body and package requests nothing.
    if (!isKey && request.body.length === 0) return { status: 200 }
    if (!isKey) return { status: 415, headers: [['Accept', 'application/dtmf-relay, application/dtmf']] }
    const key = dtmfKeyOf(request)
    if (key === null) return { status: 400, reason: 'Not A Key' }
    if (this.events.pressed) {
      this.events.pressed(this, key)
      return { status: 200 }
    }
    return this.passKey(key) ? { status: 200 } : { status: 503, reason: 'Too Many Keys' }
  }

  /** Sends a key to the partner. Returns false if too many wait. */
  passKey(key: string): boolean {
    if (this.pendingKeys >= maxPendingKeys) return false
    this.pendingKeys++
    void this.keyQueue(async () => {
      const pressed = await this.partner?.media.sendKeys(key)
      if (pressed?.outcome === 'refused') this.events.note(this, `a key was not passed on: ${pressed.reason}`)
      this.pendingKeys--
    })
    return true
  }

  ended(why: SipSessionEnd): void {
    this.events.ended(this, why)
  }

  /** Passes on the other leg's media direction: hold and resume. */
  sendDirection(direction: MediaDirection): Promise<void> {
    return this.directionQueue(async () => {
      if (direction === this.sentDirection || !this.session || this.session.isEnded) return
      const before = this.sentDirection
      this.sentDirection = direction
      const offer = await this.media.reoffer(direction)
      if (offer.outcome === 'refused') {
        this.events.note(this, `hold was not passed on: ${offer.reason}`)
        return
      }
      const outcome = await this.session.reinvite({ body: sdpBody(offer.value) })
      if (outcome?.outcome === 'answered' && outcome.response.status < 300) {
        const taken = await this.media.accept(outcome.response.body.toString())
        if (taken.outcome === 'refused') this.events.note(this, `its answer was not taken: ${taken.reason}`)
      } else {
        this.sentDirection = before
        this.events.note(this, 'hold was refused')
      }
    })
  }
}
