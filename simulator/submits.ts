import type { Socket } from 'node:net'
import { encode } from '../src/connectors/smpp/codec/encode.ts'
import type { Link } from '../src/connectors/smpp/codec/link.ts'
import {
  type Address,
  type Bind,
  type Cancel,
  type Data,
  type Message,
  noTlvs,
  type Pdu,
  type Query,
  type Replace,
  statuses,
} from '../src/connectors/smpp/codec/pdu.ts'
import { messageStates } from '../src/connectors/smpp/codec/receipt.ts'
import { readUserData } from '../src/connectors/smpp/codec/user-data.ts'
import type { Fault, FaultKind, Faults } from './faults.ts'
import { numberIn } from './faults.ts'
import type { Outcome } from './handsets.ts'
import { Manners } from './manners.ts'
import type { Network, Submission } from './network.ts'
import { Sent } from './sent.ts'

/** Submits of one bind that may be unanswered; one more is refused with ESME_RTHROTTLED. */
const window = 10

/** How long a submit without an answer counts as unanswered. */
const forgottenMs = 10_000

/** registered_delivery (SMPP 3.4, 5.2.17): always, or on failure only. */
const receiptBits = { always: 1, failure: 2 }

/** Between the receipts of a long text's parts that come in a wrong order. */
const betweenReceiptsMs = 100

const states: Record<Outcome, number> = {
  deliver: messageStates.DELIVERED.code,
  undeliverable: messageStates.UNDELIVERABLE.code,
  expire: messageStates.EXPIRED.code,
  reject: messageStates.REJECTED.code,
  silent: messageStates.ACCEPTED.code,
}

/** One connection of a platform to the carrier. */
export type Peer = {
  readonly link: Link
  readonly socket: Socket
  bind: Bind['command'] | null
  systemId: string
  since: number
  /** Submits unanswered, and those of them whose answer waits to be written. */
  unanswered: number
  answered: number
}

const numberOf = ({ address }: Address): string => (/^\d+$/.test(address) ? `+${address}` : address)

const written = (id: number, form: unknown): string => {
  if (form === 'hex') return id.toString(16)
  return form === 'HEX' ? id.toString(16).toUpperCase() : String(id)
}

/** What the carrier does with submits and with questions about them. */
export class Submits {
  /** The newest of what was taken. */
  readonly sent = new Sent()
  private readonly network: Network
  private readonly faults: Faults
  private readonly manners = new Manners()
  private total = 0
  private second = 0
  private thisSecond = 0

  constructor(network: Network, faults: Faults) {
    this.network = network
    this.faults = faults
  }

  /** How many came, refused ones included. */
  get count(): number {
    return this.total
  }

  submit(peer: Peer, pdu: Message | Data): void {
    this.total++
    peer.unanswered++
    const [source, destination] = [numberOf(pdu.source), numberOf(pdu.destination)]
    const refused = this.refusal(peer, pdu, destination)
    if (refused) {
      this.answer(peer, () => peer.link.refuse(pdu.command, pdu.sequence, refused))
      return
    }
    if (this.due('disconnect', destination)) {
      peer.link.destroy('dropped')
      return
    }

    const ids = this.due('ids', destination)
    const id = this.network.nextId()
    const inReceipt = written(id, ids?.receipt)
    const messageId = this.due('empty_id', destination) ? '' : written(id, ids?.response)
    const { text, concat } = readUserData(pdu)
    const outcome = this.network.outcome(destination)
    const wanted = outcome === 'deliver' ? receiptBits.always : receiptBits.always | receiptBits.failure
    const submission = { source, destination, text, concat, wantsReceipt: (pdu.registered & wanted) !== 0 }
    this.network.take(submission, outcome, messageId)
    this.sent.add(messageId, pdu, { source, destination, text, concat, state: states[outcome] })
    const receiptFirst = this.due('receipt_first', destination) !== undefined
    this.report(submission, outcome, inReceipt, receiptFirst)
    this.reply(peer, pdu, messageId, receiptFirst)
  }

  query({ link }: Peer, { sequence, messageId }: Query): void {
    const state = this.sent.state(messageId)
    if (state === undefined) link.refuse('query_sm', sequence, statuses.ESME_RINVMSGID)
    else link.send({ command: 'query_sm_resp', sequence, status: 0, messageId, finalDate: '', state, error: 0 })
  }

  /** Only what has no final state yet can be taken back: a text to a silent handset. */
  cancel({ link }: Peer, { sequence, messageId }: Cancel): void {
    const state = this.sent.state(messageId)
    if (state === undefined) link.refuse('cancel_sm', sequence, statuses.ESME_RINVMSGID)
    else if (state !== states.silent) link.refuse('cancel_sm', sequence, statuses.ESME_RCANCELFAIL)
    else {
      this.sent.change(messageId, messageStates.DELETED.code)
      link.send({ command: 'cancel_sm_resp', sequence, status: 0 })
    }
  }

  /** Every text is at its handset already. */
  replace({ link }: Peer, { sequence, messageId }: Replace): void {
    const known = this.sent.state(messageId) !== undefined
    link.refuse('replace_sm', sequence, known ? statuses.ESME_RREPLACEFAIL : statuses.ESME_RINVMSGID)
  }

  /** A fault that is due for all, or that the destination's manner brings. */
  private due(kind: FaultKind, destination: string): Fault | undefined {
    const manner = this.network.handsets.behaviour(destination).carrier
    return this.faults.take(kind) ?? this.manners.take(kind, destination, manner)
  }

  /** The status that refuses a submit, or 0. */
  private refusal(peer: Peer, pdu: Message | Data, destination: string): number {
    if (!peer.bind || peer.bind === 'bind_receiver') return statuses.ESME_RINVBNDSTS
    if (peer.unanswered > window) return statuses.ESME_RTHROTTLED
    if (!/^\d{3,15}$/.test(pdu.destination.address)) return statuses.ESME_RINVDSTADR
    const throttle = this.faults.take('throttle')
    if (throttle) {
      const second = Math.floor(Date.now() / 1_000)
      if (second !== this.second) this.thisSecond = 0
      this.second = second
      if (++this.thisSecond > numberIn(throttle, 'per_second', 1)) return statuses.ESME_RTHROTTLED
    }
    const fault = this.due('refuse', destination)
    return fault ? numberIn(fault, 'status', statuses.ESME_RSYSERR) : 0
  }

  private report(submission: Submission, outcome: Outcome, carrierId: string, atOnce: boolean): void {
    const { destination, concat } = submission
    const first = this.due('first_receipt_only', destination)
    if (first && concat && concat.part > 1) return
    const reversed = concat && this.due('receipts_reversed', destination)
    const delay = reversed ? (concat.parts - concat.part + 1) * betweenReceiptsMs : undefined
    const copies = this.due('duplicate_receipts', destination) ? 2 : 1
    for (let i = 0; i < copies; i++) this.network.report(submission, outcome, carrierId, atOnce ? 0 : delay)
  }

  private reply(peer: Peer, pdu: Message | Data, messageId: string, late: boolean): void {
    const { link, socket } = peer
    const { sequence } = pdu
    const destination = numberOf(pdu.destination)
    const command = pdu.command === 'data_sm' ? 'data_sm_resp' : 'submit_sm_resp'
    const answer: Pdu = { command, sequence, status: 0, messageId, tlvs: noTlvs }
    if (this.due('mute', destination)) {
      setTimeout(() => peer.unanswered--, forgottenMs)
      return
    }
    if (this.due('half_pdu', destination)) {
      const octets = encode(answer)
      link.sendRaw(octets.subarray(0, octets.length >> 1))
      setImmediate(() => socket.resetAndDestroy())
      return
    }
    const slow = this.due('slow', destination)
    const delay = slow ? numberIn(slow, 'ms', 1_000) : late ? 500 : 0
    const send = () => this.answer(peer, () => link.send(answer))
    if (delay > 0) setTimeout(send, delay)
    else send()
  }

  private answer(peer: Peer, send: () => void): void {
    peer.answered++
    send()
  }
}
