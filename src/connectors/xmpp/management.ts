import { ns } from './codec/names.ts'
import { isElement, type Xml, xml } from './codec/xml.ts'
import type { Delivery } from './wire.ts'

const wrap = 2 ** 32

/** Stanzas that may wait for the server's acknowledgement. */
const most = 2_000

/** How long a message waits for it, over broken links too. */
const waitMs = 15_000

type Waiting = { readonly stanza: Xml; settle: ((delivery: Delivery) => void) | null; isOver: boolean }

const idOf = (stanza: Xml): string => (stanza.name === 'message' ? (stanza.attrs.id ?? '') : '')

const isCount = (text: string | undefined): text is string => text !== undefined && /^\d{1,10}$/.test(text)

/**
 * Stream management (XEP-0198) of one login, over the sockets that it takes: which stanzas the server has, which ones of the
 * server's are done with, and what is sent again when the stream is resumed.
 */
export class Management {
  /** How the stream is called when it is resumed; null when it cannot be. */
  resumption: string | null = null
  /** The server counts stanzas. */
  isOn = false
  /** Of ours, acknowledged so far; the others wait in their order. */
  private acknowledged = 0
  private waiting: Waiting[] = []
  /** Of theirs: come, done with in a row, and done with before an earlier one was. */
  private came = 0
  private done = 0
  private readonly ahead = new Set<number>()
  /** Another one for each new stream. */
  private life = 0
  private owed = false
  private asks = false
  private readonly write: (element: Xml) => void
  /** The server has the message of this id. */
  private readonly accepted: (id: string) => void

  constructor(write: (element: Xml) => void, accepted: (id: string) => void) {
    this.write = write
    this.accepted = accepted
  }

  get isFull(): boolean {
    return this.waiting.length >= most
  }

  /** A new stream: nothing of the last one counts any more. */
  renew(isOn: boolean, resumption: string | null): void {
    for (const one of this.waiting.splice(0)) one.settle?.('lost')
    this.isOn = isOn
    this.resumption = resumption
    this.life++
    this.acknowledged = 0
    this.came = 0
    this.done = 0
    this.ahead.clear()
    this.owed = false
  }

  /** What asks the server to go on where the last stream broke (5). */
  resume(): Xml {
    return xml('resume', ns.management, { previd: this.resumption ?? '', h: String(this.done) })
  }

  /** The server goes on: what it has not got is sent again. What came and was not done with comes again. */
  resumed(answer: Xml): void {
    this.acknowledge(answer)
    this.came = this.done
    this.ahead.clear()
    this.waiting = this.waiting.filter(({ isOver }) => !isOver)
    for (const { stanza } of this.waiting) this.write(stanza)
    if (this.waiting.length > 0) this.askSoon()
  }

  /** Writes a stanza, to be counted. */
  send(stanza: Xml): void {
    if (this.isOn) this.waiting.push({ stanza, settle: null, isOver: false })
    this.write(stanza)
  }

  /** Writes a message; resolves when the server has it. */
  deliver(stanza: Xml): Promise<Delivery> {
    const { promise, resolve } = Promise.withResolvers<Delivery>()
    const one: Waiting = { stanza, settle: resolve, isOver: false }
    const timer = setTimeout(() => {
      one.isOver = true
      one.settle?.('lost')
    }, waitMs)
    one.settle = (delivery) => {
      clearTimeout(timer)
      one.settle = null
      resolve(delivery)
    }
    this.waiting.push(one)
    this.write(stanza)
    this.askSoon()
    return promise
  }

  /** A stanza came. @returns what is called once it is done with */
  receive(): () => void {
    const place = ++this.came
    const { life } = this
    return () => {
      if (life !== this.life || place <= this.done) return
      this.ahead.add(place)
      while (this.ahead.delete(this.done + 1)) this.done++
      if (this.owed && this.done === this.came) this.tell()
    }
  }

  /** An element of the extension itself. */
  take(element: Xml): void {
    if (element.name === 'r') this.tell()
    else if (element.name === 'a') this.acknowledge(element)
  }

  /** Nothing that came is left undone. */
  get isIdle(): boolean {
    return this.done === this.came
  }

  /** The server has this many of ours; it may tell so also when it does not resume (5). */
  acknowledge({ attrs: { h } }: Xml): void {
    if (!isCount(h)) return
    const count = (Number(h) - this.acknowledged + wrap) % wrap
    // More than was sent: the server miscounts, and is not believed (4).
    if (count > this.waiting.length) return
    this.acknowledged = (this.acknowledged + count) % wrap
    for (const { stanza, settle } of this.waiting.splice(0, count)) {
      const id = idOf(stanza)
      if (id !== '' && stanza.children.some(isElement)) this.accepted(id)
      settle?.('accepted')
    }
  }

  private tell(): void {
    this.owed = this.done !== this.came
    this.write(xml('a', ns.management, { h: String(this.done % wrap) }))
  }

  /** Asks once for all that is sent in this turn. */
  private askSoon(): void {
    if (this.asks) return
    this.asks = true
    setImmediate(() => {
      this.asks = false
      this.write(xml('r', ns.management))
    })
  }
}
