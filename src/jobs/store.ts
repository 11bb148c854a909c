import type { Sql } from '../db/sql.ts'
import type { Job } from './kind.ts'

// The statements are functions of the database: see migrations/0002_jobs.sql for what they do and why they live there.

/** A job held by this worker under a fence. */
export type Leased = { readonly job: Job; readonly fence: number }

type TurnRow = {
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

export type Wanted = {
  kind: string
  count: number
  worker: string
  leaseSeconds: number
  /** Where the round over the accounts goes on; null: the oldest jobs first. */
  after: string | null
}

export type Turn = {
  /** Ids of the jobs that ended, because their fence held. */
  ended: Set<string>
  /** In the order in which they were due. */
  claimed: Leased[]
  /** Jobs looked at: fewer than wanted means that nothing more is due. */
  seen: number
  /** Where the round goes on; null when it is at its end. */
  after: string | null
}

/** Ends jobs and claims the next ones. */
export const turn = async (sql: Sql, ended: readonly Leased[], wanted: Wanted): Promise<Turn> => {
  const { kind, count, worker, leaseSeconds, after } = wanted
  const rows = await sql.many<TurnRow>`select * from jobs_turn(
    ${ended.map(({ job }) => job.id)}::uuid[], ${ended.map(({ fence }) => fence)}::integer[],
    ${kind}, ${count}, ${worker}, ${leaseSeconds}, ${after})`
  const result: Turn = { ended: new Set(), claimed: [], seen: 0, after: null }
  for (const row of rows) {
    if (row.what === 'ended') result.ended.add(row.id)
    else if (row.what === 'account') result.after = row.id
    else result.seen++
    if (row.what === 'claimed') {
      const { id, account_id: account, key, payload, run_at: runAt, created_at: createdAt, fence, attempts } = row
      result.claimed.push({ fence, job: { id, account, kind, key, payload, runAt, createdAt, attempt: attempts } })
    }
  }
  return result
}

export type Return = Leased & { seconds: number; error: string | null; counted: boolean; waitsFor: string | null }

/** Puts jobs back to run later. @returns the ids of those whose fence held */
export const putBack = async (sql: Sql, jobs: readonly Return[]): Promise<Set<string>> => {
  const rows = await sql.many<{ id: string }>`select id from jobs_return(
    ${jobs.map(({ job }) => job.id)}::uuid[], ${jobs.map(({ fence }) => fence)}::integer[],
    ${jobs.map(({ seconds }) => seconds)}::double precision[], ${jobs.map(({ error }) => error)}::text[],
    ${jobs.map(({ counted }) => counted)}::boolean[], ${jobs.map(({ waitsFor }) => waitsFor)}::text[]) as r (id)`
  return new Set(rows.map(({ id }) => id))
}

/** Moves jobs to `dead_jobs`. @returns the ids of those whose fence held */
export const bury = async (sql: Sql, jobs: readonly (Leased & { error: string })[]): Promise<Set<string>> => {
  const rows = await sql.many<{ id: string }>`select id from jobs_bury(
    ${jobs.map(({ job }) => job.id)}::uuid[], ${jobs.map(({ fence }) => fence)}::integer[],
    ${jobs.map(({ error }) => error)}::text[]) as b (id)`
  return new Set(rows.map(({ id }) => id))
}

/** Prolongs leases. @returns the ids of those whose fence held */
export const extend = async (sql: Sql, jobs: readonly (Leased & { leaseSeconds: number })[]): Promise<Set<string>> => {
  const rows = await sql.many<{ id: string }>`select id from jobs_extend(
    ${jobs.map(({ job }) => job.id)}::uuid[], ${jobs.map(({ fence }) => fence)}::integer[],
    ${jobs.map(({ leaseSeconds }) => leaseSeconds)}::double precision[]) as e (id)`
  return new Set(rows.map(({ id }) => id))
}

/** Takes back claims of this worker that it does not know of. */
export const reclaim = async (sql: Sql, worker: string, kind: string, known: readonly string[]): Promise<void> => {
  await sql.one`select jobs_reclaim(${worker}, ${kind}, ${known}::uuid[])`
}

/** Takes back expired leases, and says in how many seconds the next job of each kind is due. */
export const poll = (sql: Sql, kinds: readonly string[]): Promise<{ kind: string; due_in: number }[]> =>
  sql.many`select kind, due_in from jobs_poll(${kinds}::text[])`

/** Sets free parked jobs that nothing stands before any more. */
export const sweep = async (sql: Sql): Promise<void> => {
  await sql.one`select jobs_sweep()`
}
