import type { Link } from '../src/connectors/smpp/codec/link.ts'
import type { Delivery } from './delivery.ts'
import { deliverOf } from './delivery.ts'

/** Waiting deliveries are kept by 50 ms of their due time. */
const grain = 50

/** What a refusal or a broken link puts off: 0.5 s doubling to 30 s. */
const backOff = (tries: number): number => Math.min(30_000, 500 * 2 ** tries)

/** Deliveries to the platform: each waits for its time, then for a bind with room, and again after a refusal, until the
 *  platform answers with status 0. */
export class Dispatch {
  private readonly window: number
  private readonly kept: (id: number) => void
  private readonly pending = new Map<number, Delivery>()
  private readonly tries = new Map<number, number>()
  private readonly later = new Map<number, Delivery[]>()
  private ready: Delivery[] = []
  private head = 0
  private timer: NodeJS.Timeout | null = null
  private readonly binds: Link[] = []
  private turn = 0

  /** `kept` hears of each delivery that the platform took. */
  constructor(window: number, kept: (id: number) => void) {
    this.window = window
    this.kept = kept
  }

  get size(): number {
    return this.pending.size
  }

  get entries(): Iterable<Delivery> {
    return this.pending.values()
  }

  /** A bind that takes deliveries. */
  join(link: Link): void {
    this.binds.push(link)
    this.pump()
  }

  leave(link: Link): void {
    const at = this.binds.indexOf(link)
    if (at >= 0) this.binds.splice(at, 1)
  }

  add(delivery: Delivery): void {
    this.pending.set(delivery.id, delivery)
    this.schedule(delivery, delivery.due)
  }

  /** Takes back what was loaded from the journal and had been delivered. */
  forget(id: number): void {
    this.pending.delete(id)
  }

  stop(): void {
    if (this.timer) clearInterval(this.timer)
  }

  private schedule(delivery: Delivery, due: number): void {
    const slot = Math.ceil(due / grain)
    const slots = this.later.get(slot)
    if (slots) slots.push(delivery)
    else this.later.set(slot, [delivery])
    this.timer ??= setInterval(() => this.ripen(), grain)
  }

  private ripen(): void {
    const now = Math.floor(Date.now() / grain)
    for (const [slot, deliveries] of this.later) {
      if (slot > now) continue
      this.later.delete(slot)
      for (const delivery of deliveries) this.ready.push(delivery)
    }
    if (this.later.size === 0 && this.timer) {
      clearInterval(this.timer)
      this.timer = null
    }
    this.pump()
  }

  private pump(): void {
    for (let link = this.free(); link && this.head < this.ready.length; link = this.free()) {
      const delivery = this.ready[this.head++]
      if (delivery && this.pending.has(delivery.id)) void this.deliver(link, delivery)
    }
    if (this.head > 1_000 && this.head * 2 > this.ready.length) {
      this.ready = this.ready.slice(this.head)
      this.head = 0
    }
  }

  private free(): Link | undefined {
    for (let i = 0; i < this.binds.length; i++) {
      const link = this.binds[this.turn++ % this.binds.length]
      if (link && link.unanswered < this.window) return link
    }
    return undefined
  }

  private async deliver(link: Link, delivery: Delivery): Promise<void> {
    const answer = await link.request((sequence) => deliverOf(delivery, sequence))
    if (answer.command === 'deliver_sm_resp' && answer.status === 0) {
      this.pending.delete(delivery.id)
      this.tries.delete(delivery.id)
      this.kept(delivery.id)
    } else {
      const tries = this.tries.get(delivery.id) ?? 0
      this.tries.set(delivery.id, tries + 1)
      this.schedule(delivery, Date.now() + backOff(tries))
    }
    this.pump()
  }
}
