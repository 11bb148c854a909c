import type { RawData, WebSocket } from 'ws'
import type { Contents } from '../../domains/inbox/narrowing/ops.ts'
import { idAt, parse, print, uuid } from '../../platform/lib/id.ts'
import type { LiveServerFrame, LiveTopic } from './contract.ts'
import { EventOutbox } from './event-outbox.ts'
import { frameText, parsePageFrame } from './frames.ts'
import {
  lookback,
  maxBufferedBytes,
  maxPendingChanges,
  maxQueuedEvents,
  maxResumedEvents,
  maxTopics,
  maxUnreadBytes,
  resumePageSize,
} from './limits.ts'
import { type FeedEvent, topicsOf } from './topics.ts'

/** The member whose page a socket is. Ids have no prefix. */
export type LiveMember = { readonly user: string; readonly person: string }

/** The topics that a page may follow, as they were checked. */
export type Subscription = {
  readonly account: string
  readonly topics: ReadonlySet<LiveTopic>
  /** Null for a key, and for an operator who is no member. */
  readonly member: LiveMember | null
  /** True if the page may see only conversations of its member, and those without an assignee. */
  readonly isNarrowed: boolean
  /** Contents that the page may see of deliveries, which are of all conversations. */
  readonly contents: Contents
}

/** Reads events in order, each once. */
export type ResumeReader = { next(limit: number): Promise<readonly FeedEvent[]> }

export type LiveSessionDeps = {
  readonly id: string
  readonly socket: WebSocket
  readonly build: string
  /** The page has the events up to this id. */
  readonly after: string
  /** The page had a line before. */
  readonly isResumed: boolean
  readonly now: () => string
  /** Checks what a page asks for; refused topics are reported by `send`. Null if nothing is left. */
  readonly subscribe: (account: string, topics: readonly string[], session: LiveSession) => Promise<Subscription | null>
  /** Watches the account of a subscription. @returns the function that ends the watch */
  readonly watch: (account: string, session: LiveSession) => Promise<() => void>
  /** Reads what the page missed. Null: its last event is older than the log. */
  readonly resume: (account: string, after: string) => ResumeReader | null
  /** Returns the events that a narrowed page may see. */
  readonly narrow: (subscription: Subscription, events: readonly FeedEvent[]) => Promise<readonly FeedEvent[]>
  readonly onPresence: (session: LiveSession, conversation: string, state: 'viewing' | 'typing' | null) => void
  /** The page is visible, or was until now. */
  readonly onVisible: (session: LiveSession) => void
  readonly onError: (error: unknown) => void
}

/** The socket of one page. */
export class LiveSession {
  readonly id: string
  readonly #deps: LiveSessionDeps
  readonly #outbox: EventOutbox
  #subscription: Subscription | null = null
  #endWatch: (() => void) | null = null
  /** Changes of the subscription run one after the other. */
  #changing = Promise.resolve()
  #pendingChanges = 0
  /** Events of a narrowed page that are not checked yet. */
  #toNarrow: FeedEvent[] = []
  #isNarrowing = false
  #isAlive = true
  #isVisible = false
  /** The topics that the page requested last. */
  #requested: { readonly account: string; readonly topics: readonly string[] } | null = null
  #isOver = false

  constructor(deps: LiveSessionDeps) {
    const { socket } = deps
    this.id = deps.id
    this.#deps = deps
    this.#outbox = new EventOutbox({
      socket,
      after: deps.after,
      isOpen: () => this.#isOpen(),
      send: (frame) => this.send(frame),
    })
    socket.on('message', (data, isBinary) => this.#onMessage(data, isBinary))
    socket.on('pong', () => {
      this.#isAlive = true
      this.#outbox.proceed()
    })
    socket.on('close', () => {
      this.#isOver = true
      this.#unwatch()
      this.#outbox.proceed()
    })
    // For an invalid or overlong frame, ws closes the connection itself.
    socket.on('error', () => {})
    this.send({ type: 'hello', after: print('EVT', deps.after), build: deps.build, now: deps.now() })
  }

  /** Sends an event of the log when the page follows it and keeps up. */
  receive(event: FeedEvent) {
    if (!this.#subscription?.isNarrowed) return this.#accept(event)
    this.#toNarrow.push(event)
    if (this.#toNarrow.length > maxQueuedEvents) {
      this.#toNarrow = []
      this.#outbox.resync('too_far_behind', event.id)
    }
    if (this.#isNarrowing) return
    this.#isNarrowing = true
    this.#narrowNext()
      .catch((error: unknown) => this.#fail(error, 'reading failed'))
      .finally(() => {
        this.#isNarrowing = false
      })
  }

  /** Sends a change without an event, if the page follows one of its topics. */
  notify(name: string, topics: readonly LiveTopic[], id: string, data: object): void {
    const { socket, now } = this.#deps
    if (!this.#isOpen() || !this.#follows(topics) || socket.bufferedAmount > maxBufferedBytes) return
    this.send({ type: 'event', id, name, at: now(), topics, data: { ...data }, logged: false })
  }

  send(frame: LiveServerFrame) {
    const { socket } = this.#deps
    if (!this.#isOpen()) return
    // Replies to a page that asks and does not read would fill the memory. Events wait long before, in the outbox.
    if (socket.bufferedAmount > maxUnreadBytes) return socket.terminate()
    socket.send(frameText(frame))
  }

  head(): void {
    this.send({ type: 'head', id: print('EVT', this.#outbox.last), now: this.#deps.now() })
  }

  /** Pings the page; closes the connection if the previous ping was not answered. */
  ping() {
    const { socket } = this.#deps
    if (!this.#isAlive) return socket.terminate()
    this.#isAlive = false
    socket.ping()
  }

  /** Sends the last frame, and closes. */
  bye(code: 4401 | 4403 | 1012, reason: string): void {
    this.send({ type: 'bye', code, reason })
    this.close(code, reason)
  }

  close(code: number, reason: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#deps.socket.close(code, reason)
  }

  subscription(): Subscription | null {
    return this.#subscription
  }

  member(): LiveMember | null {
    return this.#subscription?.member ?? null
  }

  /** Checks the topics of the page again: what it may follow has changed. */
  recheck(): void {
    // A check that waits sees the change, too.
    if (this.#requested && this.#pendingChanges < 2)
      this.#enqueueChange(this.#requested.account, this.#requested.topics)
  }

  #isOpen(): boolean {
    const { socket } = this.#deps
    return !this.#isOver && socket.readyState === socket.OPEN
  }

  #fail(error: unknown, reason: string): void {
    this.#deps.onError(error)
    this.close(1011, reason)
  }

  #follows(topics: readonly LiveTopic[]): boolean {
    return topics.some((topic) => this.#subscription?.topics.has(topic))
  }

  #accept(event: FeedEvent): void {
    if (this.#isOpen() && this.#follows(topicsOf(event))) this.#outbox.add(event)
  }

  /** Hands over the events that a narrowed page may see, in their order. */
  async #narrowNext(): Promise<void> {
    while (this.#toNarrow.length > 0 && this.#subscription) {
      const [events, subscription] = [this.#toNarrow, this.#subscription]
      this.#toNarrow = []
      for (const event of await this.#deps.narrow(subscription, events))
        if (this.#subscription === subscription) this.#accept(event)
      // An assignment may have ended, or begun, the right to follow a conversation.
      if (events.some(({ name }) => name === 'conversation.assigned')) this.recheck()
    }
  }

  /** Sends the events after an id that the page missed. @param before the topics that it followed until now */
  async #catchUp(next: Subscription, after: string, before: Subscription['topics'] | null): Promise<void> {
    const isMissed = (event: FeedEvent) => !before || !topicsOf(event).some((topic) => before.has(topic))
    const isEarlier = before !== null || !this.#deps.isResumed
    const outbox = this.#outbox
    const reader = this.#deps.resume(next.account, after)
    if (reader === null) return outbox.resync('expired', uuid())
    for (let count = 0; this.#isOpen(); ) {
      const events = await reader.next(resumePageSize)
      count += events.length
      if (count > maxResumedEvents) return outbox.resync('too_far_behind', uuid())
      for (const event of next.isNarrowed ? await this.#deps.narrow(next, events) : events) {
        if (!this.#follows(topicsOf(event)) || !isMissed(event)) continue
        await outbox.whenRoom()
        if (!this.#isOpen()) return
        outbox.resend(event, isEarlier)
      }
      if (events.length < resumePageSize) return
    }
  }

  #confirm({ account, topics }: Subscription): void {
    this.send({ type: 'subscribed', account: print('ACC', account), topics: [...topics] })
  }

  #unwatch(): void {
    this.#endWatch?.()
    this.#endWatch = null
    this.#toNarrow = []
    this.#outbox.clear()
  }

  async #begin(next: Subscription, isFirst: boolean): Promise<void> {
    await this.#outbox.holdDuring(async () => {
      this.#endWatch = await this.#deps.watch(next.account, this)
      this.#confirm(next)
      // Events of one account are no position in the log of another.
      if (isFirst) await this.#catchUp(next, this.#outbox.last, null)
    })
    if (!this.#isOpen()) this.#unwatch()
    this.#outbox.flush()
  }

  /** Follows further topics. The page may have read what belongs to them before the server knew that it follows them. */
  async #extend(before: Subscription, next: Subscription): Promise<void> {
    // Topics of one thing have no events of the log.
    const added = [...next.topics.difference(before.topics)].filter((topic) => !topic.includes(':'))
    if (added.length === 0) return this.#confirm(next)
    const floor = idAt(Date.now() - lookback.wholeMs)
    await this.#outbox.holdDuring(async () => {
      this.#confirm(next)
      await this.#catchUp(next, floor, before.topics)
    })
    this.#outbox.flush()
  }

  async #change(account: string, topics: readonly string[]): Promise<void> {
    const before = this.#subscription
    const next = await this.#deps.subscribe(account, topics, this)
    if (!this.#isOpen()) return
    this.#subscription = next
    if (next && before?.account === next.account) return this.#extend(before, next)
    this.#unwatch()
    if (next) await this.#begin(next, before === null)
  }

  #enqueueChange(account: string, topics: readonly string[]): void {
    this.#pendingChanges++
    this.#changing = this.#changing
      .then(() => this.#change(account, topics))
      .catch((error: unknown) => this.#fail(error, 'subscribing failed'))
      .finally(() => {
        this.#pendingChanges--
      })
  }

  #onVisibility(isVisible: boolean): void {
    if (isVisible || this.#isVisible) this.#deps.onVisible(this)
    this.#isVisible = isVisible
  }

  #onMessage(data: RawData, isBinary: boolean) {
    const frame = isBinary ? null : parsePageFrame(String(data))
    if (frame === null) return this.close(1003, 'expected a frame of the subprotocol')
    if (frame.type === 'ping') return this.head()
    if (frame.type === 'ack') return this.#outbox.acknowledge(parse('EVT', frame.id) ?? '')
    if (frame.type === 'visibility') return this.#onVisibility(frame.visible)
    if (frame.type === 'presence') {
      const conversation = parse('CNV', frame.conversation)
      return conversation ? this.#deps.onPresence(this, conversation, frame.state) : undefined
    }
    const { account, topics } = frame
    if (topics.length > maxTopics || this.#pendingChanges >= maxPendingChanges)
      return this.close(1008, 'too many topics')
    this.#requested = { account, topics }
    this.#enqueueChange(account, topics)
  }
}
