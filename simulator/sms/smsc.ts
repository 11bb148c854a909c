import { timingSafeEqual } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import { type BindPdu, type Pdu, statuses, tags } from '@trunkline/smpp/pdu.ts'
import { SmppLink } from '@trunkline/smpp/smpp-link.ts'
import { type Faults, numberIn } from './faults.ts'
import type { SmsNetwork } from './sms-network.ts'
import { type Peer, SubmitHandler } from './submit-handler.ts'

/** Milliseconds for the platform to respond to a delivery. */
const responseMs = 10_000

const version = 0x34

const isEqualSecret = (value: string, expected: string): boolean => {
  const [a, b] = [Buffer.from(value), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** SMPP side of the carrier. Any system_id may bind with the password. */
export class Smsc {
  readonly server: Server
  readonly submits: SubmitHandler
  private readonly network: SmsNetwork
  private readonly faults: Faults
  private readonly password: string
  private readonly peers = new Set<Peer>()
  private isDeaf = false

  constructor(network: SmsNetwork, faults: Faults, password: string) {
    this.network = network
    this.faults = faults
    this.password = password
    this.submits = new SubmitHandler(network, faults)
    this.server = createServer((socket) => this.accept(socket))
  }

  get state(): { submits: number; binds: { bind: string; system_id: string; since: string; unanswered: number }[] } {
    const bound = [...this.peers].flatMap((peer) => (peer.bind ? [{ ...peer, bind: peer.bind }] : []))
    return {
      submits: this.submits.count,
      binds: bound.map(({ bind, systemId, since, link }) => ({
        bind,
        system_id: systemId,
        since: new Date(since).toISOString(),
        unanswered: link.unanswered,
      })),
    }
  }

  /** Sends raw bytes to every bind. */
  inject(octets: Buffer): void {
    for (const { link } of this.peers) link.sendRaw(octets)
  }

  /** Drops every connection, or the bind at the given index. */
  disconnect(place?: number): void {
    const bound = [...this.peers].filter(({ bind }) => bind !== null)
    for (const { link } of place === undefined ? this.peers : bound.slice(place, place + 1)) link.destroy('dropped')
  }

  /** Stops or resumes reading, and with it responding; connections stay open. */
  setDeaf(deaf: boolean): void {
    this.isDeaf = deaf
    for (const { socket } of this.peers) if (deaf) socket.pause()
    if (!deaf) for (const { socket } of this.peers) socket.resume()
  }

  close(): void {
    this.server.close()
    for (const { link } of this.peers) link.end('the carrier closes')
  }

  private accept(socket: Socket): void {
    const link: SmppLink = new SmppLink(
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
          this.network.deliveryQueue.removeBind(link)
        },
      },
    )
    const peer: Peer = { link, socket, bind: null, systemId: '', since: Date.now(), unanswered: 0, answered: 0 }
    this.peers.add(peer)
    if (this.isDeaf) socket.pause()
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
        this.submits.submit(peer, pdu)
        break
      case 'query_sm':
        this.submits.query(peer, pdu)
        break
      case 'cancel_sm':
        this.submits.cancel(peer, pdu)
        break
      case 'replace_sm':
        this.submits.replace(peer, pdu)
        break
      default:
        peer.link.refuse(pdu.command, pdu.sequence, statuses.ESME_RINVCMDID)
        break
    }
  }

  private bind(peer: Peer, pdu: BindPdu): void {
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
    if (pdu.command !== 'bind_transmitter') this.network.deliveryQueue.addBind(peer.link)
  }

  /** The status that refuses a bind, or 0. */
  private bindRefusal(peer: Peer, pdu: BindPdu): number {
    const fault = this.faults.take('refuse_bind')
    if (fault) return numberIn(fault, 'status', statuses.ESME_RBINDFAIL)
    if (peer.bind) return statuses.ESME_RALYBND
    return isEqualSecret(pdu.password, this.password) ? 0 : statuses.ESME_RINVPASWD
  }
}
