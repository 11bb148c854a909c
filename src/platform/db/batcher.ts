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

type Waiting<Row, Result> = { row: Row; resolve: (result: Result) => void; reject: (error: unknown) => void }

type BatchOptions<Row> = {
  readonly maxRows?: number
  readonly maxInFlight?: number
  readonly maxWaiting?: number
  readonly spacingMs?: number
  /** Rows of one key share a queue, for example an account. Default: one queue for all. */
  readonly keyOf?: (row: Row) => string
}

/**
 * Rows that arrive within one turn of the event loop share a statement. While the maximum number of statements runs,
 * further rows gather. A lone row does not wait. One statement at a time beat two on two cores. If rows wait when a
 * statement ends, the next one starts before the callers go on, so that the database works meanwhile.
 * @param run returns one result per row, in order. When it rejects because of a row, each row is retried alone, so that
 * one bad row fails alone. When the database is down, the fate of the rows is unknown, and all are rejected. After a
 * deadlock, the statement that PostgreSQL cancelled is run once more as a whole
 * @param options.spacing milliseconds between the starts of two statements, unless half of a full batch waits. Where
 * many rows arrive singly, starting and ending a statement costs more than the rows do
 */
export const makeBatcher = <Row, Result>(
  run: (rows: Row[]) => Promise<Result[]>,
  { maxRows = 128, maxInFlight = 1, maxWaiting = 10_000, spacingMs = 0, keyOf }: BatchOptions<Row> = {},
): Batcher<Row, Result> => {
  /** By key, in the order of their turns. */
  const queues = new Map<string, Waiting<Row, Result>[]>()
  /** Limit of waiting rows per key: a quarter of the capacity is reserved for the others. */
  const mostOfKey = keyOf ? Math.floor((maxWaiting * 3) / 4) : maxWaiting
  let queued = 0
  let running = 0
  let scheduled = false
  let isHurried = false
  let underWay = 0
  let last = Number.NEGATIVE_INFINITY
  let resting: NodeJS.Timeout | undefined

  /** Returns whether the next statement waits for more rows; a timer starts it then. */
  const rests = (): boolean => {
    const left = last + spacingMs - performance.now()
    if (left <= 0 || queued * 2 >= maxRows || isHurried) return false
    resting ??= setTimeout(() => {
      resting = undefined
      send()
    }, left)
    return true
  }

  /** Returns the rows of the next statement: keys take turns, and the rows of a key stay in order. */
  const next = (): Waiting<Row, Result>[] => {
    const [only] = queues.values()
    if (queues.size === 1 && only && only.length <= maxRows) {
      queues.clear()
      queued = 0
      return only
    }
    const batch: Waiting<Row, Result>[] = []
    while (batch.length < maxRows && queued > 0) {
      const share = Math.max(1, Math.floor((maxRows - batch.length) / queues.size))
      for (const [key, own] of [...queues]) {
        if (batch.length >= maxRows) break
        const taken = own.slice(0, share)
        batch.push(...taken)
        queued -= taken.length
        queues.delete(key)
        // Moves the key to the end of the queue.
        if (taken.length < own.length) queues.set(key, own.slice(share))
      }
    }
    return batch
  }

  const runPatiently = (rows: Row[]) =>
    run(rows).catch((error: unknown) => {
      if (sqlState(error) !== deadlock) throw error
      return run(rows)
    })

  /** @param ended called once the statement has ended, before its callers go on */
  const settle = async (batch: Waiting<Row, Result>[], ended = () => {}): Promise<void> => {
    try {
      const results = await runPatiently(batch.map(({ row }) => row))
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
      if (batch.length === 1 || isUnavailable(error)) for (const { reject } of batch) reject(error)
      else for (const one of batch) await settle([one])
    }
  }

  const send = () => {
    scheduled = false
    while (queued > 0 && running < maxInFlight && !rests()) {
      isHurried = false
      clearTimeout(resting)
      resting = undefined
      last = performance.now()
      const batch = next()
      running++
      underWay += batch.length
      let isRunning = true
      const ended = () => {
        if (!isRunning) return
        isRunning = false
        running--
        underWay -= batch.length
        send()
      }
      void settle(batch, ended).then(ended)
    }
  }

  return {
    depth: () => queued + underWay,
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
        if (!scheduled && running < maxInFlight) {
          scheduled = true
          setImmediate(send)
        }
      }),
  }
}
