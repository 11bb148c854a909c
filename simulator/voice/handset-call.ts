import type { IncomingCall } from '@trunkline/sip/dialog/incoming-call.ts'
import type { OutgoingCall } from '@trunkline/sip/dialog/outgoing-call.ts'
import type { SipSession, SipSessionEnd, SipSessionEvents } from '@trunkline/sip/dialog/sip-session.ts'
import type { SipRequest } from '@trunkline/sip/message.ts'
import type { ResponseOptions } from '@trunkline/sip/response.ts'
import type { RequestOptions } from '@trunkline/sip/user-agent/request.ts'
import type { RequestOutcome } from '@trunkline/sip/user-agent/uac.ts'
import type { UserAgent } from '@trunkline/sip/user-agent/user-agent.ts'
import type { CallItem, CallLog, CallState } from './call-log.ts'
import { MediaEndpoint } from './media-endpoint.ts'
import { ToneDetector } from './tone-detector.ts'

/** Behaviour of a called handset: `echo` answers and sends received audio back. */
export const callBehaviours = ['answer', 'busy', 'no_answer', 'reject', 'echo'] as const
export type CallBehaviour = (typeof callBehaviours)[number]

export const isCallBehaviour = (value: unknown): value is CallBehaviour =>
  callBehaviours.some((manner) => manner === value)

/** Milliseconds that a handset rings before it answers or rejects, and the maximum ringing time. */
const ringMs = 1_000
const maxRingMs = 180_000
/** Milliseconds that a handset lets the other end ring. */
const dialTimeoutMs = 60_000
/** Maximum milliseconds of a call. */
const maxTalkMs = 4 * 3_600_000
/** Milliseconds between the answer and key presses: the peer's media may not be ready at once. */
const keysDelayMs = 1_000

/** Duration before the handset hangs up (null: never), and keys to press. */
export type TalkSettings = { readonly talkMs: number | null; readonly digits?: string }

const sdp = (content: string): NonNullable<ResponseOptions['body']> => ({ type: 'application/sdp', content })

const refusals: Partial<Record<number, CallState>> = { 486: 'busy', 600: 'busy', 480: 'no_answer', 408: 'no_answer' }

export type Deps = {
  readonly agent: UserAgent
  readonly log: CallLog
  /** Address of the media. */
  readonly address: string
}

/** A call of a handset, from the first ring to the end. */
export class HandsetCall {
  readonly item: CallItem
  private readonly deps: Deps
  private readonly ended: () => void
  private readonly talk: TalkSettings
  private media: MediaEndpoint | null = null
  private toneDetector: ToneDetector | null = null
  private session: SipSession | null = null
  private outgoing: OutgoingCall | null = null
  private incoming: IncomingCall | null = null
  private stopTimer = () => {}

  constructor(parts: Deps, item: CallItem, talk: TalkSettings, ended: () => void) {
    this.deps = parts
    this.item = item
    this.talk = talk
    this.ended = ended
    parts.log.begin(item)
  }

  /** Handles an inbound call. */
  async handleInvite(call: IncomingCall, manner: CallBehaviour): Promise<void> {
    this.incoming = call
    if (manner === 'busy') {
      call.refuse({ status: 486 })
      this.end('busy', 486)
      return
    }
    call.events = { cancelled: () => this.end('canceled', 487) }
    call.ring({ status: 180 })
    if (manner === 'no_answer') {
      this.after(maxRingMs, () => {
        call.refuse({ status: 480 })
        this.end('no_answer', 480)
      })
    } else if (manner === 'reject') {
      this.after(ringMs, () => {
        call.refuse({ status: 603 })
        this.end('rejected', 603)
      })
    } else {
      await this.open(manner === 'echo')
      this.after(ringMs, () => this.accept(call))
    }
  }

  /** Calls a number of the platform. */
  async dial(ask: RequestOptions): Promise<void> {
    const sound = await this.open(false)
    this.outgoing = this.deps.agent.invite(
      { ...ask, body: sdp(sound.offer()) },
      {
        progress: ({ status }) => this.record({ status }),
        accepted: ({ body, status }, session) => {
          this.session = session
          this.answered(status)
          if (!sound.accept(body.toString())) void session.bye()
        },
        refused: (outcome) => this.refused(outcome),
        session: this.events(sound),
      },
    )
    this.after(dialTimeoutMs, () => this.outgoing?.cancel())
  }

  /** Fails a call without a reachable callee. */
  fail(status: number): void {
    this.end('failed', status)
  }

  hangUp(): void {
    if (this.session) void this.session.bye()
    else if (this.outgoing) this.outgoing.cancel()
    else {
      this.incoming?.refuse({ status: 603 })
      this.end('rejected', 603)
    }
  }

  /** Presses keys as telephone-events. @returns false before the call is answered */
  press(digits: string): boolean {
    if (!this.toneDetector || !this.media) return false
    this.media.press(digits)
    return true
  }

  /** Called every 20 ms. */
  tick(): void {
    if (this.toneDetector) this.media?.tick()
  }

  private async open(echoes: boolean): Promise<MediaEndpoint> {
    this.media = await MediaEndpoint.open(this.deps.address, echoes, {
      received: (samples) => this.toneDetector?.addSamples(samples, performance.now()),
      pressed: (digit) => this.record({ digits: `${this.item.digits}${digit}`.slice(-1_000) }),
    })
    // The call may have been cancelled meanwhile.
    if (this.item.endedAt !== null) this.media.close()
    return this.media
  }

  private accept(call: IncomingCall): void {
    const { media } = this
    if (!media || !call.isPending) return
    const offered = call.invite.body.length > 0
    const own = offered ? media.answer(call.invite.body.toString()) : media.offer()
    if (own === null) {
      call.refuse({ status: 488 })
      this.end('failed', 488)
      return
    }
    this.session = call.accept({ body: sdp(own) }, this.events(media))
    if (this.session) this.answered(200)
  }

  private events(sound: MediaEndpoint): SipSessionEvents {
    return {
      offered: (request) => this.offered(request, sound),
      acknowledged: (ack) => {
        if (ack.body.length > 0 && !sound.accept(ack.body.toString())) this.hangUp()
      },
      info: () => ({ status: 415 }),
      ended: (why) => this.finish(why),
    }
  }

  private offered(request: SipRequest, sound: MediaEndpoint): ResponseOptions {
    const own = request.body.length > 0 ? sound.answer(request.body.toString()) : sound.offer()
    return own === null ? { status: 488 } : { status: 200, body: sdp(own) }
  }

  private answered(status: number): void {
    this.stopTimer()
    this.toneDetector = new ToneDetector(this.deps.log.fileOf(this.item.id), performance.now())
    this.record({ state: 'answered', status, answeredAt: Date.now() })
    this.after(this.talk.talkMs ?? maxTalkMs, () => void this.session?.bye())
    this.deps.agent.timers.after(keysDelayMs, () => this.media?.press(this.talk.digits ?? ''))
  }

  private refused(outcome: RequestOutcome): void {
    const status = outcome.outcome === 'answered' ? outcome.response.status : 408
    const isOurs = outcome.outcome === 'failed' && outcome.why === 'cancelled'
    if (status === 487 || isOurs) this.end('canceled', 487)
    else this.end(refusals[status] ?? (status >= 600 ? 'rejected' : 'failed'), status)
  }

  private finish(why: SipSessionEnd): void {
    this.end(why === 'remote' || why === 'local' ? 'completed' : 'failed', this.item.status)
  }

  private end(state: CallState, status: number): void {
    if (this.item.endedAt !== null) return
    this.stopTimer()
    const tones = this.toneDetector?.tones ?? []
    this.toneDetector?.close()
    this.toneDetector = null
    this.media?.close()
    this.record({ state, status, endedAt: Date.now(), tones })
    this.ended()
  }

  /** Tones detected so far. */
  get tones() {
    return this.toneDetector?.tones ?? this.item.tones
  }

  private after(milliseconds: number, run: () => void): void {
    this.stopTimer()
    this.stopTimer = this.deps.agent.timers.after(milliseconds, run)
  }

  private record(news: Parameters<CallLog['record']>[1]): void {
    this.deps.log.record(this.item, news)
  }
}
