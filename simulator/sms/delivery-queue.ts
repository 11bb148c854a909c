import type { SmppLink } from '@trunkline/smpp/smpp-link.ts'
import type { Delivery } from './delivery.ts'
import { deliverSmOf } from './delivery.ts'

/** Resolution of due times, in ms. */
const slotMs = 50

/** Delay after a refusal or a broken link: 0.5 s, doubling to 30 s. */
const backOff = (tries: number): number => Math.min(30_000, 500 * 2 ** tries)

/**
 * Queue of deliveries to the platform. Each waits for its due time and a bind with window capacity. A refused delivery
 * is retried until the platform responds with status 0. Some carriers give receipts up earlier.
 */
export class DeliveryQueue {
  private readonly window: number
  private readonly receiptTries: number
  private readonly onDone: (id: number) => void
  private readonly pending = new Map<number, Delivery>()
  private readonly tries = new Map<number, number>()
  private readonly scheduled = new Map<number, Delivery[]>()
  private ready: Delivery[] = []
  private head = 0
  private timer: NodeJS.Timeout | null = null
  private readonly binds: SmppLink[] = []
  private nextBind = 0

  /**
   * @param receiptTries refusals after which a receipt is given up; 0: never
   * @param onDone called with the id of each delivery that the platform accepted, or that was given up
   */
  constructor(window: number, receiptTries: number, onDone: (id: number) => void) {
    this.window = window
    this.receiptTries = receiptTries
    this.onDone = onDone
  }

  get size(): number {
    return this.pending.size
  }

  get entries(): Iterable<Delivery> {
    return this.pending.values()
  }

  /** Adds a bind that accepts deliveries. */
  addBind(link: SmppLink): void {
    this.binds.push(link)
    this.deliverReady()
  }

  removeBind(link: SmppLink): void {
    const at = this.binds.indexOf(link)
    if (at >= 0) this.binds.splice(at, 1)
  }

  add(delivery: Delivery): void {
    this.pending.set(delivery.id, delivery)
    this.schedule(delivery, delivery.due)
  }

  /** Removes a delivery that the journal marks as completed. */
  remove(id: number): void {
    this.pending.delete(id)
  }

  stop(): void {
    if (this.timer) clearInterval(this.timer)
  }

  private schedule(delivery: Delivery, due: number): void {
    const slot = Math.ceil(due / slotMs)
    const slots = this.scheduled.get(slot)
    if (slots) slots.push(delivery)
    else this.scheduled.set(slot, [delivery])
    this.timer ??= setInterval(() => this.releaseDue(), slotMs)
  }

  private releaseDue(): void {
    const now = Math.floor(Date.now() / slotMs)
    for (const [slot, deliveries] of this.scheduled) {
      if (slot > now) continue
      this.scheduled.delete(slot)
      for (const delivery of deliveries) this.ready.push(delivery)
    }
    if (this.scheduled.size === 0 && this.timer) {
      clearInterval(this.timer)
      this.timer = null
    }
    this.deliverReady()
  }

  private deliverReady(): void {
    for (let link = this.free(); link && this.head < this.ready.length; link = this.free()) {
      const delivery = this.ready[this.head++]
      if (delivery && this.pending.has(delivery.id)) void this.deliver(link, delivery)
    }
    if (this.head > 1_000 && this.head * 2 > this.ready.length) {
      this.ready = this.ready.slice(this.head)
      this.head = 0
    }
  }

  private free(): SmppLink | undefined {
    for (let i = 0; i < this.binds.length; i++) {
      const link = this.binds[this.nextBind++ % this.binds.length]
      if (link && link.unanswered < this.window) return link
    }
    return undefined
  }

  private async deliver(link: SmppLink, delivery: Delivery): Promise<void> {
    const answer = await link.request((sequence) => deliverSmOf(delivery, sequence))
    const tries = this.tries.get(delivery.id) ?? 0
    const isGivenUp = delivery.kind === 'receipt' && tries + 1 === this.receiptTries
    if (isGivenUp || (answer.command === 'deliver_sm_resp' && answer.status === 0)) {
      this.pending.delete(delivery.id)
      this.tries.delete(delivery.id)
      this.onDone(delivery.id)
    } else {
      this.tries.set(delivery.id, tries + 1)
      this.schedule(delivery, Date.now() + backOff(tries))
    }
    this.deliverReady()
  }
}
