import type { WebSocket } from 'ws'
import { print, timeOf } from '../../platform/lib/id.ts'
import { type LiveServerFrame, maxUnansweredEvents } from './contract.ts'
import { eventFrame } from './frames.ts'
import { lookback, maxBufferedBytes, maxQueuedEvents } from './limits.ts'
import type { FeedEvent } from './topics.ts'

type Deps = {
  readonly socket: WebSocket
  /** The page has the events up to this id. */
  readonly after: string
  readonly isOpen: () => boolean
  readonly send: (frame: LiveServerFrame) => void
}

/** Sends events of the log to a page, at the pace at which the page acknowledges them. */
export class EventOutbox {
  readonly #deps: Deps
  /** The last event of the log that was sent, or that the page had. */
  #last: string
  readonly #unanswered: string[] = []
  #queue: FeedEvent[] = []
  /** True while missed events are sent: later ones wait in the queue. */
  #isHeld = false
  /** Missed events that were sent, oldest first. The feed may hand them over once more, while it looks back. */
  #resent = new Set<string>()
  /** Continuations of work that waits until the page has room. */
  #waiting: (() => void)[] = []

  constructor(deps: Deps) {
    this.#deps = deps
    this.#last = deps.after
  }

  get last(): string {
    return this.#last
  }

  /** Sends an event once the page has room. */
  add(event: FeedEvent): void {
    if (this.#resent.delete(event.id)) return
    this.#queue.push(event)
    if (this.#queue.length > maxQueuedEvents) this.resync('too_far_behind', event.id)
    this.flush()
  }

  /** Sends an event that the page missed, at once. @param isEarlier it happened before the page followed its topic */
  resend(event: FeedEvent, isEarlier: boolean): void {
    for (const id of this.#resent) {
      if (timeOf(id) > Date.now() - 2 * lookback.wholeMs) break
      this.#resent.delete(id)
    }
    this.#resent.add(event.id)
    this.#sendEvent(event, isEarlier)
  }

  /** Resolves once the page has room, or is gone. */
  async whenRoom(): Promise<void> {
    while (this.#deps.isOpen() && !this.#hasRoom())
      await new Promise<void>((resolve) => void this.#waiting.push(resolve))
  }

  /** Queues new events while the work sends those that the page missed. */
  async holdDuring(work: () => Promise<void>): Promise<void> {
    this.#isHeld = true
    try {
      await work()
      this.#queue = this.#queue.filter(({ id }) => !this.#resent.delete(id))
    } finally {
      this.#isHeld = false
    }
  }

  flush(): void {
    while (!this.#isHeld && this.#queue.length > 0 && this.#deps.isOpen() && this.#hasRoom()) {
      const event = this.#queue.shift()
      if (event) this.#sendEvent(event)
    }
  }

  /** Goes on after the page read something, or is gone. */
  proceed(): void {
    const continuations = this.#waiting
    this.#waiting = []
    for (const resume of continuations) resume()
    this.flush()
  }

  /** Counts an event, and those before it, as read. */
  acknowledge(id: string): void {
    const index = this.#unanswered.indexOf(id)
    if (index === -1) return
    this.#unanswered.splice(0, index + 1)
    this.proceed()
  }

  /** Gives up the events that wait: the page loads again what it shows. */
  resync(reason: 'too_far_behind' | 'expired', after: string): void {
    this.#queue = []
    this.#last = after
    this.#deps.send({ type: 'resync', reason, after: print('EVT', after) })
  }

  clear(): void {
    this.#queue = []
    this.#resent = new Set()
  }

  #hasRoom(): boolean {
    return this.#unanswered.length < maxUnansweredEvents && this.#deps.socket.bufferedAmount <= maxBufferedBytes
  }

  #sendEvent(event: FeedEvent, isEarlier = false): void {
    this.#deps.socket.send(eventFrame(event, isEarlier))
    this.#unanswered.push(event.id)
    if (event.id > this.#last) this.#last = event.id
  }
}
