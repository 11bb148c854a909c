import { availableParallelism, cpus } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'

// Most files wait for timers, for a carrier or for a browser. Measured: three at a time used 60 % of two cores, and
// still overloaded both when three needed them at once. So the load decides: few at a time while the processors are
// busy, and more while they are idle. Files that wait fill what a file that computes would overload.

/** Limits of concurrency: `least` run always, further ones up to `most` only while the processors are idle. */
export type Concurrency = { readonly least: number; readonly most: number }

/** Memory of a file with a browser and a platform, bytes. */
const memoryPerFile = 1024 ** 3

/** Returns the limits for this machine. Where a quota hides the load, the number is fixed. */
export const concurrencyHere = (): Concurrency => {
  const cores = availableParallelism()
  if (cores < cpus().length) return { least: cores + 1, most: cores + 1 }
  const roomFor = Math.floor(process.availableMemory() / memoryPerFile)
  return { least: cores, most: Math.max(cores, Math.min(cores * 3, roomFor)) }
}

/** Returns a function that returns the idle share of all processors since its last call, 0 to 1. */
export const makeIdleMeter = (): (() => number) => {
  const read = () =>
    cpus().reduce(
      (sum, { times }) => {
        const { user, nice, sys, idle, irq } = times
        return { idle: sum.idle + idle, all: sum.all + user + nice + sys + idle + irq }
      },
      { idle: 0, all: 0 },
    )
  let before = read()
  return () => {
    const now = read()
    const all = now.all - before.all
    const share = all > 0 ? (now.idle - before.idle) / all : 0
    before = now
    return share
  }
}

/** Idle share from which one more item starts: more than half of one core of two. */
const idleEnough = 0.3

/** Idle share from which an item starts that mostly waits. Measured: files that wait take a third of a core. */
const idleForWaiting = 0.15

/** Time between two looks at the load, milliseconds. A file that has just started loads its modules for that long. */
const lookEvery = 1_500

/** What decides when a further item starts. */
type Signs<Item> = {
  /** Whether an item takes little of the processors while it runs. Default: none does. */
  readonly mostlyWaits?: (item: Item) => boolean
  /** Returns the idle share of the processors since its last call. */
  readonly idleShare?: () => number
  /** Milliseconds between two looks. */
  readonly every?: number
}

/** Works on the items of a queue concurrently: in their order, except for those that fill what is idle. Work may append items. */
export const workThrough = async <Item>(
  queue: Item[],
  work: (item: Item) => Promise<void>,
  { least, most }: Concurrency,
  { mostlyWaits = () => false, idleShare = makeIdleMeter(), every = lookEvery }: Signs<Item> = {},
): Promise<void> => {
  const running = new Set<Promise<void>>()
  const start = (at = 0) => {
    const [item] = at < 0 ? [] : queue.splice(at, 1)
    if (item === undefined) return
    const one = work(item).finally(() => running.delete(one))
    running.add(one)
  }
  let nextLook = performance.now() + every
  while (queue.length > 0 || running.size > 0) {
    while (queue.length > 0 && running.size < least) start()
    const isOver = new AbortController()
    const look = pause(Math.max(0, nextLook - performance.now()), undefined, { signal: isOver.signal }).catch(() => {})
    await Promise.race([look, ...running])
    isOver.abort()
    if (performance.now() < nextLook) continue
    nextLook = performance.now() + every
    const share = idleShare()
    if (running.size >= most) continue
    if (share >= idleEnough) start()
    else if (share >= idleForWaiting) start(queue.findIndex(mostlyWaits))
  }
}
