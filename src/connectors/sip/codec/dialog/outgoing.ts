import type { Exchange, Outcome } from '../agent/exchange.ts'
import type { DigestClient } from '../digest/client.ts'
import { cseqOf, rseqOf, tagOf, toOf } from '../fields.ts'
import type { Header, SipRequest, SipResponse } from '../message.ts'
import type { Answer } from '../reply.ts'
import type { ServerTransaction } from '../transaction/server.ts'
import type { Flow } from '../transport/flow.ts'
import type { Core, DialogUser } from './core.ts'
import { Dialog, lists } from './dialog.ts'
import { agreedByPeer } from './refresher.ts'
import { Session, type SessionEvents } from './session.ts'

export type OutgoingEvents = {
  /** 101 to 199, each: it rings, or there is something to be heard. */
  progress(response: SipResponse, flow: Flow): void
  /** The first 2xx. @returns what is told of the session, and, when our INVITE had no offer, the answer for the ACK */
  accepted(response: SipResponse, session: Session, flow: Flow): void
  /** The last word, when it is not a 2xx. Exactly one of `accepted` and `refused` comes, once. */
  refused(outcome: Outcome): void
  readonly session: SessionEvents
  /** What answers the peer's offer in its 2xx, when the INVITE had none. */
  answer?(response: SipResponse): Answer['body']
}

/** The events of a session that was never asked for: it is ended at once. */
const unwanted: SessionEvents = {
  offered: () => ({ status: 488 }),
  acknowledged: () => {},
  info: () => ({ status: 200 }),
  ended: () => {},
}

/** An INVITE of ours that may be answered by several peers (RFC 3261, 13.2): the first 2xx counts, the others get a BYE. */
export class OutgoingCall {
  private readonly core: Core
  private readonly events: OutgoingEvents
  private readonly digest: DigestClient | undefined
  private exchange: Exchange | null = null
  private readonly early = new Map<string, Early>()
  /** By the tag of who accepted. */
  private readonly sessions = new Map<string, Session>()
  private isCancelled = false
  private isDone = false

  constructor(core: Core, events: OutgoingEvents, digest?: DigestClient) {
    this.core = core
    this.events = events
    this.digest = digest
  }

  /** True until a final answer. */
  get isPending(): boolean {
    return !this.isDone
  }

  /** Called by the agent with what carries it. */
  run(exchange: Exchange): void {
    this.exchange = exchange
    const settle = (outcome: Outcome) => {
      for (const early of this.early.values()) early.leave()
      this.early.clear()
      if (this.isDone) return
      this.isDone = true
      const isAccepted = outcome.outcome === 'answered' && outcome.response.status < 300
      // It was taken back, and the peer was faster: nobody wants its 2xx any more.
      this.events.refused(isAccepted ? { outcome: 'failed', why: 'cancelled', reason: 'taken back' } : outcome)
    }
    exchange.done.then(settle).catch(this.core.fault)
  }

  /**
   * Takes it back. `refused` follows; a 2xx that was under way gets ACK and BYE.
   * @param extra headers of the CANCEL, such as Reason (RFC 3326)
   */
  cancel(extra: readonly Header[] = []): void {
    if (this.isDone) return
    this.isCancelled = true
    this.exchange?.cancel(extra)
  }

  provisional(response: SipResponse, request: SipRequest, flow: Flow): void {
    const tag = tagOf(toOf(response))
    const isNew = tag === null || (this.earlyOf(tag, response, request, flow)?.receive(response, request) ?? true)
    if (isNew && !this.isDone && !this.isCancelled) this.events.progress(response, flow)
  }

  /** A 2xx, the first or another one, of whomever (13.2.2.4). */
  success(response: SipResponse, request: SipRequest, flow: Flow): void {
    const tag = tagOf(toOf(response)) ?? ''
    const known = this.sessions.get(tag)
    if (known) {
      known.late(response)
      return
    }
    const dialog = this.early.get(tag)?.leave() ?? Dialog.ofResponse(request, response, flow)
    dialog.confirm(response)
    const isWanted = !this.isDone && !this.isCancelled
    const session = new Session(this.core, dialog, isWanted ? this.events.session : unwanted, this.digest)
    this.sessions.set(tag, session)
    const body = request.body.length > 0 ? undefined : isWanted ? this.events.answer?.(response) : undefined
    session.confirm(request, body)
    if (!isWanted) {
      void session.bye()
      return
    }
    this.isDone = true
    const described = request.body.length > 0 ? { type: 'application/sdp', content: request.body } : body
    session.begin(response, agreedByPeer(response), described)
    this.events.accepted(response, session, flow)
  }

  private earlyOf(tag: string, response: SipResponse, request: SipRequest, flow: Flow): Early | null {
    const known = this.early.get(tag)
    // A proxy forks to a handful; a peer that invents tags shall not fill our memory.
    if (known || this.early.size >= 32 || this.isDone) return known ?? null
    const early = new Early(this.core, Dialog.ofResponse(request, response, flow), this.digest, () => this.cancel())
    this.early.set(tag, early)
    return early
  }
}

/** An early dialog of ours: acknowledges reliable provisional answers (RFC 3262, 4). */
class Early implements DialogUser {
  private readonly core: Core
  readonly dialog: Dialog
  private readonly digest: DigestClient | undefined
  private readonly ended: () => void
  private lastRseq = 0

  constructor(core: Core, dialog: Dialog, digest: DigestClient | undefined, ended: () => void) {
    this.core = core
    this.dialog = dialog
    this.digest = digest
    this.ended = ended
    core.keep(dialog.key, this)
  }

  /** False for one that comes again, or too early: it is passed over (4). */
  receive(response: SipResponse, invite: SipRequest): boolean {
    const rseq = rseqOf(response)
    if (rseq === null || !lists(response, 'Require', '100rel')) return true
    if (this.lastRseq !== 0 && rseq !== this.lastRseq + 1) return false
    this.lastRseq = rseq
    this.dialog.confirm(response)
    const prack = this.dialog.build('PRACK', { headers: [['RAck', `${rseq} ${cseqOf(invite).number} INVITE`]] })
    this.core.within(this.dialog, prack, {
      ...(this.digest ? { digest: this.digest } : {}),
      nextSeq: () => this.dialog.nextSeq(),
    })
    return true
  }

  /** The dialog, for who takes it over. */
  leave(): Dialog {
    this.core.forget(this.dialog.key, this)
    return this.dialog
  }

  request(transaction: ServerTransaction): void {
    const { method } = transaction.request
    if (method === 'BYE') {
      transaction.reply({ status: 200 })
      this.ended()
    } else if (method === 'UPDATE') transaction.reply({ status: 500, headers: [['Retry-After', '2']] })
    else if (method === 'OPTIONS' || method === 'INFO') transaction.reply({ status: 200 })
    else transaction.reply({ status: 405, headers: [['Allow', this.core.allow]] })
  }

  acknowledged(): void {}

  late(): void {}
}
