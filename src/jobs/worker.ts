import type { Db } from '../db/sql.ts'
import { uuid } from '../lib/id.ts'
import { openBerth } from './berth.ts'
import type { Kind, Log } from './kind.ts'
import { Lane } from './lane.ts'
import { onWake } from './queue.ts'
import { runDue, type Schedule } from './schedule.ts'
import { poll, sweep } from './store.ts'

/** How often the queue is looked at without being told to, in milliseconds. */
const every = 500

export type WorkerOptions = {
  db: Db
  kinds: readonly Kind[]
  schedules?: readonly Schedule[]
  log: Log
}

export type Worker = {
  /** Says that jobs of a kind may be due, or that there is room for them again. */
  wake(kind: string): void
  /** Handlers that run at this moment. */
  running(kind: string): number
  /**
   * Claims no more and waits for what runs; after the deadline (milliseconds, 10 s unless told) handlers are told to end by
   * their signal and their jobs go back to the queue without losing an attempt.
   */
  stop(deadline?: number): Promise<void>
}

/**
 * Runs the jobs of these kinds, and the schedules, until it is stopped. Any number of workers, in any number of processes,
 * may share a database.
 *
 * An idle worker sends two statements a second; within one process jobs start as soon as the transaction that added them
 * has committed. Each kind uses at most two connections at a time.
 */
export const startWorker = ({ db, kinds, schedules = [], log }: WorkerOptions): Worker => {
  const id = uuid()
  const lanes = new Map(kinds.map((kind) => [kind.kind, new Lane(kind, db, log, id)]))
  if (lanes.size !== kinds.length) throw new Error('two handlers for one kind of job')
  const silence = [...lanes.values()].flatMap((lane) => [
    onWake(lane.kind, (isDue) => (isDue ? lane.wake() : lane.look())),
    openBerth(db, lane.kind, lane),
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

  const tend = async () => {
    for (const { kind, due_in } of await poll(db, [...lanes.keys()])) {
      const lane = lanes.get(kind)
      if (due_in <= 0) lane?.wake()
      else if (due_in * 1000 < every) after(Math.ceil(due_in * 1000), () => lane?.wake())
    }
    await sweep(db)
    for (const lane of lanes.values()) {
      // A gate may have opened without a word.
      lane.look()
      await lane.extend()
    }
  }

  /** Says an outage once, not twice a second. */
  const quietly = async (work: () => Promise<void>) => {
    try {
      await work()
      failing = false
    } catch (error) {
      if (!failing && !stopped) log.error({ err: error }, 'the queue could not be looked at')
      failing = true
    }
  }

  const repeat = async (work: () => Promise<void>) => {
    await quietly(work)
    if (!stopped) after(every, () => repeatAgain(work))
  }
  const repeatAgain = (work: () => Promise<void>) => {
    const round = repeat(work).finally(() => rounds.delete(round))
    rounds.add(round)
  }
  const rounds = new Set<Promise<void>>()

  for (const lane of lanes.values()) lane.look()
  repeatAgain(tend)
  // By itself, so that a slow schedule holds up no lease.
  if (schedules.length > 0) repeatAgain(async () => (closing ? undefined : runDue(db, schedules, log)))

  const end = async (deadline: number) => {
    closing = true
    for (const hush of silence) hush()
    await Promise.all([...lanes.values()].map((lane) => lane.close(deadline)))
    stopped = true
    for (const timer of timers) clearTimeout(timer)
    await Promise.all(rounds)
  }
  let ended: Promise<void> | undefined

  return {
    wake: (kind) => lanes.get(kind)?.wake(),
    running: (kind) => lanes.get(kind)?.running ?? 0,
    stop: (deadline = 10_000) => {
      ended ??= end(deadline)
      return ended
    },
  }
}

/** For a start that knows that no other process lives (embedded database): jobs of the one before need not wait for the end
 *  of their leases. @returns how many there were */
export const releaseLeases = (db: Db): Promise<number> =>
  db.run`update jobs set leased_until = null, owner = null where leased_until is not null`
