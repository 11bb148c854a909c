import type { Socket } from 'node:net'
import { decode, isMalformed, isReply } from './decode.ts'
import { encode, refusal } from './encode.ts'
import { Frames } from './frames.ts'
import { type CommandName, type Malformed, type Pdu, statuses } from './pdu.ts'

export type LinkSettings = {
  /** How long a request waits for its answer, ms. */
  readonly responseMs: number
  /** Silence after which the peer is asked whether it lives, ms. */
  readonly enquireMs: number
}

export type LinkEvents = {
  /** A request of the peer's that the link does not answer by itself. */
  request(pdu: Pdu): void
  /** What did not parse; it has been answered. */
  malformed(bad: Malformed): void
  /** Just before what was sent in this turn of the event loop is written: the moment to write a journal. */
  write(): void
  closed(reason: string): void
  /** Every PDU as it is on the wire, in either direction; its header alone may be logged. */
  trace?(direction: 'in' | 'out', frame: Buffer): void
}

/** No answer: the link broke or the time was up. What was not even written cannot have reached the peer. */
export type Lost = { readonly command: 'lost'; readonly reason: string; readonly written: boolean }

type Waiting = { readonly deadline: number; resolve(answer: Pdu | Lost): void }

const lastSequence = 0x7fffffff

/** Output that a peer leaves unread beyond which we stop reading its requests, octets. */
const highWater = 1_048_576

/** Unanswered enquire_links after which the peer is dead. */
const allowedMisses = 2

/**
 * One SMPP connection, either side of it: frames, matching of answers to requests, enquire_link, generic_nack. Writes
 * once a turn of the event loop. Nothing that a peer sends makes it throw.
 */
export class Link {
  private readonly socket: Socket
  private readonly settings: LinkSettings
  private readonly events: LinkEvents
  private readonly frames = new Frames((frame) => this.take(frame))
  private readonly waiting = new Map<number, Waiting>()
  private outbox: Buffer[] = []
  private sequence = 0
  /** The first request in the outbox. */
  private unwritten = Number.POSITIVE_INFINITY
  private reason = 'closed by the peer'
  private open = true
  private heard = true
  private misses = 0
  private sweep: NodeJS.Timeout | null = null
  private readonly enquiry: NodeJS.Timeout

  constructor(socket: Socket, settings: LinkSettings, events: LinkEvents) {
    this.socket = socket
    this.settings = settings
    this.events = events
    this.enquiry = setInterval(() => this.enquire(), settings.enquireMs)
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.read(chunk))
    socket.on('drain', () => socket.resume())
    socket.on('error', (error) => {
      this.reason = error.message
    })
    socket.on('close', () => this.closed())
  }

  /** Requests of ours that wait for their answer. */
  get unanswered(): number {
    return this.waiting.size
  }

  /** Octets that the peer has not taken yet. */
  get unread(): number {
    return this.socket.writableLength
  }

  get isOpen(): boolean {
    return this.open
  }

  /** Sends a PDU as it is: an answer, or a request whose answer nobody waits for. */
  send(pdu: Pdu): void {
    this.sendRaw(encode(pdu))
  }

  /** Refuses a request with a status and an empty body. */
  refuse(command: CommandName | null, sequence: number, status: number): void {
    this.sendRaw(refusal(command, sequence, status))
  }

  sendRaw(octets: Buffer): void {
    if (!this.open) return
    this.events.trace?.('out', octets)
    if (this.outbox.push(octets) === 1) setImmediate(() => this.flush())
  }

  /** Sends a request and gives its answer, generic_nack included; never rejects. */
  request(make: (sequence: number) => Pdu): Promise<Pdu | Lost> {
    if (!this.open) return Promise.resolve({ command: 'lost', reason: this.reason, written: false })
    this.sequence = this.sequence === lastSequence ? 1 : this.sequence + 1
    const sequence = this.sequence
    if (this.unwritten === Number.POSITIVE_INFINITY) this.unwritten = sequence
    this.send(make(sequence))
    return new Promise((resolve) => {
      this.waiting.set(sequence, { deadline: performance.now() + this.settings.responseMs, resolve })
      this.sweep ??= setTimeout(() => this.expire(), this.settings.responseMs)
    })
  }

  /** Writes what is due, then closes. */
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
    if (!this.frames.push(chunk)) {
      this.refuse(null, 0, statuses.ESME_RINVCMDLEN)
      this.socket.removeAllListeners('data')
      this.end('the peer lost the framing')
    }
  }

  private take(frame: Buffer): void {
    if (!this.open) return
    this.heard = true
    this.events.trace?.('in', frame)
    const pdu = decode(frame)
    if (isMalformed(pdu)) this.takeMalformed(pdu)
    else if (isReply(pdu)) this.settle(pdu.sequence, pdu)
    else if (pdu.command === 'enquire_link') this.send({ ...pdu, command: 'enquire_link_resp', status: 0 })
    else if (pdu.command === 'unbind') {
      this.send({ ...pdu, command: 'unbind_resp', status: 0 })
      this.end('the peer unbound')
    } else this.events.request(pdu)
  }

  private takeMalformed(bad: Malformed): void {
    if (bad.command?.endsWith('_resp')) {
      this.settle(bad.sequence, { command: 'generic_nack', sequence: bad.sequence, status: bad.fault })
    } else this.refuse(bad.command, bad.sequence, bad.fault)
    this.events.malformed(bad)
  }

  private settle(sequence: number, answer: Pdu | Lost): void {
    const waiting = this.waiting.get(sequence)
    if (!waiting) return
    this.waiting.delete(sequence)
    waiting.resolve(answer)
  }

  /** All requests wait equally long, so the oldest stands first. */
  private expire(): void {
    this.sweep = null
    const now = performance.now()
    for (const [sequence, { deadline }] of this.waiting) {
      if (deadline > now) {
        this.sweep = setTimeout(() => this.expire(), deadline - now)
        break
      }
      this.settle(sequence, { command: 'lost', reason: 'no answer in time', written: true })
    }
  }

  private enquire(): void {
    if (this.heard) {
      this.heard = false
      this.misses = 0
    } else if (this.misses >= allowedMisses) this.destroy('the peer does not answer enquire_link')
    else {
      this.misses++
      void this.request((sequence) => ({ command: 'enquire_link', sequence, status: 0 }))
    }
  }

  private flush(): void {
    const [first] = this.outbox
    // Not once it is ended or broken: what is left was never written.
    if (first === undefined || !this.socket.writable) return
    this.events.write()
    const octets = this.outbox.length === 1 ? first : Buffer.concat(this.outbox)
    this.outbox = []
    this.unwritten = Number.POSITIVE_INFINITY
    this.socket.write(octets)
    if (this.socket.writableLength > highWater) this.socket.pause()
  }

  private closed(): void {
    if (!this.open) return
    this.open = false
    this.outbox = []
    clearInterval(this.enquiry)
    if (this.sweep) clearTimeout(this.sweep)
    // In their order: from the first unwritten one on, none was.
    let written = true
    for (const sequence of this.waiting.keys()) {
      written &&= sequence !== this.unwritten
      this.settle(sequence, { command: 'lost', reason: this.reason, written })
    }
    this.events.closed(this.reason)
  }
}
