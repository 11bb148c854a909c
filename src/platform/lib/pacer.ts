/** Seconds of the rate that the bucket holds: even pacing, no bursts of a second. */
const bucketSeconds = 0.05

/** Milliseconds within which refusals count as one: the rate is cut at most once a second. */
const slowDownIntervalMs = 1_000

/** Assumed rate per second when little was sent, so that one refusal does not nearly stop a quiet route. */
const minCurrentRate = 20

/** Milliseconds after the last refusal when the full limit is tried again. */
const rateRecoveryMs = 60_000

/**
 * Adaptive rate and window for the parts sent to a carrier, never above the settings. A refusal for congestion halves
 * both. They recover by 5 % of the former rate and by one window slot per second. Times are milliseconds of a monotonic
 * clock, rates are parts per second.
 */
export class Pacer {
  private readonly limit: number
  private readonly maxWindow: number
  private rate: number
  private currentWindow: number
  private recoveryStep = 0
  private tokens = 1
  private updatedAt: number
  private slowedAt = Number.NEGATIVE_INFINITY
  private secondStart: number
  private takenThisSecond = 0
  private takenLastSecond = 0

  constructor(tps: number | undefined, window: number, now: number) {
    this.limit = tps ?? Number.POSITIVE_INFINITY
    this.maxWindow = window
    this.rate = this.limit
    this.currentWindow = window
    this.updatedAt = now
    this.secondStart = now
  }

  /** Maximum number of unanswered parts. */
  window(now: number): number {
    this.advance(now)
    return Math.floor(this.currentWindow)
  }

  /** Number of parts that the rate allows now. */
  available(now: number): number {
    this.advance(now)
    return this.rate === Number.POSITIVE_INFINITY ? this.rate : Math.floor(this.tokens)
  }

  /** Milliseconds until the next part may be sent. */
  waitMs(now: number): number {
    this.advance(now)
    if (this.rate === Number.POSITIVE_INFINITY || this.tokens >= 1) return 0
    return Math.ceil(((1 - this.tokens) / this.rate) * 1_000)
  }

  consume(now: number, parts = 1): void {
    this.advance(now)
    this.tokens -= parts
    this.takenThisSecond += parts
  }

  /** The carrier refused a part for congestion. */
  slowDown(now: number): void {
    this.advance(now)
    if (now - this.slowedAt < slowDownIntervalMs) return
    this.slowedAt = now
    const current = Math.min(this.rate, Math.max(this.takenThisSecond, this.takenLastSecond, minCurrentRate))
    this.recoveryStep = current * 0.05
    this.rate = current / 2
    this.tokens = 0
    this.currentWindow = Math.max(1, Math.floor(this.currentWindow / 2))
  }

  private advance(now: number): void {
    const seconds = (now - this.updatedAt) / 1_000
    if (seconds <= 0) return
    this.updatedAt = now
    if (now - this.secondStart >= 1_000) {
      this.takenLastSecond = now - this.secondStart < 2_000 ? this.takenThisSecond : 0
      this.takenThisSecond = 0
      this.secondStart = now
    }
    this.currentWindow = Math.min(this.maxWindow, this.currentWindow + seconds)
    if (this.rate < this.limit) {
      this.rate =
        now - this.slowedAt > rateRecoveryMs
          ? this.limit
          : Math.min(this.limit, this.rate + this.recoveryStep * seconds)
    }
    if (this.rate === Number.POSITIVE_INFINITY) this.tokens = 1
    else this.tokens = Math.min(Math.max(1, this.rate * bucketSeconds), this.tokens + this.rate * seconds)
  }
}
