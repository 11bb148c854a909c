import { isUnavailable, sqlState } from '../../db/sql.ts'
import { storable } from '../../lib/storable.ts'
import { backoff, Discard, type JobKind, Retry, Snooze } from '../job-kind.ts'
import type { LeasedJob } from '../store.ts'

/** A job leased to this worker, and its run. */
export type HeldJob = LeasedJob & {
  readonly controller: AbortController
  /** Time of the last lease extension, milliseconds of the monotonic clock. */
  leasedAt: number
  /** True while the outcome is being committed. */
  isCommitting: boolean
}

/** The outcome of a run. */
export type JobOutcome = { readonly held: HeldJob } & (
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

/** The text of an error as stored with the job. */
export const errorText = (error: unknown): string =>
  storable(error instanceof Error ? `${error.name}: ${error.message}` : String(error), 1_000)

/** Whether a retry may succeed: the database was unavailable, or two transactions conflicted. */
export const isTransient = (error: unknown): boolean =>
  isUnavailable(error) ||
  /^40/.test(sqlState(error) ?? '') ||
  (error instanceof Error && error.message.includes('jobs_one_lease_per_key'))

/** Decides whether a job whose handler threw is retried or dead-lettered. */
export const classifyError = (kind: JobKind, held: HeldJob, error: unknown): JobOutcome => {
  if (error instanceof Snooze) {
    const { seconds, waitsFor } = error
    return { held, what: 'back', seconds, error: errorText(error), counted: false, waitsFor }
  }
  const { attempt } = held.job
  if (error instanceof Discard || attempt >= kind.maxAttempts) return { held, what: 'dead', error: errorText(error) }
  const seconds = error instanceof Retry ? error.seconds : (kind.backoff?.(attempt) ?? backoff(attempt))
  return { held, what: 'back', seconds, error: errorText(error), counted: true, waitsFor: null }
}
