import { ns } from './namespaces.ts'
import type { Delivery } from './wire.ts'
import { isElement, type XmlElement, xml } from './xml.ts'

const wrap = 2 ** 32

/** Maximum stanzas pending the server's acknowledgement. */
const maxPending = 2_000

/** Milliseconds that a message waits for its acknowledgement, across reconnects too. */
const ackTimeoutMs = 15_000

type PendingStanza = { readonly stanza: XmlElement; settle: ((delivery: Delivery) => void) | null; isOver: boolean }

const idOf = (stanza: XmlElement): string => (stanza.name === 'message' ? (stanza.attrs.id ?? '') : '')

const isCount = (text: string | undefined): text is string => text !== undefined && /^\d{1,10}$/.test(text)

/**
 * Stream management (XEP-0198) of one login, across its sockets. Tracks the stanzas that the server acknowledged and
 * those of the server that we handled. Resends unacknowledged stanzas on resumption.
 */
export class StreamManagement {
  /** The id for resumption; null when the stream cannot be resumed. */
  resumption: string | null = null
  /** True while the server counts stanzas. */
  isOn = false
  /** Count of acknowledged stanzas of ours; the others wait in order. */
  private acknowledged = 0
  private pending: PendingStanza[] = []
  /** Counts of the server's stanzas: received, and handled without a gap. The set holds those handled out of order. */
  private received = 0
  private handled = 0
  private readonly handledEarly = new Set<number>()
  /** Incremented for each new stream. */
  private generation = 0
  private ackOwed = false
  private isAckRequestScheduled = false
  private readonly write: (element: XmlElement) => void
  /** Called with the id of each message that the server acknowledged. */
  private readonly accepted: (id: string) => void

  constructor(write: (element: XmlElement) => void, accepted: (id: string) => void) {
    this.write = write
    this.accepted = accepted
  }

  get isFull(): boolean {
    return this.pending.length >= maxPending
  }

  /** Starts a new stream; all counts of the last one are discarded. */
  reset(isOn: boolean, resumption: string | null): void {
    for (const one of this.pending.splice(0)) one.settle?.('lost')
    this.isOn = isOn
    this.resumption = resumption
    this.generation++
    this.acknowledged = 0
    this.received = 0
    this.handled = 0
    this.handledEarly.clear()
    this.ackOwed = false
  }

  /** Builds the request to resume the last stream (5). */
  resume(): XmlElement {
    return xml('resume', ns.management, { previd: this.resumption ?? '', h: String(this.handled) })
  }

  /** Resumes: resends our unacknowledged stanzas. The server resends what we had not handled. */
  resumed(answer: XmlElement): void {
    this.acknowledge(answer)
    this.received = this.handled
    this.handledEarly.clear()
    this.pending = this.pending.filter(({ isOver }) => !isOver)
    for (const { stanza } of this.pending) this.write(stanza)
    if (this.pending.length > 0) this.requestAckSoon()
  }

  /** Writes a stanza and counts it. */
  send(stanza: XmlElement): void {
    if (this.isOn) this.pending.push({ stanza, settle: null, isOver: false })
    this.write(stanza)
  }

  /** Writes a message; resolves when the server acknowledges it. */
  deliver(stanza: XmlElement): Promise<Delivery> {
    const { promise, resolve } = Promise.withResolvers<Delivery>()
    const one: PendingStanza = { stanza, settle: resolve, isOver: false }
    const timer = setTimeout(() => {
      one.isOver = true
      one.settle?.('lost')
    }, ackTimeoutMs)
    one.settle = (delivery) => {
      clearTimeout(timer)
      one.settle = null
      resolve(delivery)
    }
    this.pending.push(one)
    this.write(stanza)
    this.requestAckSoon()
    return promise
  }

  /** Counts a received stanza. @returns a function to call when the stanza is handled */
  receive(): () => void {
    const place = ++this.received
    const { generation } = this
    return () => {
      if (generation !== this.generation || place <= this.handled) return
      this.handledEarly.add(place)
      while (this.handledEarly.delete(this.handled + 1)) this.handled++
      if (this.ackOwed && this.handled === this.received) this.sendAck()
    }
  }

  /** Handles an element of the extension itself. */
  handleElement(element: XmlElement): void {
    if (element.name === 'r') this.sendAck()
    else if (element.name === 'a') this.acknowledge(element)
  }

  /** True when every received stanza is handled. */
  get isIdle(): boolean {
    return this.handled === this.received
  }

  /** Processes the server's count of our stanzas, sent also when it does not resume (5). */
  acknowledge({ attrs: { h } }: XmlElement): void {
    if (!isCount(h)) return
    const count = (Number(h) - this.acknowledged + wrap) % wrap
    // More than was sent: the server miscounts, so the value is ignored (4).
    if (count > this.pending.length) return
    this.acknowledged = (this.acknowledged + count) % wrap
    for (const { stanza, settle } of this.pending.splice(0, count)) {
      const id = idOf(stanza)
      if (id !== '' && stanza.children.some(isElement)) this.accepted(id)
      settle?.('accepted')
    }
  }

  private sendAck(): void {
    this.ackOwed = this.handled !== this.received
    this.write(xml('a', ns.management, { h: String(this.handled % wrap) }))
  }

  /** Requests one acknowledgement for all stanzas sent in this event-loop turn. */
  private requestAckSoon(): void {
    if (this.isAckRequestScheduled) return
    this.isAckRequestScheduled = true
    setImmediate(() => {
      this.isAckRequestScheduled = false
      this.write(xml('r', ns.management))
    })
  }
}
