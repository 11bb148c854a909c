import type { Db } from '../../db/sql.ts'
import { uuid } from '../../lib/id.ts'
import type { JobKind, Log } from '../job-kind.ts'
import { onNotify } from '../queue.ts'
import { runDue, type Schedule } from '../schedule.ts'
import { poll, unparkJobs } from '../store.ts'
import { JobConsumer } from './job-consumer.ts'
import { registerLocalQueue } from './local-queue.ts'

/** Poll interval in milliseconds. */
const pollIntervalMs = 500

export type WorkerOptions = {
  db: Db
  kinds: readonly JobKind[]
  schedules?: readonly Schedule[]
  log: Log
}

export type Worker = {
  /** Notifies the worker that jobs of a kind may be due, or that the kind has capacity again. */
  notify(kind: string): void
  /** Number of handlers that run now. */
  running(kind: string): number
  /**
   * Stops claiming and waits for running jobs. After the deadline (milliseconds; default: 10 s), aborts the remaining
   * handlers and returns their jobs to the queue without losing an attempt.
   */
  stop(deadline?: number): Promise<void>
}

/**
 * Runs jobs of these kinds, and the schedules, until stopped. Any number of workers, in any number of processes, may
 * share a database.
 *
 * An idle worker sends two statements a second. Jobs added in the same process start as soon as their transaction has
 * committed. Each kind uses at most two connections at a time.
 */
export const startWorker = ({ db, kinds, schedules = [], log }: WorkerOptions): Worker => {
  const id = uuid()
  const claims = new Map<string, Promise<void>>()
  const consumers = new Map(kinds.map((kind) => [kind.kind, new JobConsumer(kind, db, log, id, claims)]))
  if (consumers.size !== kinds.length) throw new Error('Two handlers are registered for one kind of job')
  const unsubscribers = [...consumers.values()].flatMap((consumer) => [
    onNotify(consumer.kind, (isDue) => (isDue ? consumer.notify() : consumer.scheduleStep())),
    registerLocalQueue(db, consumer.kind, consumer),
  ])
  const timers = new Set<NodeJS.Timeout>()
  let closing = false
  let stopped = false
  let failing = false

  const after = (milliseconds: number, effect: () => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer)
      effect()
    }, milliseconds)
    timers.add(timer)
  }

  const pollQueue = async () => {
    for (const { kind, due_in } of await poll(db, [...consumers.keys()])) {
      const consumer = consumers.get(kind)
      if (due_in <= 0) consumer?.notify()
      else if (due_in * 1000 < pollIntervalMs) after(Math.ceil(due_in * 1000), () => consumer?.notify())
    }
    await unparkJobs(db)
    for (const consumer of consumers.values()) {
      // Capacity may have returned without a notification.
      consumer.scheduleStep()
      await consumer.extend()
    }
  }

  /** Logs an outage once instead of on every poll. */
  const logOnce = async (work: () => Promise<void>) => {
    try {
      await work()
      failing = false
    } catch (error) {
      if (!failing && !stopped) log.error({ err: error }, 'jobs: poll failed')
      failing = true
    }
  }

  const repeat = async (work: () => Promise<void>) => {
    await logOnce(work)
    if (!stopped) after(pollIntervalMs, () => repeatAgain(work))
  }
  const repeatAgain = (work: () => Promise<void>) => {
    const round = repeat(work).finally(() => rounds.delete(round))
    rounds.add(round)
  }
  const rounds = new Set<Promise<void>>()

  for (const consumer of consumers.values()) consumer.scheduleStep()
  repeatAgain(pollQueue)
  // A separate loop, so that a slow schedule does not delay lease extensions.
  if (schedules.length > 0) repeatAgain(async () => (closing ? undefined : runDue(db, schedules, log)))

  const end = async (deadline: number) => {
    closing = true
    for (const hush of unsubscribers) hush()
    await Promise.all([...consumers.values()].map((consumer) => consumer.close(deadline)))
    stopped = true
    for (const timer of timers) clearTimeout(timer)
    await Promise.all(rounds)
  }
  let ended: Promise<void> | undefined

  return {
    notify: (kind) => consumers.get(kind)?.notify(),
    running: (kind) => consumers.get(kind)?.running ?? 0,
    stop: (deadline = 10_000) => {
      ended ??= end(deadline)
      return ended
    },
  }
}

/** Releases all leases. Only for a start that knows that no other process lives (embedded database), so that jobs of
 *  the previous process need not wait for their leases to end. @returns the number of released jobs */
export const releaseLeases = (db: Db): Promise<number> =>
  db.run`update jobs set leased_until = null, owner = null where leased_until is not null`
