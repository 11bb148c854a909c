import type { Db } from '../../db/sql.ts'
import { noWakeUps, type WakeUps } from '../../db/wake-ups.ts'
import { uuid } from '../../lib/id.ts'
import { startPoller } from '../../lib/poller.ts'
import type { JobKind, Log } from '../job-kind.ts'
import { onNotify, onPollRequest } from '../queue.ts'
import { type Schedule, startSchedules } from '../schedule.ts'
import { poll, unparkJobs } from '../store.ts'
import { JobConsumer } from './job-consumer.ts'
import { registerLocalQueue } from './local-queue.ts'

/** Milliseconds between polls while there are jobs, or nothing wakes this process; and of an idle worker. */
const pollMs = { busy: 500, idle: 3_000 }

export type WorkerOptions = {
  db: Db
  kinds: readonly JobKind[]
  schedules?: readonly Schedule[]
  log: Log
  /** Owner of the leases of its jobs. Default: a new id. */
  id?: string
  /** Report jobs that other processes added. Absent: the worker polls twice a second. */
  wakeUps?: WakeUps
}

export type Worker = {
  /** Notifies the worker that jobs of a kind may be due, or that the kind has capacity again. */
  notify(kind: string): void
  /** Number of handlers that run now. */
  running(kind: string): number
  /**
   * Runs jobs of a further kind.
   * @returns a function that stops this, as `stop` does
   */
  add(kind: JobKind): (deadline: number) => Promise<void>
  /** Stops the jobs of some kinds before the others, as `stop` does. */
  stopKinds(kinds: (kind: string) => boolean, deadline: number): Promise<void>
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
 * Jobs added in the same process start as soon as their transaction has committed; those of another process, when its
 * notification arrives. An idle worker polls every 3 s, and knows by a poll when the next job is due. Each kind uses at
 * most two connections at a time.
 */
export const startWorker = ({
  db,
  kinds,
  schedules = [],
  log,
  id = uuid(),
  wakeUps = noWakeUps,
}: WorkerOptions): Worker => {
  const claims = new Map<string, Promise<void>>()
  const makeConsumer = (kind: JobKind) => new JobConsumer(kind, db, log, id, claims, () => polls.hurry())
  const consumers = new Map(kinds.map((kind) => [kind.kind, makeConsumer(kind)]))
  if (consumers.size !== kinds.length) throw new Error('Two handlers are registered for one kind of job')
  let closing = false
  let stopped = false
  let failing = false
  const timers = new Map<string, NodeJS.Timeout>()

  /** Starts the jobs of a kind that are due before the next poll. */
  const notifyIn = (milliseconds: number, kind: string) => {
    clearTimeout(timers.get(kind))
    const timer = setTimeout(() => {
      timers.delete(kind)
      consumers.get(kind)?.notify()
      polls.hurry()
    }, Math.ceil(milliseconds))
    timers.set(kind, timer)
  }

  /** Logs an outage once instead of on every poll. */
  const onError = (error: unknown) => {
    if (!failing && !stopped) log.error({ err: error }, 'jobs: poll failed')
    failing = true
  }

  const pollQueue = async () => {
    await unparkJobs(db)
    const found = await poll(db, [...consumers.keys()])
    for (const { kind, due_in } of found) {
      if (due_in <= 0) consumers.get(kind)?.notify()
      else if (due_in * 1_000 < 2 * pollMs.idle) notifyIn(due_in * 1_000, kind)
    }
    for (const consumer of consumers.values()) {
      // Capacity may have returned without a notification.
      consumer.scheduleStep()
      await consumer.extend()
    }
    failing = false
    const isDue = found.some(({ due_in }) => due_in <= 0)
    return { isBusy: isDue || [...consumers.values()].some((consumer) => consumer.isBusy) }
  }

  const polls = startPoller({ fastMs: pollMs.busy, slowMs: pollMs.idle, wakeUps, look: pollQueue, onError })
  // A separate loop, so that a slow schedule does not delay lease extensions.
  const scheduled =
    schedules.length > 0 ? startSchedules({ db, schedules, log, wakeUps, isClosing: () => closing, onError }) : null
  const subscribe = (consumer: JobConsumer) => [
    onNotify(consumer.kind, (notice) => {
      if (notice === 'due') consumer.notify()
      else if (notice === 'capacity') consumer.scheduleStep()
      if (notice !== 'capacity') polls.hurry()
    }),
    registerLocalQueue(db, consumer.kind, consumer),
  ]
  const subscriptions = new Map([...consumers.values()].map((consumer) => [consumer, subscribe(consumer)]))
  const unsubscribe = (consumer: JobConsumer) => {
    for (const hush of subscriptions.get(consumer) ?? []) hush()
    subscriptions.delete(consumer)
  }
  const unsubscribers = [
    wakeUps.on('jobs', polls.wake),
    onPollRequest(() => {
      polls.wake()
      scheduled?.wake()
    }),
  ]
  for (const consumer of consumers.values()) consumer.scheduleStep()

  const close = (consumer: JobConsumer, deadline: number) => {
    unsubscribe(consumer)
    return consumer.close(deadline)
  }

  const end = async (deadline: number) => {
    closing = true
    for (const hush of unsubscribers) hush()
    await Promise.all([...consumers.values()].map((consumer) => close(consumer, deadline)))
    stopped = true
    await Promise.all([polls.end(), scheduled?.end()])
    for (const timer of timers.values()) clearTimeout(timer)
  }
  let ended: Promise<void> | undefined

  const add = (kind: JobKind) => {
    if (closing) return async () => {}
    const consumer = makeConsumer(kind)
    consumers.set(kind.kind, consumer)
    subscriptions.set(consumer, subscribe(consumer))
    consumer.scheduleStep()
    return async (deadline: number) => {
      await close(consumer, deadline)
      if (consumers.get(kind.kind) === consumer) consumers.delete(kind.kind)
    }
  }

  return {
    add,
    notify: (kind) => consumers.get(kind)?.notify(),
    running: (kind) => consumers.get(kind)?.running ?? 0,
    stopKinds: async (kinds, deadline) => {
      const chosen = [...consumers.values()].filter(({ kind }) => kinds(kind))
      await Promise.all(chosen.map((consumer) => close(consumer, deadline)))
    },
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
