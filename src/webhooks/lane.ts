import { attemptOf, type Delivery, type Hook, type Outcome } from './call.ts'
import { Condition, type Known } from './condition.ts'
import type { Place } from './gate.ts'
import type { Ground, Report } from './ground.ts'
import type { Head, LaneKey } from './lanes.ts'
import { Lines } from './lines.ts'
import { holds, longestHold, nextDelay } from './schedule.ts'
import type { Change, Health } from './settle.ts'

/** Deliveries in memory for each call that may be made at a time: enough to be busy while the next ones are read and the last
 *  ones are written down. Measured: 2 gave a third of what 16 gives. */
const loadedForEach = 16

/** One webhook's life in the process that has its lane on lease: lines go side by side, as many as its receiver has shown that
 *  it takes. */
export class Lane {
  hook: Hook
  /** Whether more may be due than was loaded. */
  mayHaveMore = true
  readonly #ground: Ground
  readonly #controller = new AbortController()
  readonly #condition: Condition
  readonly #lines = new Lines()
  /** Loaded, until their end is written down. */
  readonly #inHand = new Set<string>()
  #underWay = 0
  #isWaiting = false
  #isProbing = false
  /** Until what waits is due in its old order nothing more is read: it would overtake. Nor is what was being read then. */
  #recovering = 0
  #epoch = 0
  /** By the monotonic clock. */
  #lastBusy = performance.now()
  #isClosing = false
  #isLost = false

  constructor(hook: Hook, known: Known, heads: readonly Head[], ground: Ground) {
    this.hook = hook
    this.#ground = ground
    this.#condition = new Condition(known)
    for (const { conversation, event, seconds } of heads)
      if (seconds <= longestHold) this.#lines.hold(conversation, event, ground.now() + seconds * 1000)
  }

  get key(): LaneKey {
    return { account: this.hook.account, webhook: this.hook.id }
  }

  get isDown(): boolean {
    return this.#condition.isDown
  }

  get isQuick(): boolean {
    return this.#condition.isQuick
  }

  get isLost(): boolean {
    return this.#isLost
  }

  get inHand(): readonly string[] {
    return [...this.#inHand]
  }

  /** Changes whenever what was read before is no longer what comes next. */
  get epoch(): number {
    return this.#epoch
  }

  /** Deliveries in memory. */
  get size(): number {
    return this.#inHand.size
  }

  /** How many more it can be given. */
  get room(): number {
    if (this.#isLost || this.#isClosing || this.isDown) return 0
    if (this.#recovering > 0 || this.#condition.isResting(this.#ground.now())) return 0
    return Math.max(0, this.#appetite - this.#inHand.size)
  }

  get #appetite(): number {
    return loadedForEach * this.#condition.allowance
  }

  /** Milliseconds since it last had something to do; 0 while it has. */
  get idle(): number {
    return this.#inHand.size > 0 || this.#isProbing ? 0 : performance.now() - this.#lastBusy
  }

  /** Takes over what is due, oldest first. @param epoch of the lane when it was asked for */
  feed(deliveries: readonly Delivery[], epoch: number): void {
    if (epoch !== this.#epoch) {
      this.mayHaveMore = true
      this.#ground.hungry(this)
      return
    }
    const parked: Change[] = []
    for (const delivery of deliveries) {
      if (this.#inHand.has(delivery.event)) continue
      this.#inHand.add(delivery.event)
      const head = this.#lines.headOf(delivery, this.#ground.now())
      if (head !== null) parked.push({ ...this.#parked(delivery, 0), head })
      else this.#lines.push(delivery)
    }
    if (parked.length > 0) void this.#write(parked)
    this.run()
  }

  /** Starts what may start. */
  run(): void {
    while (this.#mayStart) {
      const place = this.#place
      if (!this.#ground.gate.enter(place)) {
        this.#wait(place)
        return
      }
      this.#start(place)
    }
  }

  get #mayStart(): boolean {
    if (!this.#lines.hasReady || this.#isLost || this.#isClosing) return false
    return this.#underWay < this.#condition.allowance && this.#ground.isHeld()
  }

  get #place(): Place {
    const { account, host } = this.hook
    return { account, host, isQuick: this.isQuick }
  }

  #start(place: Place): void {
    this.#underWay++
    void this.#next().finally(() => {
      this.#underWay--
      // Who waits goes first, and only then the next of ours.
      this.#ground.gate.leave(place)
      this.#lastBusy = performance.now()
      this.run()
      this.#ask()
    })
  }

  /** Something is due that was not loaded, perhaps. */
  hint(): void {
    this.mayHaveMore = true
    this.#ask()
  }

  /** For more, once half of what it may have in hand is done: few large reads cost less than one for each event. */
  #ask(): void {
    if (this.mayHaveMore && this.room * 2 >= this.#appetite) this.#ground.hungry(this)
  }

  /** Tries a receiver that is down. */
  async probe(delivery: Delivery): Promise<void> {
    if (this.#isProbing || this.#isLost || !this.isDown || this.#inHand.has(delivery.event)) return
    if (!this.#ground.isHeld()) return
    this.#isProbing = true
    const { gate } = this.#ground
    const place = { ...this.#place, isQuick: false }
    if (!gate.enter(place)) await new Promise<void>((go) => gate.wait(place, go))
    this.#inHand.add(delivery.event)
    try {
      if (this.#isClosing || (await this.#turn(delivery)) === 'forgotten') this.#inHand.delete(delivery.event)
    } finally {
      gate.leave(place)
      this.#isProbing = false
      this.#lastBusy = performance.now()
      this.mayHaveMore = true
      this.#ground.hungry(this)
    }
  }

  /** Begins nothing more; what is under way ends, and is written down. */
  close(): void {
    this.#isClosing = true
    this.#drop(this.#lines.removeReady())
  }

  /** The lease is another's, or there is no more time: nothing is written any more. */
  lose(): void {
    this.#isLost = true
    this.#controller.abort()
    this.#drop(this.#lines.removeReady())
  }

  #wait(place: Place): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#ground.gate.wait(place, () => {
      this.#isWaiting = false
      if (this.#mayStart) this.#start(place)
      else this.#ground.gate.leave(place)
      this.run()
    })
  }

  async #next(): Promise<void> {
    const taken = this.#lines.take()
    if (!taken) return
    const { line, delivery } = taken
    const isOff = this.isDown || this.#condition.isResting(this.#ground.now())
    if (!isOff && (await this.#turn(delivery)) === 'tried') this.#lines.advance(line)
    else this.#drop(this.#lines.remove(line))
  }

  /**
   * Tries a delivery. Before a retry the oldest of the conversation that failed is tried out of turn: if the receiver takes
   * calls again, what waits is read anew, in its old order.
   */
  async #turn(delivery: Delivery): Promise<'tried' | 'forgotten'> {
    const { conversation, event, tries } = delivery
    if (conversation !== null && (tries > 0 || this.isDown)) {
      // What was in hand before may have ended while the question was under way.
      const before = new Set(this.#inHand)
      const elder = await this.#ground.elder(this, conversation, event)
      if (elder && !before.has(elder.event) && !this.#inHand.has(elder.event)) {
        this.#inHand.add(elder.event)
        if (await this.#attempt(elder, true)) return 'forgotten'
      }
    }
    if (this.#isLost) return 'forgotten'
    await this.#attempt(delivery, false)
    return 'tried'
  }

  /** @returns whether the receiver took it */
  async #attempt(delivery: Delivery, isElder: boolean): Promise<boolean> {
    const outcome = await this.#ground.call(this.hook, delivery, this.#controller.signal)
    if (this.#isLost) return false
    const attempt = attemptOf(outcome)
    if (outcome.what === 'delivered') this.#succeeded(delivery, attempt, isElder, outcome)
    else this.#failed(delivery, attempt, isElder, outcome)
    return outcome.what === 'delivered'
  }

  #succeeded(delivery: Delivery, attempt: string, isElder: boolean, { ms }: Outcome): void {
    const { wasDown, isNews } = this.#condition.succeeded(ms)
    const { conversation, event, tries } = delivery
    if (wasDown || conversation !== null) this.#lines.free(wasDown ? null : conversation)
    const isBack = (isElder || tries > 0) && conversation !== null
    const change: Change = { ...this.key, event, what: 'delivered', seconds: null, attempt }
    const recovered = wasDown ? { conversation: null } : isBack ? { conversation } : null
    // Of what was due before only a part was read, and newer ones may be among it.
    if (isBack && !isElder) this.#drop(this.#lines.removeBehind(conversation))
    void this.#write([change], { health: isNews ? this.#health(true, null) : null, recovered })
  }

  #failed(delivery: Delivery, attempt: string, isElder: boolean, outcome: Outcome): void {
    const now = this.#ground.now()
    const { hold, disabled } = this.#condition.failed(outcome, now)
    const { conversation, event, tries } = delivery
    const failed = tries + 1
    const seconds = isElder ? null : nextDelay(failed, outcome.wait)
    const what = isElder ? 'called' : seconds === null ? 'failed' : 'again'
    const changes: Change[] = [{ ...this.key, event, what, seconds, attempt }]
    if (conversation !== null && seconds !== null && failed < holds && seconds <= longestHold)
      for (const one of this.#lines.hold(conversation, event, now + seconds * 1000))
        changes.push(this.#parked(one, seconds))
    if (this.isDown || this.#condition.isResting(now)) this.#drop(this.#lines.removeReady())
    void this.#write(changes, { health: this.#health(false, hold), disabled })
  }

  #health(succeeded: boolean, hold: number | null): Health {
    const { failures, isDown } = this.#condition
    return { ...this.key, url: this.hook.url, failures, succeeded, hold, isDown }
  }

  #parked({ event }: Delivery, seconds: number): Change {
    // A moment after the head, so that both are read in their order.
    return { ...this.key, event, what: 'parked', seconds: seconds + 0.01, attempt: null }
  }

  /** Leaves deliveries to be read anew. */
  #drop(deliveries: readonly Delivery[]): void {
    for (const { event } of deliveries) this.#inHand.delete(event)
    this.mayHaveMore = true
    this.#ground.hungry(this)
  }

  async #write(changes: readonly Change[], extra: Partial<Report> = {}): Promise<void> {
    if (extra.recovered) {
      this.#recovering++
      this.#epoch++
    }
    await this.#ground.write(this, { changes, health: null, recovered: null, disabled: null, ...extra })
    for (const { event } of changes) this.#inHand.delete(event)
    this.#lastBusy = performance.now()
    if (!extra.recovered) return this.#ask()
    this.#recovering--
    this.#epoch++
    this.mayHaveMore = true
    this.#ground.hungry(this)
  }
}
