import { isUnavailable, sqlState } from './sql.ts'

/** Gathers single rows into multi-row statements. */
export type Batcher<Row, Result> = {
  /** Adds a row; resolves with its result once the statement that carried it has committed. */
  add(row: Row): Promise<Result>
  /** Number of waiting and running rows. */
  depth(): number
  /** Starts the next statement without the pause of `spacingMs`, for the rows that wait. */
  flush(): void
}

/** Thrown when the limit of waiting rows is exceeded, for this key or in total. */
export class OverloadedError extends Error {}

/** SQLSTATE deadlock_detected (PostgreSQL, appendix A). */
const deadlock = '40P01'

const repeatAfterDeadlock = <T>(run: () => Promise<T>): Promise<T> =>
  run().catch((error: unknown) => {
    if (sqlState(error) !== deadlock) throw error
    return run()
  })

type Waiting<Row, Result> = { row: Row; resolve: (result: Result) => void; reject: (error: unknown) => void }

/** Rows by their key. */
type Queues<Row, Result> = Map<string, Waiting<Row, Result>[]>

/** A statement under way. `most`: rows of the key that has most. */
type Statement = { readonly rows: number; readonly most: number; readonly keys: ReadonlySet<string> }

/** Rows of one key in a statement for each row of other keys that may pass it. */
const rowsPerPassing = 8

/** Rows of a statement after which the next one rests, by default: ordinary load carries one or two. */
export const manyRows = 4

type BatchOptions<Row> = {
  readonly maxRows?: number
  readonly maxWaiting?: number
  readonly spacingMs?: number
  readonly restAfterRows?: number
  /** Rows of one key share a queue, for example an account. Default: one queue for all. */
  readonly keyOf?: (row: Row) => string
}

/**
 * Takes the rows of a statement: keys take turns, and the rows of a key stay in order.
 * @param busy keys of a statement under way
 */
const takeRows = <Row, Result>(
  queues: Queues<Row, Result>,
  maxRows: number,
  busy: ReadonlySet<string> | undefined,
): Queues<Row, Result> => {
  const taken: Queues<Row, Result> = new Map()
  const free = () => [...queues].filter(([key]) => !busy?.has(key))
  let room = maxRows
  for (let waiting = free(); room > 0 && waiting.length > 0; waiting = free()) {
    const share = Math.max(1, Math.floor(room / waiting.length))
    for (const [key, own] of waiting.slice(0, room)) {
      const rows = own.slice(0, share)
      taken.set(key, [...(taken.get(key) ?? []), ...rows])
      room -= rows.length
      queues.delete(key)
      // Moves the key to the end of the queue.
      if (rows.length < own.length) queues.set(key, own.slice(share))
    }
  }
  return taken
}

/** Takes the rows that may pass a statement: all of other keys, if they are few. */
const takePassing = <Row, Result>(queues: Queues<Row, Result>, { most, keys }: Statement): Queues<Row, Result> => {
  const others = [...queues].filter(([key]) => !keys.has(key))
  if (others.reduce((sum, [, own]) => sum + own.length, 0) * rowsPerPassing > most) return new Map()
  for (const [key] of others) queues.delete(key)
  return new Map(others)
}

/**
 * Rows that arrive within one turn of the event loop share a statement. While one runs, further rows gather. A lone row
 * does not wait. One statement at a time beat two on two cores. If rows wait when a statement ends, the next one starts
 * before the callers go on, so that the database works meanwhile.
 *
 * Beside a statement with many rows of one key, a few rows of other keys get a statement of their own at once: a quiet
 * account does not wait for the one that sends all it can. No key is in two statements at a time.
 * @param run returns one result per row, in order. When it rejects because of a row, each row is retried alone, so that
 * one bad row fails alone. When the database is down, the fate of the rows is unknown, and all are rejected. After a
 * deadlock, the statement that PostgreSQL cancelled is run once more as a whole
 * @param options.spacingMs milliseconds between the starts of two statements, after one with `restAfterRows` rows or more
 * and unless half of a full batch waits. Where many rows arrive singly, starting and ending a statement costs more than
 * the rows do; where few arrive, none waits
 * @param options.restAfterRows 1: also a lone row makes the next ones wait, for work whose end nobody waits for
 */
export const makeBatcher = <Row, Result>(
  run: (rows: Row[]) => Promise<Result[]>,
  { maxRows = 128, maxWaiting = 10_000, spacingMs = 0, restAfterRows = manyRows, keyOf }: BatchOptions<Row> = {},
): Batcher<Row, Result> => {
  /** By key, in the order of their turns. */
  const queues: Queues<Row, Result> = new Map()
  /** Limit of waiting rows per key: a quarter of the capacity is reserved for the others. */
  const mostOfKey = keyOf ? Math.floor((maxWaiting * 3) / 4) : maxWaiting
  /** The statement of all keys, and the one that passes it. */
  const running: { main: Statement | null; passing: Statement | null } = { main: null, passing: null }
  let queued = 0
  let scheduled = false
  let isHurried = false
  /** Start of the last statement, by the monotonic clock, and its rows. */
  let last = { at: Number.NEGATIVE_INFINITY, rows: 0 }
  let resting: NodeJS.Timeout | undefined

  /** Returns whether the next statement waits for more rows; a timer starts it then. */
  const rests = (): boolean => {
    const left = last.at + spacingMs - performance.now()
    if (last.rows < restAfterRows || left <= 0 || queued * 2 >= maxRows || isHurried) return false
    resting ??= setTimeout(() => {
      resting = undefined
      send()
    }, left)
    return true
  }

  /** @param ended called once the statement has ended, before its callers go on */
  const settle = async (batch: Waiting<Row, Result>[], ended = () => {}): Promise<void> => {
    try {
      const results = await repeatAfterDeadlock(() => run(batch.map(({ row }) => row)))
      if (queued > 0) {
        ended()
        // The pool passes the statement to its connection on the next tick, which comes first.
        await new Promise(setImmediate)
      }
      for (const [i, { resolve, reject }] of batch.entries()) {
        const result = results[i]
        if (result === undefined) reject(new Error('a batch returned too few results'))
        else resolve(result)
      }
    } catch (error) {
      // Alone, rows that took part in a deadlock may succeed.
      const isFinal = isUnavailable(error) && sqlState(error) !== deadlock
      if (batch.length === 1 || isFinal) for (const { reject } of batch) reject(error)
      else for (const row of batch) await settle([row])
    }
  }

  const start = (slot: keyof typeof running, taken: Queues<Row, Result>) => {
    if (taken.size === 0) return
    const batch = [...taken.values()].flat()
    queued -= batch.length
    const most = Math.max(...taken.values().map((rows) => rows.length))
    const statement = { rows: batch.length, most, keys: new Set(taken.keys()) }
    running[slot] = statement
    const ended = () => {
      if (running[slot] !== statement) return
      running[slot] = null
      send()
    }
    void settle(batch, ended).then(ended)
  }

  const send = () => {
    scheduled = false
    if (queued > 0 && !running.main && !rests()) {
      isHurried = false
      clearTimeout(resting)
      resting = undefined
      const taken = takeRows(queues, maxRows, running.passing?.keys)
      last = { at: performance.now(), rows: taken.values().reduce((sum, rows) => sum + rows.length, 0) }
      start('main', taken)
    }
    if (queued > 0 && running.main && !running.passing) start('passing', takePassing(queues, running.main))
  }

  return {
    depth: () => queued + (running.main?.rows ?? 0) + (running.passing?.rows ?? 0),
    flush: () => {
      isHurried = queued > 0
      send()
    },
    add: (row) =>
      new Promise((resolve, reject) => {
        const key = keyOf?.(row) ?? ''
        const own = queues.get(key)
        if (queued >= maxWaiting || (own && own.length >= mostOfKey))
          return reject(new OverloadedError('too many rows wait to be written'))
        if (own) own.push({ row, resolve, reject })
        else queues.set(key, [{ row, resolve, reject }])
        queued++
        const mayPass = running.main !== null && !running.passing && !running.main.keys.has(key)
        if (!scheduled && (running.main === null || mayPass)) {
          scheduled = true
          setImmediate(send)
        }
      }),
  }
}
