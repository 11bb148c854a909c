import { maxCallsPerEndpoint, quickResponseMs } from '../limits.ts'
import type { AttemptResult } from './attempt.ts'
import { disableAfterSeconds, downAfter, longestHoldSeconds, probeInterval } from './retry-schedule.ts'

export type BreakerState = { failures: number; failingSince: number | null; isProven: boolean }

/** Health of one receiver, and the concurrency that it allows. Times are Unix milliseconds of the platform clock. */
export class CircuitBreaker {
  #failures: number
  #failingSince: number | null
  #isProven: boolean
  #isQuick: boolean
  #concurrency: number
  #pausedUntil = 0

  constructor({ failures, failingSince, isProven }: BreakerState) {
    this.#failures = failures
    this.#failingSince = failingSince
    this.#isProven = isProven
    this.#isQuick = isProven && failures === 0
    // An unproven receiver gets few concurrent calls until it has answered.
    this.#concurrency = this.#isQuick ? maxCallsPerEndpoint : 2
  }

  get failures(): number {
    return this.#failures
  }

  get isDown(): boolean {
    return this.#failures >= downAfter
  }

  /** Whether the last call succeeded within a second. */
  get isQuick(): boolean {
    return this.#isQuick
  }

  /** Concurrent calls allowed. */
  get concurrency(): number {
    return this.#concurrency
  }

  /** Whether the receiver's Retry-After is still running. */
  isPaused(now: number): boolean {
    return now < this.#pausedUntil
  }

  /** @returns whether the receiver was down, and whether its health must be stored */
  recordSuccess(ms: number): { wasDown: boolean; isNews: boolean } {
    const result = { wasDown: this.isDown, isNews: this.#failures > 0 || !this.#isProven }
    this.#failures = 0
    this.#failingSince = null
    this.#isProven = true
    this.#isQuick = ms <= quickResponseMs
    this.#concurrency = Math.min(maxCallsPerEndpoint, this.#concurrency * 2)
    this.#pausedUntil = 0
    return result
  }

  /** @returns seconds without attempts, and the reason to disable the webhook if there is one */
  recordFailure(
    { what, wait }: AttemptResult,
    now: number,
  ): { hold: number | null; disabled: 'gone' | 'failing' | null } {
    this.#failures++
    this.#failingSince ??= now
    this.#isQuick = false
    this.#concurrency = 1
    // Retry-After pauses every delivery to the receiver, up to the longest hold.
    const rest = wait > 0 ? Math.min(wait, longestHoldSeconds) : null
    if (rest !== null) this.#pausedUntil = now + rest * 1000
    const hold = this.isDown ? Math.max(probeInterval(this.#failures), rest ?? 0) : rest
    const isHopeless = now - this.#failingSince >= disableAfterSeconds * 1000
    return { hold, disabled: what === 'gone' ? 'gone' : isHopeless ? 'failing' : null }
  }
}
