/** The furthest time that is promised, in milliseconds: a sender's queue may be gone by then. */
const maxPromiseMs = 60_000

/** Milliseconds by which a part may be sent early, as in the pace of a connection. */
const senderToleranceMs = 50

/** Stored senders. Those whose next turn has passed are removed first. */
const maxStoredSenders = 10_000

type SenderSchedule = { next: number; promised: number }

/**
 * Limits the rate of each sender, evenly paced. A part that comes too early gets its own retry time, so that a hundred
 * waiting parts return one by one. Times are milliseconds of a monotonic clock.
 */
export class SenderLimiter {
  private readonly interval: number
  private readonly schedules = new Map<string, SenderSchedule>()

  /** @param rate parts per second of each sender; undefined: no limit */
  constructor(rate: number | undefined) {
    this.interval = rate === undefined ? 0 : 1_000 / rate
  }

  get size(): number {
    return this.schedules.size
  }

  /** Milliseconds until the next attempt; 0 when a part may be sent now. */
  waitMs(sender: string, now: number): number {
    const turns = this.schedules.get(sender)
    if (!turns || turns.next - now <= senderToleranceMs) return 0
    const promised = Math.max(turns.promised, turns.next)
    turns.promised = Math.min(promised + this.interval, now + maxPromiseMs)
    return Math.min(promised, now + maxPromiseMs) - now
  }

  consume(sender: string, parts: number, now: number): void {
    if (this.interval === 0) return
    const turns = this.schedules.get(sender)
    const next = Math.max(now, turns?.next ?? now) + parts * this.interval
    if (turns) turns.next = next
    else this.schedules.set(sender, { next, promised: next })
    if (this.schedules.size > maxStoredSenders) this.evict(now)
  }

  private evict(now: number): void {
    for (const [sender, { next }] of this.schedules) if (next <= now) this.schedules.delete(sender)
    const [oldest] = this.schedules.keys()
    if (this.schedules.size > maxStoredSenders && oldest !== undefined) this.schedules.delete(oldest)
  }
}
