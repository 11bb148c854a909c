import type { Outcome } from './call.ts'
import { disableAfter, downAfter, longestHold, lookAgain } from './schedule.ts'

export type Known = { failures: number; failingSince: number | null; isProven: boolean }

/** Calls at a time to one webhook, at most. */
const mostCalls = 32
/** An answer within these milliseconds makes a receiver a quick one. */
const quickMs = 1_000

/** How a receiver is doing, and what may be asked of it for that. Times are Unix milliseconds of the platform. */
export class Condition {
  #failures: number
  #failingSince: number | null
  #isProven: boolean
  #isQuick: boolean
  #allowance: number
  #restUntil = 0

  constructor({ failures, failingSince, isProven }: Known) {
    this.#failures = failures
    this.#failingSince = failingSince
    this.#isProven = isProven
    this.#isQuick = isProven && failures === 0
    // Who is not known yet is not called by many at once, until it has shown that it answers.
    this.#allowance = this.#isQuick ? mostCalls : 2
  }

  get failures(): number {
    return this.#failures
  }

  get isDown(): boolean {
    return this.#failures >= downAfter
  }

  /** The last call was answered well, and within a second. */
  get isQuick(): boolean {
    return this.#isQuick
  }

  /** Calls at a time. */
  get allowance(): number {
    return this.#allowance
  }

  /** It asked to be left alone for a while. */
  isResting(now: number): boolean {
    return now < this.#restUntil
  }

  /** @returns whether it was down, and whether this is to be written down */
  succeeded(ms: number): { wasDown: boolean; isNews: boolean } {
    const told = { wasDown: this.isDown, isNews: this.#failures > 0 || !this.#isProven }
    this.#failures = 0
    this.#failingSince = null
    this.#isProven = true
    this.#isQuick = ms <= quickMs
    this.#allowance = Math.min(mostCalls, this.#allowance * 2)
    this.#restUntil = 0
    return told
  }

  /** @returns seconds for which nothing is to be tried, and why the webhook is to be disabled */
  failed({ what, wait }: Outcome, now: number): { hold: number | null; disabled: 'gone' | 'failing' | null } {
    this.#failures++
    this.#failingSince ??= now
    this.#isQuick = false
    this.#allowance = 1
    // Who says that it is too much is left alone for as long as it asks, with everything, within reason.
    const rest = wait > 0 ? Math.min(wait, longestHold) : null
    if (rest !== null) this.#restUntil = now + rest * 1000
    const hold = this.isDown ? Math.max(lookAgain(this.#failures), rest ?? 0) : rest
    const isHopeless = now - this.#failingSince >= disableAfter * 1000
    return { hold, disabled: what === 'gone' ? 'gone' : isHopeless ? 'failing' : null }
  }
}
