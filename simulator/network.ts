import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { MessageState } from '../src/connectors/smpp/codec/receipt.ts'
import type { Concat } from '../src/connectors/smpp/codec/user-data.ts'
import { type LongMode, segment } from '../src/lib/segments.ts'
import type { Delivery, Report, Text } from './delivery.ts'
import { Dispatch } from './dispatch.ts'
import { type Behaviour, Handsets, type Item, type Outcome } from './handsets.ts'
import { Journal } from './journal.ts'
import { type Piece, Texts } from './texts.ts'

export type NetworkSettings = {
  /** Where the journal is kept. */
  readonly home: string
  /** Unanswered deliveries to one bind at a time. */
  readonly deliverWindow: number
  /** How long after a submit its receipt goes, milliseconds. */
  readonly receiptMs: readonly [least: number, most: number]
}

/** One submitted part, numbers with `+`. */
export type Submission = {
  readonly source: string
  readonly destination: string
  readonly text: string
  readonly concat: Concat | null
  readonly wantsReceipt: boolean
}

/** How a handset's text goes over the wire. */
export type Writing = {
  readonly long: LongMode
  readonly order?: readonly number[] | undefined
  /** In Latin-1 and one piece, whatever its length. */
  readonly latin1: boolean
}

type Entry =
  | ['item', Item]
  | ['behaviour', string, Behaviour]
  | ['line', string, boolean]
  | ['piece', Piece]
  | ['delivery', Delivery]
  | ['delivered', number]

/** The journal is made anew when it has this many lines and four times what is alive. */
const longJournal = 200_000

const states: Record<Exclude<Outcome, 'silent'>, MessageState> = {
  deliver: 'DELIVERED',
  undeliverable: 'UNDELIVERABLE',
  expire: 'EXPIRED',
  reject: 'REJECTED',
}

/** What the carrier knows: handsets, what they saw, and what it has still to bring to the platform. All of it is in the
 *  journal, and there before anybody is told. */
export class Network {
  readonly handsets = new Handsets()
  /** Numbers of the platform: what is sent to one of them comes back to it. */
  private readonly lines = new Set<string>()
  readonly dispatch: Dispatch
  private readonly settings: NetworkSettings
  private readonly texts = new Texts()
  private readonly journal: Journal
  /** The last id given; they begin at the clock so that none comes again after a restart, and stay below 2^53. */
  private lastId = Date.now() * 1_000
  private reference = Math.floor(Math.random() * 256)

  constructor(settings: NetworkSettings) {
    this.settings = settings
    mkdirSync(settings.home, { recursive: true })
    this.dispatch = new Dispatch(settings.deliverWindow, (id) => this.append(['delivered', id]))
    this.journal = new Journal(join(settings.home, 'sms.jsonl'), (entry) => this.load(entry as Entry)) // our own file
    this.journal.rewrite(this.entries())
  }

  nextId(): number {
    this.lastId = Math.max(this.lastId + 1, Date.now() * 1_000)
    return this.lastId
  }

  /** What becomes of messages to a number. */
  outcome(number: string): Outcome {
    return this.lines.has(number) ? 'deliver' : this.handsets.outcome(number)
  }

  /** Takes a message: when it reaches its handset, the text is among the handset's items. */
  take(submission: Submission, outcome: Outcome, carrierId: string): void {
    const { source, destination, text, concat } = submission
    if (outcome !== 'deliver' && outcome !== 'silent') return
    if (this.lines.has(destination)) {
      this.pass(submission)
      return
    }
    const whole = concat ? this.join({ from: source, to: destination, ...concat, text }) : text
    if (whole === null) return
    this.see({ number: destination, direction: 'inbound', peer: source, text: whole, at: Date.now(), carrierId })
  }

  /** Says which numbers are the platform's, and which are no longer. */
  provision(lines: Iterable<readonly [number: string, ours: boolean]>): void {
    for (const [number, ours] of lines) {
      if (this.lines.has(number) === ours) continue
      this.load(['line', number, ours])
      this.append(['line', number, ours])
    }
  }

  /** Plans the receipt of a submission, if its handset's outcome has one. */
  report(submission: Submission, outcome: Outcome, carrierId: string, delayMs = this.receiptDelay()): void {
    if (outcome === 'silent' || !submission.wantsReceipt) return
    const now = Date.now()
    const report: Report = {
      kind: 'receipt',
      id: this.nextId(),
      due: now + delayMs,
      source: submission.destination,
      destination: submission.source,
      carrierId,
      state: states[outcome],
      submitted: now,
      beginning: submission.text.slice(0, 20),
    }
    this.bring(report)
  }

  /** A handset sends a text to a number of the platform, in as many parts as it takes; or in those alone that `order`
   *  names, counted from 1, as they stand there. */
  send(number: string, to: string, text: string, { long, order, latin1 }: Writing): void {
    const { encoding, parts } = latin1 ? { encoding: 'latin1' as const, parts: [text] } : segment(text, long)
    const reference = this.reference++ & 0xff
    for (const place of order ?? parts.keys().map((i) => i + 1)) {
      const piece = parts[place - 1]
      if (piece === undefined) continue
      const concat = parts.length > 1 ? { reference, part: place, parts: parts.length } : null
      this.bringText({ source: number, destination: to, text: piece, encoding, concat, long })
    }
    this.see({ number, direction: 'outbound', peer: to, text, at: Date.now(), carrierId: null })
  }

  change(number: string, behaviour: Behaviour): void {
    this.handsets.change(number, behaviour)
    this.append(['behaviour', number, behaviour])
  }

  /** Makes everything so far outlive a kill. */
  flush(): void {
    this.journal.flush()
    if (
      this.journal.length > longJournal &&
      this.journal.length > 4 * (this.handsets.items + this.dispatch.size + this.lines.size)
    ) {
      this.journal.rewrite(this.entries())
    }
  }

  close(): void {
    this.dispatch.stop()
    this.journal.close()
  }

  /** Brings a message to the number of the platform that it is for, a part as a part. */
  private pass({ source, destination, text, concat }: Submission): void {
    const long = concat && concat.reference > 0xff ? 'udh16' : 'udh8'
    const { encoding, parts } = segment(text, concat ? 'payload' : long)
    const reference = concat?.reference ?? this.reference++ & 0xff
    for (const [i, piece] of parts.entries()) {
      const own = parts.length > 1 ? { reference, part: i + 1, parts: parts.length } : null
      this.bringText({ source, destination, text: piece, encoding, concat: concat ?? own, long })
    }
  }

  private bringText(text: Omit<Text, 'kind' | 'id' | 'due'>): void {
    this.bring({ kind: 'text', id: this.nextId(), due: Date.now(), ...text })
  }

  private receiptDelay(): number {
    const [least, most] = this.settings.receiptMs
    return least + Math.random() * (most - least)
  }

  private join(piece: Piece): string | null {
    this.append(['piece', piece])
    return this.texts.add(piece)
  }

  private see(item: Item): void {
    this.handsets.add(item)
    this.append(['item', item])
  }

  private bring(delivery: Delivery): void {
    this.append(['delivery', delivery])
    this.dispatch.add(delivery)
  }

  private append(entry: Entry): void {
    this.journal.append(entry)
  }

  private load(entry: Entry): void {
    switch (entry[0]) {
      case 'item':
        this.handsets.add(entry[1])
        break
      case 'behaviour':
        this.handsets.change(entry[1], entry[2])
        break
      case 'line':
        if (entry[2]) this.lines.add(entry[1])
        else this.lines.delete(entry[1])
        break
      case 'piece':
        this.texts.add(entry[1])
        break
      case 'delivery':
        this.dispatch.add(entry[1])
        break
      case 'delivered':
        this.dispatch.forget(entry[1])
        break
    }
  }

  private *entries(): Generator<Entry> {
    yield* this.handsets.entries()
    for (const number of this.lines) yield ['line', number, true]
    yield* this.texts.entries()
    for (const delivery of this.dispatch.entries) yield ['delivery', delivery]
  }
}
