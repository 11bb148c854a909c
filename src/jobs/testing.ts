import assert from 'node:assert/strict'
import { after } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from './kind.ts'
import { startWorker, type Worker, type WorkerOptions } from './worker.ts'

// For the tests of this folder.

/** Waits for a condition, not for a time. @param within milliseconds, after which the test fails */
export const until = async (
  what: string,
  condition: () => boolean | Promise<boolean>,
  within = 10_000,
): Promise<void> => {
  const end = performance.now() + within
  while (!(await condition())) {
    assert.ok(performance.now() < end, `not within ${within} ms: ${what}`)
    await pause(2)
  }
}

/** Says only what must not happen. */
export const quiet: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: (fields, text) => console.error(text, fields),
}

export const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Chance that can be had again by its seed (mulberry32). */
export const seeded = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const workers = new Set<Worker>()
after(() => Promise.all([...workers].map((worker) => worker.stop(0))))

/** A worker that ends with the file, also when a test fails before it stops it. */
export const work = (options: WorkerOptions): Worker => {
  const worker = startWorker(options)
  workers.add(worker)
  return worker
}
