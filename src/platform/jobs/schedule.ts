import type { Db, Tx } from '../db/sql.ts'
import type { Log } from './job-kind.ts'

/** Periodic work by the platform's clock, in one process at a time. */
export type Schedule = {
  readonly name: string
  /** Interval in seconds, or the time of day (UTC, `HH:MM`) for a daily run. */
  readonly every: number | `${number}:${number}`
  /**
   * Runs in the transaction that sets the next run: its effects happen once. Work that is slow, or leaves the database,
   * belongs in a job (`enqueue`). After an outage or a clock change, one run replaces all missed ones.
   * @param at the platform's time
   */
  run(tx: Tx, at: Date): Promise<void>
}

const dayMs = 86_400_000

/** First time of the schedule after `at`; both in Unix milliseconds. */
export const nextTime = (every: Schedule['every'], at: number): number => {
  const step = typeof every === 'number' ? every * 1000 : dayMs
  const [hours = 0, minutes = 0] = typeof every === 'number' ? [] : every.split(':').map(Number)
  const phase = (hours * 60 + minutes) * 60_000
  // Multiples of the step since 1970, so that a restart does not shift the schedule.
  return Math.floor((at - phase) / step + 1) * step + phase
}

/** Seconds until the retry of a failed run. */
const retrySeconds = 30

/** A new schedule is due at once; a new daily schedule, at its time of day. */
const firstRunAt = ({ every }: Schedule): Date => new Date(typeof every === 'number' ? 0 : nextTime(every, Date.now()))

const dueNames = async (db: Db, schedules: readonly Schedule[]): Promise<Set<string>> => {
  const names = schedules.map(({ name }) => name)
  const rows = await db.many<{ name: string }>`
    with new as (
      insert into schedules (name, next_at)
      select s.name, s.next_at from unnest(${names}::text[], ${schedules.map(firstRunAt)}::timestamptz[]) s (name, next_at)
      where not exists (select from schedules k where k.name = s.name)
      on conflict do nothing
      returning name, next_at
    )
    select name from (select name, next_at from new union all select name, next_at from schedules) s
    where name = any (${names}::text[]) and next_at <= (select app_now())`
  return new Set(rows.map(({ name }) => name))
}

/** Runs the due schedules that no other process is running. */
export const runDue = async (db: Db, schedules: readonly Schedule[], log: Log): Promise<void> => {
  const due = await dueNames(db, schedules)
  for (const schedule of schedules.filter(({ name }) => due.has(name))) {
    const { name } = schedule
    try {
      await db.begin(async (tx) => {
        const row = await tx.maybe<{ now: Date }>`
          select app_now() as now from schedules where name = ${name} and next_at <= (select app_now())
          for update skip locked`
        if (!row) return
        await schedule.run(tx, row.now)
        await tx.run`
          update schedules set next_at = ${new Date(nextTime(schedule.every, row.now.getTime()))} where name = ${name}`
      })
    } catch (error) {
      log.error({ err: error, schedule: name }, 'jobs: schedule failed')
      await db.run`update schedules set next_at = (select app_now()) + make_interval(secs => ${retrySeconds}) where name = ${name}`
    }
  }
}
