import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type ConcatenationMode, segment } from '@trunkline/phone/segments.ts'
import type { MessageState } from '@trunkline/smpp/receipt.ts'
import type { Concatenation } from '@trunkline/smpp/user-data.ts'
import { type Behaviour, Handsets, type Item, type Outcome } from '../handsets.ts'
import { Journal } from '../journal.ts'
import type { Delivery, DeliveryReceipt, HandsetSms } from './delivery.ts'
import { DeliveryQueue } from './delivery-queue.ts'
import { type MessagePart, Reassembly } from './reassembly.ts'

export type SmsNetworkSettings = {
  /** Folder of the journal. */
  readonly home: string
  /** Maximum unanswered deliveries per bind. */
  readonly deliverWindow: number
  /** Range of the delay between a submit and its receipt, milliseconds. */
  readonly receiptMs: readonly [least: number, most: number]
  /** How often a receipt is sent that the platform does not accept. Default: 0, until it is accepted. */
  readonly receiptTries?: number
}

/** A submitted part; numbers with `+`. */
export type Submission = {
  readonly source: string
  readonly destination: string
  readonly text: string
  readonly concat: Concatenation | null
  readonly wantsReceipt: boolean
}

/** Encoding and segmentation of a handset's message. */
export type SendOptions = {
  readonly long: ConcatenationMode
  readonly order?: readonly number[] | undefined
  /** Latin-1 in one part, regardless of length. */
  readonly latin1: boolean
}

type Entry =
  | ['item', Item]
  | ['behaviour', string, Behaviour]
  | ['line', string, boolean]
  | ['piece', MessagePart]
  | ['delivery', Delivery]
  | ['delivered', number]

/** The journal is rewritten when it exceeds this many lines and four times the live entries. */
const compactAfterLines = 200_000

const states: Record<Exclude<Outcome, 'silent'>, MessageState> = {
  deliver: 'DELIVERED',
  undeliverable: 'UNDELIVERABLE',
  expire: 'EXPIRED',
  reject: 'REJECTED',
}

/**
 * State of the carrier: handsets, their messages and pending deliveries. Every change is in the journal before anyone
 * is notified of it.
 */
export class SmsNetwork {
  readonly handsets = new Handsets()
  /** Numbers of the platform; messages to them return to it. */
  private readonly platformNumbers = new Set<string>()
  readonly deliveryQueue: DeliveryQueue
  private readonly settings: SmsNetworkSettings
  private readonly reassembly = new Reassembly()
  private readonly journal: Journal
  /** The last assigned id. Ids start at the clock, so that none repeats after a restart, and stay below 2^53. */
  private lastId = Date.now() * 1_000
  private reference = Math.floor(Math.random() * 256)

  constructor(settings: SmsNetworkSettings) {
    this.settings = settings
    mkdirSync(settings.home, { recursive: true })
    const { deliverWindow, receiptTries = 0 } = settings
    this.deliveryQueue = new DeliveryQueue(deliverWindow, receiptTries, (id) => this.append(['delivered', id]))
    this.journal = new Journal(join(settings.home, 'sms.jsonl'), (entry) => this.load(entry as Entry)) // written by this class
    this.journal.rewrite(this.entries())
  }

  nextId(): number {
    this.lastId = Math.max(this.lastId + 1, Date.now() * 1_000)
    return this.lastId
  }

  /** Outcome of messages to a number. */
  outcome(number: string): Outcome {
    return this.platformNumbers.has(number) ? 'deliver' : this.handsets.outcome(number)
  }

  /** Accepts a message; a delivered one is added to its handset's items. */
  accept(submission: Submission, outcome: Outcome, carrierId: string): void {
    const { source, destination, text, concat } = submission
    if (outcome !== 'deliver' && outcome !== 'silent') return
    if (this.platformNumbers.has(destination)) {
      this.returnToPlatform(submission)
      return
    }
    const whole = concat ? this.reassemble({ from: source, to: destination, ...concat, text }) : text
    if (whole === null) return
    this.recordItem({ number: destination, direction: 'inbound', peer: source, text: whole, at: Date.now(), carrierId })
  }

  /** Updates which numbers belong to the platform. */
  provision(lines: Iterable<readonly [number: string, ours: boolean]>): void {
    for (const [number, ours] of lines) {
      if (this.platformNumbers.has(number) === ours) continue
      this.load(['line', number, ours])
      this.append(['line', number, ours])
    }
  }

  /** Schedules the receipt of a submission, if the outcome has one. */
  scheduleReceipt(submission: Submission, outcome: Outcome, carrierId: string, delayMs = this.receiptDelay()): void {
    if (outcome === 'silent' || !submission.wantsReceipt) return
    const now = Date.now()
    const report: DeliveryReceipt = {
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
    this.enqueue(report)
  }

  /**
   * Sends a message from a handset to a platform number, in as many parts as needed. With `order`, only the parts that
   * it names, counted from 1, in its order.
   */
  send(number: string, to: string, text: string, { long, order, latin1 }: SendOptions): void {
    const { encoding, parts } = latin1 ? { encoding: 'latin1' as const, parts: [text] } : segment(text, long)
    const reference = this.reference++ & 0xff
    for (const place of order ?? parts.keys().map((i) => i + 1)) {
      const piece = parts[place - 1]
      if (piece === undefined) continue
      const concat = parts.length > 1 ? { reference, part: place, parts: parts.length } : null
      this.enqueueSms({ source: number, destination: to, text: piece, encoding, concat, long })
    }
    this.recordItem({ number, direction: 'outbound', peer: to, text, at: Date.now(), carrierId: null })
  }

  change(number: string, behaviour: Behaviour): void {
    this.handsets.change(number, behaviour)
    this.append(['behaviour', number, behaviour])
  }

  /** Makes all changes so far survive a kill. */
  flush(): void {
    this.journal.flush()
    if (
      this.journal.length > compactAfterLines &&
      this.journal.length > 4 * (this.handsets.items + this.deliveryQueue.size + this.platformNumbers.size)
    ) {
      this.journal.rewrite(this.entries())
    }
  }

  close(): void {
    this.deliveryQueue.stop()
    this.journal.close()
  }

  /** Returns a message to the platform number it addresses; a part stays a part. */
  private returnToPlatform({ source, destination, text, concat }: Submission): void {
    const long = concat && concat.reference > 0xff ? 'udh16' : 'udh8'
    const { encoding, parts } = segment(text, concat ? 'payload' : long)
    const reference = concat?.reference ?? this.reference++ & 0xff
    for (const [i, piece] of parts.entries()) {
      const own = parts.length > 1 ? { reference, part: i + 1, parts: parts.length } : null
      this.enqueueSms({ source, destination, text: piece, encoding, concat: concat ?? own, long })
    }
  }

  private enqueueSms(text: Omit<HandsetSms, 'kind' | 'id' | 'due'>): void {
    this.enqueue({ kind: 'text', id: this.nextId(), due: Date.now(), ...text })
  }

  private receiptDelay(): number {
    const [least, most] = this.settings.receiptMs
    return least + Math.random() * (most - least)
  }

  private reassemble(piece: MessagePart): string | null {
    this.append(['piece', piece])
    return this.reassembly.add(piece)
  }

  private recordItem(item: Item): void {
    this.handsets.add(item)
    this.append(['item', item])
  }

  private enqueue(delivery: Delivery): void {
    this.append(['delivery', delivery])
    this.deliveryQueue.add(delivery)
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
        if (entry[2]) this.platformNumbers.add(entry[1])
        else this.platformNumbers.delete(entry[1])
        break
      case 'piece':
        this.reassembly.add(entry[1])
        break
      case 'delivery':
        this.deliveryQueue.add(entry[1])
        break
      case 'delivered':
        this.deliveryQueue.remove(entry[1])
        break
    }
  }

  private *entries(): Generator<Entry> {
    yield* this.handsets.entries()
    for (const number of this.platformNumbers) yield ['line', number, true]
    yield* this.reassembly.entries()
    for (const delivery of this.deliveryQueue.entries) yield ['delivery', delivery]
  }
}
