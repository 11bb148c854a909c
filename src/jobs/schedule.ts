import type { Db, Tx } from '../db/sql.ts'
import type { Log } from './kind.ts'

/** Work that comes round by the platform's clock, in one process of all. */
export type Schedule = {
  readonly name: string
  /** Seconds from one run to the next, or the time of day (UTC, `HH:MM`) of a daily one. */
  readonly every: number | `${number}:${number}`
  /**
   * Runs in the transaction that plans the next run: its effects happen once. Work that takes long, or leaves the database,
   * is asked for with `enqueue`. After an outage, or a move of the clock, it runs once, not for each time missed.
   * @param at the platform's time
   */
  run(tx: Tx, at: Date): Promise<void>
}

const day = 86_400_000

/** The first time of the schedule after `at`, both in Unix milliseconds. */
export const nextTime = (every: Schedule['every'], at: number): number => {
  const step = typeof every === 'number' ? every * 1000 : day
  const [hours = 0, minutes = 0] = typeof every === 'number' ? [] : every.split(':').map(Number)
  const phase = (hours * 60 + minutes) * 60_000
  // Multiples of the step since 1970, so that a restart changes no rhythm.
  return Math.floor((at - phase) / step + 1) * step + phase
}

/** After a failed run, in seconds. */
const pause = 30

/** A schedule seen for the first time is due at once, a daily one at its time of day. */
const begin = ({ every }: Schedule): Date => new Date(typeof every === 'number' ? 0 : nextTime(every, Date.now()))

const dueNames = async (db: Db, schedules: readonly Schedule[]): Promise<Set<string>> => {
  const names = schedules.map(({ name }) => name)
  const rows = await db.many<{ name: string }>`
    with new as (
      insert into schedules (name, next_at)
      select s.name, s.next_at from unnest(${names}::text[], ${schedules.map(begin)}::timestamptz[]) s (name, next_at)
      where not exists (select from schedules k where k.name = s.name)
      on conflict do nothing
      returning name, next_at
    )
    select name from (select name, next_at from new union all select name, next_at from schedules) s
    where name = any (${names}::text[]) and next_at <= (select app_now())`
  return new Set(rows.map(({ name }) => name))
}

/** Runs those whose time has come and that no other process is running. */
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
      log.error({ err: error, schedule: name }, 'a schedule failed')
      await db.run`update schedules set next_at = (select app_now()) + make_interval(secs => ${pause}) where name = ${name}`
    }
  }
}
