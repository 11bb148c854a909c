import { timingSafeEqual } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import { encode } from '../src/connectors/smpp/codec/encode.ts'
import { Link } from '../src/connectors/smpp/codec/link.ts'
import {
  type Address,
  type Bind,
  type Data,
  type Message,
  noTlvs,
  type Pdu,
  type Query,
  statuses,
  tags,
} from '../src/connectors/smpp/codec/pdu.ts'
import { messageStates } from '../src/connectors/smpp/codec/receipt.ts'
import { readUserData } from '../src/connectors/smpp/codec/user-data.ts'
import type { Faults } from './faults.ts'
import { numberIn } from './faults.ts'
import type { Outcome } from './handsets.ts'
import type { Network, Submission } from './network.ts'

/** Submits of one bind that may be unanswered; one more is refused with ESME_RTHROTTLED. */
const window = 10

/** How long a platform has to answer a delivery, and how long a submit without an answer counts as unanswered. */
const responseMs = 10_000

const version = 0x34

/** registered_delivery (SMPP 3.4, 5.2.17): always, or on failure only. */
const receiptBits = { always: 1, failure: 2 }

/** Messages that query_sm can still ask for. */
const remembered = 10_000

const queryStates: Record<Outcome, number> = {
  deliver: messageStates.DELIVERED.code,
  undeliverable: messageStates.UNDELIVERABLE.code,
  expire: messageStates.EXPIRED.code,
  reject: messageStates.REJECTED.code,
  silent: messageStates.ACCEPTED.code,
}

type Peer = {
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

const isSame = (given: string, expected: string): boolean => {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** The carrier's SMPP side. Any system_id may bind with the password. */
export class Smsc {
  readonly server: Server
  private readonly network: Network
  private readonly faults: Faults
  private readonly password: string
  private readonly peers = new Set<Peer>()
  private readonly messages = new Map<string, Outcome>()
  private submits = 0
  private second = 0
  private thisSecond = 0

  constructor(network: Network, faults: Faults, password: string) {
    this.network = network
    this.faults = faults
    this.password = password
    this.server = createServer((socket) => this.welcome(socket))
  }

  get state(): { submits: number; binds: { bind: string; system_id: string; since: string; unanswered: number }[] } {
    const bound = [...this.peers].flatMap((peer) => (peer.bind ? [{ ...peer, bind: peer.bind }] : []))
    return {
      submits: this.submits,
      binds: bound.map(({ bind, systemId, since, link }) => ({
        bind,
        system_id: systemId,
        since: new Date(since).toISOString(),
        unanswered: link.unanswered,
      })),
    }
  }

  /** Sends octets as they are to every bind. */
  inject(octets: Buffer): void {
    for (const { link } of this.peers) link.sendRaw(octets)
  }

  /** Breaks every connection. */
  disconnect(): void {
    for (const { link } of this.peers) link.destroy('dropped')
  }

  close(): void {
    this.server.close()
    for (const { link } of this.peers) link.end('the carrier closes')
  }

  private welcome(socket: Socket): void {
    const link: Link = new Link(
      socket,
      { responseMs, enquireMs: 30_000 },
      {
        request: (pdu) => this.request(peer, pdu),
        malformed: () => {},
        write: () => {
          this.network.flush()
          peer.unanswered -= peer.answered
          peer.answered = 0
        },
        closed: () => {
          this.peers.delete(peer)
          this.network.dispatch.leave(link)
        },
      },
    )
    const peer: Peer = { link, socket, bind: null, systemId: '', since: Date.now(), unanswered: 0, answered: 0 }
    this.peers.add(peer)
  }

  private request(peer: Peer, pdu: Pdu): void {
    switch (pdu.command) {
      case 'bind_receiver':
      case 'bind_transmitter':
      case 'bind_transceiver':
        this.bind(peer, pdu)
        break
      case 'submit_sm':
      case 'data_sm':
        this.submit(peer, pdu)
        break
      case 'query_sm':
        this.query(peer, pdu)
        break
      case 'cancel_sm':
        peer.link.refuse(pdu.command, pdu.sequence, statuses.ESME_RCANCELFAIL)
        break
      case 'replace_sm':
        peer.link.refuse(pdu.command, pdu.sequence, statuses.ESME_RREPLACEFAIL)
        break
      default:
        peer.link.refuse(pdu.command, pdu.sequence, statuses.ESME_RINVCMDID)
        break
    }
  }

  private bind(peer: Peer, pdu: Bind): void {
    const refused = this.bindRefusal(peer, pdu)
    if (refused) {
      peer.link.refuse(pdu.command, pdu.sequence, refused)
      return
    }
    peer.bind = pdu.command
    peer.systemId = pdu.systemId
    peer.since = Date.now()
    peer.link.send({
      command: `${pdu.command}_resp`,
      sequence: pdu.sequence,
      status: 0,
      systemId: 'simulator',
      tlvs: new Map([[tags.sc_interface_version, Buffer.from([version])]]),
    })
    if (pdu.command !== 'bind_transmitter') this.network.dispatch.join(peer.link)
  }

  /** The status that refuses a bind, or 0. */
  private bindRefusal(peer: Peer, pdu: Bind): number {
    const fault = this.faults.take('refuse_bind')
    if (fault) return numberIn(fault, 'status', statuses.ESME_RBINDFAIL)
    if (peer.bind) return statuses.ESME_RALYBND
    return isSame(pdu.password, this.password) ? 0 : statuses.ESME_RINVPASWD
  }

  private submit(peer: Peer, pdu: Message | Data): void {
    this.submits++
    peer.unanswered++
    const refused = this.refusal(peer, pdu)
    if (refused) {
      this.answer(peer, () => peer.link.refuse(pdu.command, pdu.sequence, refused))
      return
    }
    if (this.faults.take('disconnect')) {
      peer.link.destroy('dropped')
      return
    }

    const ids = this.faults.take('ids')
    const id = this.network.nextId()
    const inReceipt = written(id, ids?.receipt)
    const messageId = this.faults.take('empty_id') ? '' : written(id, ids?.response)
    const { text, concat } = readUserData(pdu)
    const [source, destination] = [numberOf(pdu.source), numberOf(pdu.destination)]
    const outcome = this.network.handsets.outcome(destination)
    const wanted = outcome === 'deliver' ? receiptBits.always : receiptBits.always | receiptBits.failure
    const submission = { source, destination, text, concat, wantsReceipt: (pdu.registered & wanted) !== 0 }
    this.network.take(submission, messageId)
    this.remember(messageId, outcome)
    const receiptFirst = this.faults.take('receipt_first') !== undefined
    this.report(submission, outcome, inReceipt, receiptFirst)
    this.reply(peer, pdu, messageId, receiptFirst)
  }

  /** The status that refuses a submit, or 0. */
  private refusal(peer: Peer, pdu: Message | Data): number {
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
    const fault = this.faults.take('refuse')
    return fault ? numberIn(fault, 'status', statuses.ESME_RSYSERR) : 0
  }

  private report(submission: Submission, outcome: Outcome, carrierId: string, atOnce: boolean): void {
    const copies = this.faults.take('duplicate_receipts') ? 2 : 1
    for (let i = 0; i < copies; i++) {
      if (atOnce) this.network.report(submission, outcome, carrierId, 0)
      else this.network.report(submission, outcome, carrierId)
    }
  }

  private reply(peer: Peer, pdu: Message | Data, messageId: string, late: boolean): void {
    const { link, socket } = peer
    const { sequence } = pdu
    const command = pdu.command === 'data_sm' ? 'data_sm_resp' : 'submit_sm_resp'
    const answer: Pdu = { command, sequence, status: 0, messageId, tlvs: noTlvs }
    if (this.faults.take('mute')) {
      setTimeout(() => peer.unanswered--, responseMs)
      return
    }
    if (this.faults.take('half_pdu')) {
      const octets = encode(answer)
      link.sendRaw(octets.subarray(0, octets.length >> 1))
      setImmediate(() => socket.resetAndDestroy())
      return
    }
    const slow = this.faults.take('slow')
    const delay = slow ? numberIn(slow, 'ms', 1_000) : late ? 500 : 0
    const send = () => this.answer(peer, () => link.send(answer))
    if (delay > 0) setTimeout(send, delay)
    else send()
  }

  private answer(peer: Peer, send: () => void): void {
    peer.answered++
    send()
  }

  private query(peer: Peer, { sequence, messageId }: Query): void {
    const outcome = this.messages.get(messageId)
    if (outcome) {
      const state = queryStates[outcome]
      peer.link.send({ command: 'query_sm_resp', sequence, status: 0, messageId, finalDate: '', state, error: 0 })
    } else peer.link.refuse('query_sm', sequence, statuses.ESME_RINVMSGID)
  }

  private remember(messageId: string, outcome: Outcome): void {
    this.messages.set(messageId, outcome)
    const [oldest] = this.messages.keys()
    if (this.messages.size > remembered && oldest !== undefined) this.messages.delete(oldest)
  }
}
