import type { Db, Tx } from '../db/sql.ts'
import type { WakeUps } from '../db/wake-ups.ts'
import { type Poller, startPoller } from '../lib/poller.ts'
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
  /**
   * SQL of a condition without which a run would do nothing, over `app.now`, the platform's time. All conditions are
   * asked in one statement, so that a schedule of seconds costs nothing while it has nothing to do.
   */
  readonly when?: string
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

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`

/** Statement that returns the due schedules that have work, and those that are new; of the names that are its value. */
const dueStatement = (schedules: readonly Schedule[]): TemplateStringsArray => {
  const conditions = schedules.flatMap(({ name, when }) => (when ? `when ${quoted(name)} then ${when}` : []))
  const hasWork = conditions.length > 0 ? `case n.name ${conditions.join(' ')} else true end` : 'true'
  const parts = [
    `select n.name, s.name is null as is_new
    from (select now() + make_interval(secs => offset_seconds) as now from clock) app
    cross join unnest(`,
    `::text[]) n (name)
    left join schedules s on s.name = n.name
    where s.name is null or (s.next_at <= app.now and ${hasWork})`,
  ]
  return Object.assign(parts, { raw: parts })
}

const statements = new WeakMap<readonly Schedule[], TemplateStringsArray>()

const findDue = async (db: Db, schedules: readonly Schedule[], names: readonly string[]) => {
  const statement = statements.get(schedules) ?? dueStatement(schedules)
  statements.set(schedules, statement)
  return await db.many<{ name: string; is_new: boolean }>(statement, names)
}

const dueNames = async (db: Db, schedules: readonly Schedule[], names: readonly string[]): Promise<Set<string>> => {
  const found = await findDue(db, schedules, names)
  if (!found.some(({ is_new }) => is_new)) return new Set(found.map(({ name }) => name))
  await db.run`
    insert into schedules (name, next_at)
    select s.name, s.next_at
    from unnest(${schedules.map(({ name }) => name)}::text[], ${schedules.map(firstRunAt)}::timestamptz[]) s (name, next_at)
    on conflict do nothing`
  return new Set((await findDue(db, schedules, names)).map(({ name }) => name))
}

/** Runs the due schedules that no other process is running. @param names the schedules that are asked for */
export const runDue = async (
  db: Db,
  schedules: readonly Schedule[],
  log: Log,
  names: readonly string[] = schedules.map(({ name }) => name),
): Promise<void> => {
  const due = await dueNames(db, schedules, names)
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

/** Milliseconds between looks for due schedules, and of a worker that is woken: schedules are due at whole seconds. */
const lookMs = { polling: 500, woken: 1_000 }

export type SchedulesOptions = {
  readonly db: Db
  readonly schedules: readonly Schedule[]
  readonly log: Log
  readonly wakeUps: WakeUps
  isClosing(): boolean
  onError(error: unknown): void
}

/** Runs the schedules until ended. Conditions of idle schedules are asked once in each interval. */
export const startSchedules = ({ db, schedules, log, wakeUps, isClosing, onError }: SchedulesOptions): Poller => {
  const nextAt = new Map<string, number>()
  return startPoller({
    fastMs: lookMs.polling,
    slowMs: lookMs.woken,
    wakeUps,
    onError,
    look: async () => {
      if (isClosing()) return { isBusy: false }
      const now = Date.now()
      const candidates = schedules.filter(({ name }) => now >= (nextAt.get(name) ?? 0))
      await runDue(
        db,
        schedules,
        log,
        candidates.map(({ name }) => name),
      )
      for (const { name, every, when } of candidates) if (when) nextAt.set(name, nextTime(every, now))
      return { isBusy: false }
    },
  })
}
