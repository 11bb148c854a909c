import type { Socket } from 'node:net'
import { encodePdu } from '@trunkline/smpp/encode.ts'
import {
  type Address,
  type BindPdu,
  type CancelPdu,
  type DataPdu,
  noTlvs,
  type Pdu,
  type QueryPdu,
  type ReplacePdu,
  type ShortMessagePdu,
  statuses,
} from '@trunkline/smpp/pdu.ts'
import { messageStates } from '@trunkline/smpp/receipt.ts'
import type { SmppLink } from '@trunkline/smpp/smpp-link.ts'
import { readUserData } from '@trunkline/smpp/user-data.ts'
import type { Outcome } from '../handsets.ts'
import type { Fault, FaultKind, Faults } from './faults.ts'
import { numberIn } from './faults.ts'
import { NumberFaultInjector } from './number-faults.ts'
import type { SmsNetwork, Submission } from './sms-network.ts'
import { SubmitLog } from './submit-log.ts'

/** Maximum unanswered submits per bind; one more is refused with ESME_RTHROTTLED. */
const maxUnanswered = 10

/** Milliseconds that a submit without a response counts as unanswered. */
const unansweredMs = 10_000

/** registered_delivery (SMPP 3.4, 5.2.17): always, or on failure only. */
const receiptBits = { always: 1, failure: 2 }

/** Milliseconds between the receipts of a long message's parts in reverse order. */
const betweenReceiptsMs = 300

const states: Record<Outcome, number> = {
  deliver: messageStates.DELIVERED.code,
  undeliverable: messageStates.UNDELIVERABLE.code,
  expire: messageStates.EXPIRED.code,
  reject: messageStates.REJECTED.code,
  silent: messageStates.ACCEPTED.code,
}

/** A connection of a platform to the carrier. */
export type Peer = {
  readonly link: SmppLink
  readonly socket: Socket
  bind: BindPdu['command'] | null
  systemId: string
  since: number
  /** Unanswered submits, and those whose response is queued for writing. */
  unanswered: number
  answered: number
}

const numberOf = ({ address }: Address): string => (/^\d+$/.test(address) ? `+${address}` : address)

const formatId = (id: number, form: unknown): string => {
  if (form === 'hex') return id.toString(16)
  return form === 'HEX' ? id.toString(16).toUpperCase() : String(id)
}

/** Handles submits and queries about them. */
export class SubmitHandler {
  /** The newest accepted submits. */
  readonly log = new SubmitLog()
  private readonly network: SmsNetwork
  private readonly faults: Faults
  private readonly numberFaults = new NumberFaultInjector()
  private total = 0
  private second = 0
  private thisSecond = 0

  constructor(network: SmsNetwork, faults: Faults) {
    this.network = network
    this.faults = faults
  }

  /** Count of received submits, including refused ones. */
  get count(): number {
    return this.total
  }

  submit(peer: Peer, pdu: ShortMessagePdu | DataPdu): void {
    this.total++
    peer.unanswered++
    const [source, destination] = [numberOf(pdu.source), numberOf(pdu.destination)]
    const refused = this.refusal(peer, pdu, destination)
    if (refused) {
      this.answer(peer, () => peer.link.refuse(pdu.command, pdu.sequence, refused))
      return
    }
    if (this.faultFor('disconnect', destination)) {
      peer.link.destroy('dropped')
      return
    }

    const ids = this.faultFor('ids', destination)
    const id = this.network.nextId()
    const inReceipt = formatId(id, ids?.receipt)
    const messageId = this.faultFor('empty_id', destination) ? '' : formatId(id, ids?.response)
    const { text, concat } = readUserData(pdu)
    const outcome = this.network.outcome(destination)
    const receiptMask = outcome === 'deliver' ? receiptBits.always : receiptBits.always | receiptBits.failure
    const submission = { source, destination, text, concat, wantsReceipt: (pdu.registered & receiptMask) !== 0 }
    this.network.accept(submission, outcome, messageId)
    this.log.add(messageId, pdu, { source, destination, text, concat, state: states[outcome] })
    const receiptFirst = this.faultFor('receipt_first', destination) !== undefined
    this.report(submission, outcome, inReceipt, receiptFirst)
    this.reply(peer, pdu, messageId, receiptFirst)
  }

  query({ link }: Peer, { sequence, messageId }: QueryPdu): void {
    const state = this.log.state(messageId)
    if (state === undefined) link.refuse('query_sm', sequence, statuses.ESME_RINVMSGID)
    else link.send({ command: 'query_sm_resp', sequence, status: 0, messageId, finalDate: '', state, error: 0 })
  }

  /** Only a message without a final state can be cancelled: one to a silent handset. */
  cancel({ link }: Peer, { sequence, messageId }: CancelPdu): void {
    const state = this.log.state(messageId)
    if (state === undefined) link.refuse('cancel_sm', sequence, statuses.ESME_RINVMSGID)
    else if (state !== states.silent) link.refuse('cancel_sm', sequence, statuses.ESME_RCANCELFAIL)
    else {
      this.log.change(messageId, messageStates.DELETED.code)
      link.send({ command: 'cancel_sm_resp', sequence, status: 0 })
    }
  }

  /** Every message has already reached its handset. */
  replace({ link }: Peer, { sequence, messageId }: ReplacePdu): void {
    const known = this.log.state(messageId) !== undefined
    link.refuse('replace_sm', sequence, known ? statuses.ESME_RREPLACEFAIL : statuses.ESME_RINVMSGID)
  }

  /** A fault due for all numbers, or one set for the destination. */
  private faultFor(kind: FaultKind, destination: string): Fault | undefined {
    const manner = this.network.handsets.behaviour(destination).carrier
    return this.faults.take(kind) ?? this.numberFaults.take(kind, destination, manner)
  }

  /** The status that refuses a submit, or 0. */
  private refusal(peer: Peer, pdu: ShortMessagePdu | DataPdu, destination: string): number {
    if (!peer.bind || peer.bind === 'bind_receiver') return statuses.ESME_RINVBNDSTS
    if (peer.unanswered > maxUnanswered) return statuses.ESME_RTHROTTLED
    if (!/^\d{3,15}$/.test(pdu.destination.address)) return statuses.ESME_RINVDSTADR
    const throttle = this.faults.take('throttle')
    if (throttle) {
      const second = Math.floor(Date.now() / 1_000)
      if (second !== this.second) this.thisSecond = 0
      this.second = second
      if (++this.thisSecond > numberIn(throttle, 'per_second', 1)) return statuses.ESME_RTHROTTLED
    }
    const fault = this.faultFor('refuse', destination)
    return fault ? numberIn(fault, 'status', statuses.ESME_RSYSERR) : 0
  }

  private report(submission: Submission, outcome: Outcome, carrierId: string, atOnce: boolean): void {
    const { destination, concat } = submission
    const first = this.faultFor('first_receipt_only', destination)
    if (first && concat && concat.part > 1) return
    const reversed = concat && this.faultFor('receipts_reversed', destination)
    const delay = reversed ? (concat.parts - concat.part + 1) * betweenReceiptsMs : undefined
    const copies = this.faultFor('duplicate_receipts', destination) ? 2 : 1
    for (let i = 0; i < copies; i++) this.network.scheduleReceipt(submission, outcome, carrierId, atOnce ? 0 : delay)
  }

  private reply(peer: Peer, pdu: ShortMessagePdu | DataPdu, messageId: string, late: boolean): void {
    const { link, socket } = peer
    const { sequence } = pdu
    const destination = numberOf(pdu.destination)
    const command = pdu.command === 'data_sm' ? 'data_sm_resp' : 'submit_sm_resp'
    const answer: Pdu = { command, sequence, status: 0, messageId, tlvs: noTlvs }
    if (this.faultFor('mute', destination)) {
      setTimeout(() => peer.unanswered--, unansweredMs)
      return
    }
    if (this.faultFor('half_pdu', destination)) {
      const octets = encodePdu(answer)
      link.sendRaw(octets.subarray(0, octets.length >> 1))
      setImmediate(() => socket.resetAndDestroy())
      return
    }
    const slow = this.faultFor('slow', destination)
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
