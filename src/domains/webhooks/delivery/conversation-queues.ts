import { headGraceMs } from '../limits.ts'
import type { Delivery } from './attempt.ts'

/**
 * Queues of one webhook in memory. Deliveries of one conversation go one after the other; deliveries without one have
 * a queue each. A queue whose attempt is under way is not ready, and keeps its first delivery until the attempt ends.
 */
export class ConversationQueues {
  readonly #queues = new Map<string, Delivery[]>()
  readonly #ready: string[] = []
  /**
   * Queues that wait for the retry of their head: until when (Unix milliseconds, platform clock), and since when the
   * head is overdue (monotonic clock).
   */
  readonly #held = new Map<string, { event: string; until: number; overdueSince: number | null }>()

  get hasReady(): boolean {
    return this.#ready.length > 0
  }

  push(delivery: Delivery): void {
    const queue = delivery.conversation ?? delivery.event
    const waiting = this.#queues.get(queue)
    if (waiting) {
      waiting.push(delivery)
      return
    }
    this.#queues.set(queue, [delivery])
    this.#ready.push(queue)
  }

  /** Returns the next queue, with its first delivery. */
  next(): { queue: string; delivery: Delivery } | null {
    for (let line = this.#ready.shift(); line !== undefined; line = this.#ready.shift()) {
      const [delivery] = this.#queues.get(line) ?? []
      if (delivery) return { queue: line, delivery }
    }
    return null
  }

  /** Removes the first delivery, which has ended. The queue goes behind the others. */
  advance(queue: string): void {
    const waiting = this.#queues.get(queue)
    waiting?.shift()
    if (waiting?.length) this.#ready.push(queue)
    else this.#queues.delete(queue)
  }

  /** Removes a queue with all its deliveries. */
  remove(queue: string): Delivery[] {
    const waiting = this.#queues.get(queue) ?? []
    this.#queues.delete(queue)
    return waiting
  }

  /** Removes all deliveries that have not started. */
  removeReady(): Delivery[] {
    return this.#ready.splice(0).flatMap((line) => this.remove(line))
  }

  /** Removes what waits behind the first delivery of a queue. */
  removeBehind(queue: string): Delivery[] {
    return this.#queues.get(queue)?.splice(1) ?? []
  }

  /**
   * Holds a queue until the retry of its head.
   * @returns the deliveries removed from behind the head
   */
  hold(queue: string, event: string, until: number): Delivery[] {
    this.#held.set(queue, { event, until, overdueSince: null })
    return this.removeBehind(queue)
  }

  /** Releases one held queue, or all. */
  release(queue: string | null): void {
    if (queue === null) this.#held.clear()
    else this.#held.delete(queue)
  }

  /**
   * Returns the head that a delivery must wait for, or null.
   * @param now Unix milliseconds, platform clock @param elapsed milliseconds, monotonic clock
   */
  blockingHead({ conversation, event }: Delivery, now: number, elapsed = performance.now()): string | null {
    const head = conversation === null ? undefined : this.#held.get(conversation)
    if (conversation === null || !head) return null
    if (head.event < event) {
      if (now < head.until) return head.event
      // The database decides when the head is due, and may load newer deliveries before it. The platform's clock can
      // jump over the grace period.
      head.overdueSince ??= elapsed
      if (elapsed - head.overdueSince < headGraceMs) return head.event
    }
    // The head itself is here, or never comes.
    this.#held.delete(conversation)
    return null
  }
}
