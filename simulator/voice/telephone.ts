import type { Agent } from '../../src/connectors/sip/codec/agent/agent.ts'
import type { Ask } from '../../src/connectors/sip/codec/agent/ask.ts'
import type { Outcome } from '../../src/connectors/sip/codec/agent/exchange.ts'
import type { IncomingCall } from '../../src/connectors/sip/codec/dialog/incoming.ts'
import type { OutgoingCall } from '../../src/connectors/sip/codec/dialog/outgoing.ts'
import type { Session, SessionEnd, SessionEvents } from '../../src/connectors/sip/codec/dialog/session.ts'
import type { SipRequest } from '../../src/connectors/sip/codec/message.ts'
import type { Answer } from '../../src/connectors/sip/codec/reply.ts'
import type { CallBook, CallItem, CallState } from './calls.ts'
import { Ear } from './ear.ts'
import { Sound } from './sound.ts'

/** What a handset does when it is called: `echo` answers and sends back what it hears. */
export const manners = ['answer', 'busy', 'no_answer', 'reject', 'echo'] as const
export type CallManner = (typeof manners)[number]

export const isCallManner = (value: unknown): value is CallManner => manners.some((manner) => manner === value)

/** How long a handset rings before it answers or rejects; until nobody lets it ring any more, ms. */
const ringMs = 1_000
const mostRingMs = 180_000
/** How long a handset lets it ring at the other end, ms. */
const patienceMs = 60_000
/** Nobody talks longer, ms. */
const mostTalkMs = 4 * 3_600_000
/** After the answer, until keys are pressed: the other end's media may not stand yet, ms. */
const keysMs = 1_000

/** How a handset talks: for so long before it hangs up (null for as long as the other end likes), and pressing these keys. */
export type Talk = { readonly talkMs: number | null; readonly digits?: string }

const sdp = (content: string): NonNullable<Answer['body']> => ({ type: 'application/sdp', content })

const refusals: Partial<Record<number, CallState>> = { 486: 'busy', 600: 'busy', 480: 'no_answer', 408: 'no_answer' }

export type TelephoneParts = {
  readonly agent: Agent
  readonly book: CallBook
  /** Where its media is. */
  readonly address: string
}

/** A call of a handset's, from its first ring to its end. */
export class Telephone {
  readonly item: CallItem
  private readonly parts: TelephoneParts
  private readonly ended: () => void
  private readonly talk: Talk
  private sound: Sound | null = null
  private ear: Ear | null = null
  private session: Session | null = null
  private outgoing: OutgoingCall | null = null
  private incoming: IncomingCall | null = null
  private stopTimer = () => {}

  constructor(parts: TelephoneParts, item: CallItem, talk: Talk, ended: () => void) {
    this.parts = parts
    this.item = item
    this.talk = talk
    this.ended = ended
    parts.book.begin(item)
  }

  /** It rings. */
  async take(call: IncomingCall, manner: CallManner): Promise<void> {
    this.incoming = call
    if (manner === 'busy') {
      call.refuse({ status: 486 })
      this.end('busy', 486)
      return
    }
    call.events = { cancelled: () => this.end('canceled', 487) }
    call.ring({ status: 180 })
    if (manner === 'no_answer') {
      this.after(mostRingMs, () => {
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

  /** It calls a number of the platform's. */
  async dial(ask: Ask): Promise<void> {
    const sound = await this.open(false)
    this.outgoing = this.parts.agent.invite(
      { ...ask, body: sdp(sound.offer()) },
      {
        progress: ({ status }) => this.note({ status }),
        accepted: ({ body, status }, session) => {
          this.session = session
          this.answered(status)
          if (!sound.accept(body.toString())) void session.bye()
        },
        refused: (outcome) => this.refused(outcome),
        session: this.events(sound),
      },
    )
    this.after(patienceMs, () => this.outgoing?.cancel())
  }

  /** Nobody is there to be called. */
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

  /** Another 20 ms have passed. */
  tick(): void {
    if (this.ear) this.sound?.tick()
  }

  private async open(echoes: boolean): Promise<Sound> {
    this.sound = await Sound.open(this.parts.address, echoes, {
      heard: (samples) => this.ear?.hear(samples, performance.now()),
      pressed: (digit) => this.note({ digits: `${this.item.digits}${digit}`.slice(-1_000) }),
    })
    // It may have been taken back meanwhile.
    if (this.item.endedAt !== null) this.sound.close()
    return this.sound
  }

  private accept(call: IncomingCall): void {
    const { sound } = this
    if (!sound || !call.isPending) return
    const offered = call.invite.body.length > 0
    const own = offered ? sound.answer(call.invite.body.toString()) : sound.offer()
    if (own === null) {
      call.refuse({ status: 488 })
      this.end('failed', 488)
      return
    }
    this.session = call.accept({ body: sdp(own) }, this.events(sound))
    if (this.session) this.answered(200)
  }

  private events(sound: Sound): SessionEvents {
    return {
      offered: (request) => this.offered(request, sound),
      acknowledged: (ack) => {
        if (ack.body.length > 0 && !sound.accept(ack.body.toString())) this.hangUp()
      },
      info: () => ({ status: 415 }),
      ended: (why) => this.finish(why),
    }
  }

  private offered(request: SipRequest, sound: Sound): Answer {
    const own = request.body.length > 0 ? sound.answer(request.body.toString()) : sound.offer()
    return own === null ? { status: 488 } : { status: 200, body: sdp(own) }
  }

  private answered(status: number): void {
    this.stopTimer()
    this.ear = new Ear(this.parts.book.fileOf(this.item.id), performance.now())
    this.note({ state: 'answered', status, answeredAt: Date.now() })
    this.after(this.talk.talkMs ?? mostTalkMs, () => void this.session?.bye())
    this.parts.agent.timers.after(keysMs, () => this.sound?.press(this.talk.digits ?? ''))
  }

  private refused(outcome: Outcome): void {
    const status = outcome.outcome === 'answered' ? outcome.response.status : 408
    const isOurs = outcome.outcome === 'failed' && outcome.why === 'cancelled'
    if (status === 487 || isOurs) this.end('canceled', 487)
    else this.end(refusals[status] ?? (status >= 600 ? 'rejected' : 'failed'), status)
  }

  private finish(why: SessionEnd): void {
    this.end(why === 'remote' || why === 'local' ? 'completed' : 'failed', this.item.status)
  }

  private end(state: CallState, status: number): void {
    if (this.item.endedAt !== null) return
    this.stopTimer()
    const tones = this.ear?.tones ?? []
    this.ear?.close()
    this.ear = null
    this.sound?.close()
    this.note({ state, status, endedAt: Date.now(), tones })
    this.ended()
  }

  /** What it has heard so far. */
  get tones() {
    return this.ear?.tones ?? this.item.tones
  }

  private after(milliseconds: number, run: () => void): void {
    this.stopTimer()
    this.stopTimer = this.parts.agent.timers.after(milliseconds, run)
  }

  private note(news: Parameters<CallBook['note']>[1]): void {
    this.parts.book.note(this.item, news)
  }
}
