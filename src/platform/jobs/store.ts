import type { Sql } from '../db/sql.ts'
import type { Job } from './job-kind.ts'

// Most statements are database functions; migrations/baseline/06_jobs.sql documents them.

/** A job leased to this worker under a fence. */
export type LeasedJob = { readonly job: Job; readonly fence: number }

type ClaimRow = {
  what: 'ended' | 'claimed' | 'parked' | 'account'
  id: string
  account_id: string | null
  key: string | null
  payload: unknown
  run_at: Date
  created_at: Date
  fence: number
  attempts: number
}

export type ClaimRequest = {
  kind: string
  count: number
  worker: string
  leaseSeconds: number
  /** Account at which the round continues; null: the oldest jobs first. */
  after: string | null
}

export type ClaimResult = {
  /** Ids of the jobs that ended: their fence held. */
  ended: Set<string>
  /** Claimed jobs, in order of their due times. */
  claimed: LeasedJob[]
  /** Jobs examined: fewer than requested means that no more are due. */
  examined: number
  /** Account at which the round continues; null at its end. */
  after: string | null
}

/** Completes jobs and claims the next ones. */
export const completeAndClaim = async (
  sql: Sql,
  ended: readonly LeasedJob[],
  claim: ClaimRequest,
): Promise<ClaimResult> => {
  const { kind, count, worker, leaseSeconds, after } = claim
  const rows = await sql.many<ClaimRow>`select * from jobs_complete_and_claim(
    ${ended.map(({ job }) => job.id)}::uuid[], ${ended.map(({ fence }) => fence)}::integer[],
    ${kind}, ${count}, ${worker}, ${leaseSeconds}, ${after})`
  const result: ClaimResult = { ended: new Set(), claimed: [], examined: 0, after: null }
  for (const row of rows) {
    if (row.what === 'ended') result.ended.add(row.id)
    else if (row.what === 'account') result.after = row.id
    else result.examined++
    if (row.what === 'claimed') {
      const { id, account_id: account, key, payload, run_at: runAt, created_at: createdAt, fence, attempts } = row
      result.claimed.push({ fence, job: { id, account, kind, key, payload, runAt, createdAt, attempt: attempts } })
    }
  }
  return result
}

export type RescheduledJob = LeasedJob & {
  seconds: number
  error: string | null
  counted: boolean
  waitsFor: string | null
}

/** Reschedules jobs. @returns the ids of the jobs whose fence held */
export const reschedule = async (sql: Sql, jobs: readonly RescheduledJob[]): Promise<Set<string>> => {
  const rows = await sql.many<{ id: string }>`select id from jobs_reschedule(
    ${jobs.map(({ job }) => job.id)}::uuid[], ${jobs.map(({ fence }) => fence)}::integer[],
    ${jobs.map(({ seconds }) => seconds)}::double precision[], ${jobs.map(({ error }) => error)}::text[],
    ${jobs.map(({ counted }) => counted)}::boolean[], ${jobs.map(({ waitsFor }) => waitsFor)}::text[]) as r (id)`
  return new Set(rows.map(({ id }) => id))
}

/**
 * Moves jobs to `dead_jobs`.
 * @param settled the caller makes their failures take effect in the same transaction
 * @returns the ids of the jobs whose fence held
 */
export const moveToDeadLetter = async (
  sql: Sql,
  jobs: readonly (LeasedJob & { error: string })[],
  settled: boolean,
): Promise<Set<string>> => {
  const rows = await sql.many<{ id: string }>`select id from jobs_move_to_dead_letter(
    ${jobs.map(({ job }) => job.id)}::uuid[], ${jobs.map(({ fence }) => fence)}::integer[],
    ${jobs.map(({ error }) => error)}::text[], ${settled}) as b (id)`
  return new Set(rows.map(({ id }) => id))
}

/** Extends leases. @returns the ids of the jobs whose fence held */
export const extendLeases = async (
  sql: Sql,
  jobs: readonly (LeasedJob & { leaseSeconds: number })[],
): Promise<Set<string>> => {
  const rows = await sql.many<{ id: string }>`select id from jobs_extend(
    ${jobs.map(({ job }) => job.id)}::uuid[], ${jobs.map(({ fence }) => fence)}::integer[],
    ${jobs.map(({ leaseSeconds }) => leaseSeconds)}::double precision[]) as e (id)`
  return new Set(rows.map(({ id }) => id))
}

/** Releases leases of this worker for jobs that are not in `known`. */
export const recoverOrphans = async (
  sql: Sql,
  worker: string,
  kind: string,
  known: readonly string[],
): Promise<void> => {
  await sql.one`select jobs_recover_orphans(${worker}, ${kind}, ${known}::uuid[])`
}

/** Releases expired leases, and returns the seconds until the next due job of each kind. */
export const poll = (sql: Sql, kinds: readonly string[]): Promise<{ kind: string; due_in: number }[]> =>
  sql.many`select kind, due_in from jobs_poll(${kinds}::text[])`

/** Unparks jobs that no earlier job of their key blocks any more. */
export const unparkJobs = async (sql: Sql): Promise<void> => {
  await sql.one`select jobs_unpark_missed()`
}
