import type { Slot } from '../../../platform/lib/concurrency-limiter.ts'
import { type AttemptResult, type Delivery, type Endpoint, formatAttempt } from './attempt.ts'
import { afterHeadSeconds, type DeliveryChange, type EndpointHealth } from './attempt-store.ts'
import { type BreakerState, CircuitBreaker } from './circuit-breaker.ts'
import { ConversationQueues } from './conversation-queues.ts'
import type { BlockedHead, EndpointKey } from './endpoint-lease-store.ts'
import { longestHoldSeconds, maxHoldingFailures, nextDelay } from './retry-schedule.ts'
import type { WorkerContext, WorkerReport } from './worker-context.ts'

/**
 * Deliveries in memory per concurrent call: enough to stay busy while the next ones load and the last results are
 * stored. Measured: 2 gave a third of the throughput of 16.
 */
const loadedPerCall = 16

/**
 * Delivers for one webhook in the process that holds its lease. Conversations run side by side, as many as the
 * receiver has proved to handle.
 */
export class EndpointWorker {
  endpoint: Endpoint
  /** Whether the database may have more due deliveries than were loaded. */
  mayHaveMore = true
  readonly #context: WorkerContext<EndpointWorker>
  readonly #controller = new AbortController()
  readonly #breaker: CircuitBreaker
  readonly #queues = new ConversationQueues()
  /** Events loaded whose result is not stored yet. */
  readonly #loaded = new Set<string>()
  #active = 0
  #isWaiting = false
  #isProbing = false
  /**
   * Recoveries being stored. Until deliveries are due in their original order again, none are loaded: they would
   * overtake.
   */
  #recovering = 0
  #epoch = 0
  /** Monotonic clock. */
  #lastBusy = performance.now()
  #isClosing = false
  #isRevoked = false

  constructor(
    endpoint: Endpoint,
    state: BreakerState,
    heads: readonly BlockedHead[],
    ground: WorkerContext<EndpointWorker>,
  ) {
    this.endpoint = endpoint
    this.#context = ground
    this.#breaker = new CircuitBreaker(state)
    for (const { conversation, event, seconds } of heads)
      if (seconds <= longestHoldSeconds)
        this.#queues.hold(conversation, event, ground.now() + Math.max(0, seconds) * 1000)
  }

  get key(): EndpointKey {
    return { account: this.endpoint.account, webhook: this.endpoint.id }
  }

  get isDown(): boolean {
    return this.#breaker.isDown
  }

  get isQuick(): boolean {
    return this.#breaker.isQuick
  }

  get isRevoked(): boolean {
    return this.#isRevoked
  }

  get loaded(): readonly string[] {
    return [...this.#loaded]
  }

  /** Changes whenever deliveries loaded earlier are no longer the next ones. */
  get epoch(): number {
    return this.#epoch
  }

  /** Deliveries in memory. */
  get size(): number {
    return this.#loaded.size
  }

  /** How many more deliveries the worker accepts. */
  get capacity(): number {
    if (this.#isRevoked || this.#isClosing || this.isDown) return 0
    if (this.#recovering > 0 || this.#breaker.isPaused(this.#context.now())) return 0
    return Math.max(0, this.#maxLoaded - this.#loaded.size)
  }

  get #maxLoaded(): number {
    return loadedPerCall * this.#breaker.concurrency
  }

  /** Milliseconds since the worker last had work; 0 while it has. */
  get idleMs(): number {
    return this.#loaded.size > 0 || this.#isProbing ? 0 : performance.now() - this.#lastBusy
  }

  /**
   * Adds due deliveries, oldest first.
   * @param epoch of the worker when the deliveries were requested
   */
  enqueue(deliveries: readonly Delivery[], epoch: number): void {
    if (epoch !== this.#epoch) {
      this.mayHaveMore = true
      this.#context.requestWork(this)
      return
    }
    const deferred: DeliveryChange[] = []
    for (const delivery of deliveries) {
      if (this.#loaded.has(delivery.event)) continue
      this.#loaded.add(delivery.event)
      const head = this.#queues.blockingHead(delivery, this.#context.now())
      if (head !== null) deferred.push({ ...this.#deferral(delivery, 0), head })
      else this.#queues.push(delivery)
    }
    if (deferred.length > 0) void this.#write(deferred)
    this.run()
  }

  /** Starts attempts while slots allow. */
  run(): void {
    while (this.#mayStart) {
      const slot = this.#slot
      if (!this.#context.limiter.tryAcquire(slot)) {
        this.#waitForSlot(slot)
        return
      }
      this.#start(slot)
    }
  }

  get #mayStart(): boolean {
    if (!this.#queues.hasReady || this.#isRevoked || this.#isClosing) return false
    return this.#active < this.#breaker.concurrency && this.#context.isLeaseHeld()
  }

  get #slot(): Slot {
    const { account, host } = this.endpoint
    return { account, host, isQuick: this.isQuick }
  }

  #start(slot: Slot): void {
    this.#active++
    void this.#processNext().finally(() => {
      this.#active--
      // Waiters of other webhooks go before our next delivery.
      this.#context.limiter.release(slot)
      this.#lastBusy = performance.now()
      this.run()
      this.#requestMore()
    })
  }

  /** Reports that deliveries may be due which were not loaded. */
  notify(): void {
    this.mayHaveMore = true
    this.#requestMore()
  }

  /** Requests more once half of the worker's capacity is free: few large reads cost less than one per event. */
  #requestMore(): void {
    if (this.mayHaveMore && this.capacity * 2 >= this.#maxLoaded) this.#context.requestWork(this)
  }

  /** Probes a receiver that is down. */
  async probe(delivery: Delivery): Promise<void> {
    if (this.#isProbing || this.#isRevoked || !this.isDown || this.#loaded.has(delivery.event)) return
    if (!this.#context.isLeaseHeld()) return
    this.#isProbing = true
    const { limiter } = this.#context
    const slot = { ...this.#slot, isQuick: false }
    if (!limiter.tryAcquire(slot)) await new Promise<void>((go) => limiter.waitFor(slot, go))
    this.#loaded.add(delivery.event)
    try {
      if (this.#isClosing || (await this.#process(delivery)) === 'forgotten') this.#loaded.delete(delivery.event)
    } finally {
      limiter.release(slot)
      this.#isProbing = false
      this.#lastBusy = performance.now()
      this.mayHaveMore = true
      this.#context.requestWork(this)
    }
  }

  /** Starts nothing more. Attempts under way end, and their results are stored. */
  close(): void {
    this.#isClosing = true
    this.#unload(this.#queues.removeReady())
  }

  /** Stops at once, because the lease is lost or time is up. Nothing more is stored. */
  revoke(): void {
    this.#isRevoked = true
    this.#controller.abort()
    this.#unload(this.#queues.removeReady())
  }

  #waitForSlot(slot: Slot): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#context.limiter.waitFor(slot, () => {
      this.#isWaiting = false
      if (this.#mayStart) this.#start(slot)
      else this.#context.limiter.release(slot)
      this.run()
    })
  }

  async #processNext(): Promise<void> {
    const next = this.#queues.next()
    if (!next) return
    const { queue, delivery } = next
    const isOff = this.isDown || this.#breaker.isPaused(this.#context.now())
    if (!isOff && (await this.#process(delivery)) === 'tried') this.#queues.advance(queue)
    else this.#unload(this.#queues.remove(queue))
  }

  /**
   * Attempts a delivery. Before a retry, the conversation's oldest failed delivery is attempted out of turn. If the
   * receiver takes it, pending deliveries are reloaded in their original order.
   */
  async #process(delivery: Delivery): Promise<'tried' | 'forgotten'> {
    const { conversation, event, tries } = delivery
    if (conversation !== null && (tries > 0 || this.isDown)) {
      // A delivery loaded before may have ended during the query.
      const before = new Set(this.#loaded)
      const oldestFailed = await this.#context.findOldestFailed(this, conversation, event)
      if (oldestFailed && !before.has(oldestFailed.event) && !this.#loaded.has(oldestFailed.event)) {
        this.#loaded.add(oldestFailed.event)
        if (await this.#attempt(oldestFailed, true)) return 'forgotten'
      }
    }
    if (this.#isRevoked) return 'forgotten'
    await this.#attempt(delivery, false)
    return 'tried'
  }

  /** @returns whether the receiver accepted the delivery */
  async #attempt(delivery: Delivery, isOldestFailed: boolean): Promise<boolean> {
    const outcome = await this.#context.attempt(this.endpoint, delivery, this.#controller.signal)
    if (this.#isRevoked) return false
    const attempt = formatAttempt(outcome)
    if (outcome.what === 'delivered') this.#succeeded(delivery, attempt, isOldestFailed, outcome)
    else this.#failed(delivery, attempt, isOldestFailed, outcome)
    return outcome.what === 'delivered'
  }

  #succeeded(delivery: Delivery, attempt: string, isOldestFailed: boolean, { ms }: AttemptResult): void {
    const { wasDown, isNews } = this.#breaker.recordSuccess(ms)
    const { conversation, event, tries } = delivery
    if (wasDown || conversation !== null) this.#queues.release(wasDown ? null : conversation)
    const isBack = (isOldestFailed || tries > 0) && conversation !== null
    const change: DeliveryChange = { ...this.key, event, what: 'delivered', seconds: null, attempt }
    const recovered = wasDown ? { conversation: null } : isBack ? { conversation } : null
    // Only a part of the earlier due deliveries was loaded, and newer ones may be among it.
    if (isBack && !isOldestFailed) this.#unload(this.#queues.removeBehind(conversation))
    void this.#write([change], { health: isNews ? this.#health(true, null) : null, recovered })
  }

  #failed(delivery: Delivery, attempt: string, isOldestFailed: boolean, outcome: AttemptResult): void {
    const now = this.#context.now()
    const { hold, disabled } = this.#breaker.recordFailure(outcome, now)
    const { conversation, event, tries } = delivery
    const failed = tries + 1
    const seconds = isOldestFailed ? null : nextDelay(failed, outcome.wait)
    const what = isOldestFailed ? 'called' : seconds === null ? 'failed' : 'again'
    const changes: DeliveryChange[] = [{ ...this.key, event, what, seconds, attempt }]
    if (conversation !== null && seconds !== null && failed < maxHoldingFailures && seconds <= longestHoldSeconds)
      for (const held of this.#queues.hold(conversation, event, now + seconds * 1000))
        changes.push(this.#deferral(held, seconds))
    if (this.isDown || this.#breaker.isPaused(now)) this.#unload(this.#queues.removeReady())
    void this.#write(changes, { health: this.#health(false, hold), disabled })
  }

  #health(succeeded: boolean, hold: number | null): EndpointHealth {
    const { failures, isDown } = this.#breaker
    return {
      ...this.key,
      ...{ url: this.endpoint.url, sealedHeaders: this.endpoint.sealedHeaders },
      failures,
      succeeded,
      hold,
      isDown,
    }
  }

  #deferral({ event }: Delivery, seconds: number): DeliveryChange {
    return { ...this.key, event, what: 'parked', seconds: seconds + afterHeadSeconds, attempt: null }
  }

  /** Drops deliveries from memory, to be loaded again later. */
  #unload(deliveries: readonly Delivery[]): void {
    for (const { event } of deliveries) this.#loaded.delete(event)
    this.mayHaveMore = true
    this.#context.requestWork(this)
  }

  async #write(changes: readonly DeliveryChange[], extra: Partial<WorkerReport> = {}): Promise<void> {
    if (extra.recovered) {
      this.#recovering++
      this.#epoch++
    }
    await this.#context.write(this, { changes, health: null, recovered: null, disabled: null, ...extra })
    for (const { event } of changes) this.#loaded.delete(event)
    this.#lastBusy = performance.now()
    if (!extra.recovered) return this.#requestMore()
    this.#recovering--
    this.#epoch++
    this.mayHaveMore = true
    this.#context.requestWork(this)
  }
}
