import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { atEnd } from '../../../test/endings.ts'
import { startWorker, type Worker, type WorkerOptions } from './consume/worker.ts'
import type { Log } from './job-kind.ts'

// Helpers for the tests of the job queue.

/** Waits for a condition. @param within milliseconds after which the test fails */
export const until = async (
  what: string,
  condition: () => boolean | Promise<boolean>,
  within = 60_000,
): Promise<void> => {
  const end = performance.now() + within
  while (!(await condition())) {
    assert.ok(performance.now() < end, `not within ${within} ms: ${what}`)
    await pause(2)
  }
}

/** A logger that prints errors only. */
export const errorLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: (fields, text) => console.error(text, fields),
}

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Seeded random number generator (mulberry32). */
export const seeded = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Starts a worker that stops at the end of the test file, even if a test fails first. */
export const startTestWorker = (options: WorkerOptions): Worker => {
  const worker = startWorker(options)
  atEnd(() => worker.stop(0))
  return worker
}
