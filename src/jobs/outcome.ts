import { isUnavailable, sqlState } from '../db/sql.ts'
import { backoff, GiveUp, type Kind, Later, Retry } from './kind.ts'
import type { Leased } from './store.ts'

/** A job of ours, and its run. */
export type Held = Leased & {
  readonly controller: AbortController
  /** By the monotonic clock, milliseconds: when the lease was last prolonged. */
  leasedAt: number
  /** Its end is being written. */
  ending: boolean
}

/** How a run ended. */
export type Outcome = { readonly held: Held } & (
  | { readonly what: 'done'; readonly result: unknown }
  | {
      readonly what: 'back'
      readonly seconds: number
      readonly error: string | null
      readonly counted: boolean
      readonly waitsFor: string | null
    }
  | { readonly what: 'dead'; readonly error: string }
)

/** An error as it is kept with the job. */
export const textOf = (error: unknown): string =>
  // PostgreSQL refuses U+0000 in text.
  (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).replaceAll('\0', '').slice(0, 1000)

/** Worth trying again as it is: the database was away, or two transactions were in each other's way. */
export const isPassing = (error: unknown): boolean =>
  isUnavailable(error) ||
  /^40/.test(sqlState(error) ?? '') ||
  (error instanceof Error && error.message.includes('jobs_one_of_a_key'))

/** What becomes of a job whose handler threw. */
export const judge = (kind: Kind, held: Held, error: unknown): Outcome => {
  if (error instanceof Later) {
    const { seconds, waitsFor } = error
    return { held, what: 'back', seconds, error: textOf(error), counted: false, waitsFor }
  }
  const { attempt } = held.job
  if (error instanceof GiveUp || attempt >= kind.maxAttempts) return { held, what: 'dead', error: textOf(error) }
  const seconds = error instanceof Retry ? error.seconds : (kind.backoff?.(attempt) ?? backoff(attempt))
  return { held, what: 'back', seconds, error: textOf(error), counted: true, waitsFor: null }
}
