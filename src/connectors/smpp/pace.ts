/** The bucket holds what 50 ms allow: even pacing, no bursts of a second. */
const bucketSeconds = 0.05
/** Refusals of one moment are one sign: the pace is cut once a second at most. */
const cutMs = 1_000
/** The pace taken for current when little was sent, so that one refusal does not all but stop a quiet route. */
const firstCutFloor = 20
/** After the last refusal, how long until the limit is tried again whatever the pace. */
const forgetMs = 60_000

/**
 * How fast and how many at a time parts may go to a carrier: never above the settings, and after a refusal for congestion
 * half as fast and half as many, growing again by 5 % of the former pace and one place a second. Times are milliseconds of
 * any steady clock, rates are parts a second.
 */
export class Pace {
  private readonly limit: number
  private readonly maxWindow: number
  private rate: number
  private places: number
  private step = 0
  private tokens = 1
  private updated: number
  private cutAt = Number.NEGATIVE_INFINITY
  private second: number
  private taken = 0
  private takenBefore = 0

  constructor(tps: number | undefined, window: number, now: number) {
    this.limit = tps ?? Number.POSITIVE_INFINITY
    this.maxWindow = window
    this.rate = this.limit
    this.places = window
    this.updated = now
    this.second = now
  }

  /** How many may be unanswered at a time. */
  window(now: number): number {
    this.advance(now)
    return Math.floor(this.places)
  }

  /** How many may go at this moment as far as the rate is concerned. */
  available(now: number): number {
    this.advance(now)
    return this.rate === Number.POSITIVE_INFINITY ? this.rate : Math.floor(this.tokens)
  }

  /** Milliseconds until one more may go. */
  wait(now: number): number {
    this.advance(now)
    if (this.rate === Number.POSITIVE_INFINITY || this.tokens >= 1) return 0
    return Math.ceil(((1 - this.tokens) / this.rate) * 1_000)
  }

  take(now: number, parts = 1): void {
    this.advance(now)
    this.tokens -= parts
    this.taken += parts
  }

  /** The carrier refused one for congestion. */
  cut(now: number): void {
    this.advance(now)
    if (now - this.cutAt < cutMs) return
    this.cutAt = now
    const current = Math.min(this.rate, Math.max(this.taken, this.takenBefore, firstCutFloor))
    this.step = current * 0.05
    this.rate = current / 2
    this.tokens = 0
    this.places = Math.max(1, Math.floor(this.places / 2))
  }

  private advance(now: number): void {
    const seconds = (now - this.updated) / 1_000
    if (seconds <= 0) return
    this.updated = now
    if (now - this.second >= 1_000) {
      this.takenBefore = now - this.second < 2_000 ? this.taken : 0
      this.taken = 0
      this.second = now
    }
    this.places = Math.min(this.maxWindow, this.places + seconds)
    if (this.rate < this.limit) {
      this.rate = now - this.cutAt > forgetMs ? this.limit : Math.min(this.limit, this.rate + this.step * seconds)
    }
    if (this.rate === Number.POSITIVE_INFINITY) this.tokens = 1
    else this.tokens = Math.min(Math.max(1, this.rate * bucketSeconds), this.tokens + this.rate * seconds)
  }
}
