import type { Delivery } from './call.ts'

/** Milliseconds for which a head may be overdue. */
const grace = 30_000

/**
 * What waits in memory, by line: the deliveries of one conversation go one after the other, those without one go alone. A line
 * that is under way is no longer among the ready ones, and keeps its first delivery until that has ended.
 */
export class Lines {
  readonly #waiting = new Map<string, Delivery[]>()
  readonly #ready: string[] = []
  /** Lines that wait for the next try of their head, and until when: Unix milliseconds of the platform. */
  readonly #held = new Map<string, { event: string; until: number }>()

  get hasReady(): boolean {
    return this.#ready.length > 0
  }

  push(delivery: Delivery): void {
    const line = delivery.conversation ?? delivery.event
    const waiting = this.#waiting.get(line)
    if (waiting) {
      waiting.push(delivery)
      return
    }
    this.#waiting.set(line, [delivery])
    this.#ready.push(line)
  }

  /** The line whose turn it is, with its first delivery. */
  take(): { line: string; delivery: Delivery } | null {
    for (let line = this.#ready.shift(); line !== undefined; line = this.#ready.shift()) {
      const [delivery] = this.#waiting.get(line) ?? []
      if (delivery) return { line, delivery }
    }
    return null
  }

  /** The first delivery of a line has ended: it takes its place behind the other lines. */
  advance(line: string): void {
    const waiting = this.#waiting.get(line)
    waiting?.shift()
    if (waiting?.length) this.#ready.push(line)
    else this.#waiting.delete(line)
  }

  /** Takes a line away with all that waits in it. */
  remove(line: string): Delivery[] {
    const waiting = this.#waiting.get(line) ?? []
    this.#waiting.delete(line)
    return waiting
  }

  /** Takes away all that has not begun. */
  removeReady(): Delivery[] {
    return this.#ready.splice(0).flatMap((line) => this.remove(line))
  }

  /** Takes away what waits behind the first of a line. */
  removeBehind(line: string): Delivery[] {
    return this.#waiting.get(line)?.splice(1) ?? []
  }

  /** Holds a line until the next try of its head. @returns what waits behind it, taken away */
  hold(line: string, event: string, until: number): Delivery[] {
    this.#held.set(line, { event, until })
    return this.removeBehind(line)
  }

  /** Lets go of one line, or of all. */
  free(line: string | null): void {
    if (line === null) this.#held.clear()
    else this.#held.delete(line)
  }

  /** The head of its line that a delivery has to wait for; null when it need not. */
  headOf({ conversation, event }: Delivery, now: number): string | null {
    const head = conversation === null ? undefined : this.#held.get(conversation)
    if (conversation === null || !head) return null
    // The database, which says when the head is due, was told of it a little later.
    if (head.event < event && head.until + grace > now) return head.event
    // The head itself is here, or never comes.
    this.#held.delete(conversation)
    return null
  }
}
