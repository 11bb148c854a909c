/** A promise beyond this is not made: a sender's queue may have gone by then. */
const furthestMs = 60_000

/** What may come early, as in the pace of a connection: 50 ms. */
const toleranceMs = 50

/** Senders remembered at a time, but for those whose turn has passed, which are forgotten first. */
const most = 10_000

type Turns = { next: number; promised: number }

/**
 * How fast parts of one sender may go, evenly paced. Who comes too early is told a time of its own, so that a hundred
 * waiting parts come back one after the other and not all at once. Times are milliseconds of any steady clock.
 */
export class Senders {
  private readonly interval: number
  private readonly turns = new Map<string, Turns>()

  /** @param rate parts a second of each sender; without one there is no limit */
  constructor(rate: number | undefined) {
    this.interval = rate === undefined ? 0 : 1_000 / rate
  }

  get size(): number {
    return this.turns.size
  }

  /** Milliseconds after which to come back; 0 when a part may go now. */
  wait(sender: string, now: number): number {
    const turns = this.turns.get(sender)
    if (!turns || turns.next - now <= toleranceMs) return 0
    const promised = Math.max(turns.promised, turns.next)
    turns.promised = Math.min(promised + this.interval, now + furthestMs)
    return Math.min(promised, now + furthestMs) - now
  }

  take(sender: string, parts: number, now: number): void {
    if (this.interval === 0) return
    const turns = this.turns.get(sender)
    const next = Math.max(now, turns?.next ?? now) + parts * this.interval
    if (turns) turns.next = next
    else this.turns.set(sender, { next, promised: next })
    if (this.turns.size > most) this.forget(now)
  }

  private forget(now: number): void {
    for (const [sender, { next }] of this.turns) if (next <= now) this.turns.delete(sender)
    const [oldest] = this.turns.keys()
    if (this.turns.size > most && oldest !== undefined) this.turns.delete(oldest)
  }
}
