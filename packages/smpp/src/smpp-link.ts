import type { Socket } from 'node:net'
import { decodePdu, isMalformed, isResponse } from './decode.ts'
import { encodePdu, encodeRefusal } from './encode.ts'
import { type CommandName, type MalformedPdu, type Pdu, statuses } from './pdu.ts'
import { PduFramer } from './pdu-framer.ts'

export type SmppLinkSettings = {
  /** How long a request waits for its response, ms. */
  readonly responseMs: number
  /** Silence after which enquire_link is sent, ms. */
  readonly enquireMs: number
}

export type SmppLinkEvents = {
  /** A request of the peer that the link does not answer itself. */
  request(pdu: Pdu): void
  /** A frame that did not parse; it has been answered. */
  malformed(bad: MalformedPdu): void
  /** Called just before the output of this turn of the event loop is written, for example to write a journal. */
  write(): void
  closed(reason: string): void
  /** Every PDU on the wire, in either direction; only its header may be logged. */
  trace?(direction: 'in' | 'out', frame: Buffer): void
}

/** No response: the link broke or the request timed out. An unsent request cannot have reached the peer. */
export type LostRequest = { readonly command: 'lost'; readonly reason: string; readonly written: boolean }

type PendingRequest = { readonly deadline: number; resolve(answer: Pdu | LostRequest): void }

const lastSequence = 0x7fffffff

/** Unread output, in octets, above which we stop reading the peer's requests. */
const maxUnread = 1_048_576

/** Unanswered enquire_links after which the peer counts as dead. */
const maxMisses = 2

/**
 * One SMPP connection, on either side: framing, matching of responses to requests, enquire_link, generic_nack. Writes
 * once per turn of the event loop. No input from a peer makes it throw.
 */
export class SmppLink {
  private readonly socket: Socket
  private readonly settings: SmppLinkSettings
  private readonly events: SmppLinkEvents
  private readonly framer = new PduFramer((frame) => this.handleFrame(frame))
  private readonly pending = new Map<number, PendingRequest>()
  private outbox: Buffer[] = []
  private sequence = 0
  /** The first request in the outbox. */
  private firstUnsent = Number.POSITIVE_INFINITY
  private reason = 'closed by the peer'
  private open = true
  private hasReceived = true
  private misses = 0
  private expiryTimer: NodeJS.Timeout | null = null
  private readonly enquireTimer: NodeJS.Timeout

  constructor(socket: Socket, settings: SmppLinkSettings, events: SmppLinkEvents) {
    this.socket = socket
    this.settings = settings
    this.events = events
    this.enquireTimer = setInterval(() => this.enquire(), settings.enquireMs)
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.read(chunk))
    socket.on('drain', () => socket.resume())
    socket.on('error', (error) => {
      this.reason = error.message
    })
    socket.on('close', () => this.closed())
  }

  /** Number of our requests that wait for their response. */
  get unanswered(): number {
    return this.pending.size
  }

  /** Octets that the peer has not accepted yet. */
  get unread(): number {
    return this.socket.writableLength
  }

  get isOpen(): boolean {
    return this.open
  }

  /** Sends a PDU unchanged: a response, or a request that expects none. */
  send(pdu: Pdu): void {
    this.sendRaw(encodePdu(pdu))
  }

  /** Refuses a request with a status and an empty body. */
  refuse(command: CommandName | null, sequence: number, status: number): void {
    this.sendRaw(encodeRefusal(command, sequence, status))
  }

  sendRaw(octets: Buffer): void {
    if (!this.open) return
    this.events.trace?.('out', octets)
    if (this.outbox.push(octets) === 1) setImmediate(() => this.flush())
  }

  /** Sends a request and resolves to its response, generic_nack included; never rejects. */
  request(make: (sequence: number) => Pdu): Promise<Pdu | LostRequest> {
    if (!this.open) return Promise.resolve({ command: 'lost', reason: this.reason, written: false })
    this.sequence = this.sequence === lastSequence ? 1 : this.sequence + 1
    const sequence = this.sequence
    if (this.firstUnsent === Number.POSITIVE_INFINITY) this.firstUnsent = sequence
    this.send(make(sequence))
    return new Promise((resolve) => {
      this.pending.set(sequence, { deadline: performance.now() + this.settings.responseMs, resolve })
      this.expiryTimer ??= setTimeout(() => this.expire(), this.settings.responseMs)
    })
  }

  /** Writes pending output, then closes. */
  end(reason: string): void {
    this.reason = reason
    this.flush()
    this.socket.end()
    this.socket.destroySoon()
  }

  /** Breaks the connection at once. */
  destroy(reason: string): void {
    this.reason = reason
    this.socket.destroy()
  }

  private read(chunk: Buffer): void {
    if (!this.framer.push(chunk)) {
      this.refuse(null, 0, statuses.ESME_RINVCMDLEN)
      this.socket.removeAllListeners('data')
      this.end('the peer lost the framing')
    }
  }

  private handleFrame(frame: Buffer): void {
    if (!this.open) return
    this.hasReceived = true
    this.events.trace?.('in', frame)
    const pdu = decodePdu(frame)
    if (isMalformed(pdu)) this.handleMalformed(pdu)
    else if (isResponse(pdu)) this.resolveRequest(pdu.sequence, pdu)
    else if (pdu.command === 'enquire_link') this.send({ ...pdu, command: 'enquire_link_resp', status: 0 })
    else if (pdu.command === 'unbind') {
      this.send({ ...pdu, command: 'unbind_resp', status: 0 })
      this.end('the peer unbound')
    } else this.events.request(pdu)
  }

  private handleMalformed(bad: MalformedPdu): void {
    if (bad.command?.endsWith('_resp')) {
      this.resolveRequest(bad.sequence, { command: 'generic_nack', sequence: bad.sequence, status: bad.fault })
    } else this.refuse(bad.command, bad.sequence, bad.fault)
    this.events.malformed(bad)
  }

  private resolveRequest(sequence: number, answer: Pdu | LostRequest): void {
    const waiting = this.pending.get(sequence)
    if (!waiting) return
    this.pending.delete(sequence)
    waiting.resolve(answer)
  }

  /** All requests wait equally long, so the oldest comes first. */
  private expire(): void {
    this.expiryTimer = null
    const now = performance.now()
    for (const [sequence, { deadline }] of this.pending) {
      if (deadline > now) {
        this.expiryTimer = setTimeout(() => this.expire(), deadline - now)
        break
      }
      this.resolveRequest(sequence, { command: 'lost', reason: 'no answer in time', written: true })
    }
  }

  private enquire(): void {
    if (this.hasReceived) {
      this.hasReceived = false
      this.misses = 0
    } else if (this.misses >= maxMisses) this.destroy('the peer does not answer enquire_link')
    else {
      this.misses++
      void this.request((sequence) => ({ command: 'enquire_link', sequence, status: 0 }))
    }
  }

  private flush(): void {
    const [first] = this.outbox
    // After the end or a break, the remaining output counts as unsent.
    if (first === undefined || !this.socket.writable) return
    this.events.write()
    const octets = this.outbox.length === 1 ? first : Buffer.concat(this.outbox)
    this.outbox = []
    this.firstUnsent = Number.POSITIVE_INFINITY
    this.socket.write(octets)
    if (this.socket.writableLength > maxUnread) this.socket.pause()
  }

  private closed(): void {
    if (!this.open) return
    this.open = false
    this.outbox = []
    clearInterval(this.enquireTimer)
    if (this.expiryTimer) clearTimeout(this.expiryTimer)
    // In order: no request from the first unsent one on was written.
    let written = true
    for (const sequence of this.pending.keys()) {
      written &&= sequence !== this.firstUnsent
      this.resolveRequest(sequence, { command: 'lost', reason: this.reason, written })
    }
    this.events.closed(this.reason)
  }
}
