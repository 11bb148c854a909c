import { isUnavailable, sqlState } from './sql.ts'

/** Gathers single rows into statements of many. */
export type Batcher<Row, Result> = {
  /** Adds a row; resolves with its result once the statement that carried it has committed. */
  add(row: Row): Promise<Result>
  /** Rows that wait or are on their way. */
  depth(): number
}

/** Thrown when more rows wait than may, of this key or in all. */
export class Overloaded extends Error {}

/** SQLSTATE deadlock_detected (PostgreSQL, appendix A). */
const deadlock = '40P01'

type Waiting<Row, Result> = { row: Row; resolve: (result: Result) => void; reject: (error: unknown) => void }

type BatchOptions<Row> = {
  readonly most?: number
  readonly inFlight?: number
  readonly waiting?: number
  readonly spacing?: number
  /** Rows of one key share a queue: the account, say. Default: one queue for all. */
  readonly keyOf?: (row: Row) => string
}

/**
 * Rows that come within one turn of the event loop go together; while as many statements are under way as may be, the
 * rest gathers. A lone row waits for nobody. One statement at a time beat two on two cores (house.md 9).
 *
 * @param run gives one result for each row, in order. When it rejects because of a row, each is tried alone, so that one
 *   bad row fails alone; when the database is away, what became of the rows is unknown, and all are rejected. Of two
 *   statements that waited for each other the one that PostgreSQL ended is run once more, whole
 * @param options.spacing milliseconds from the beginning of a statement to that of the next one, unless half of what fits into
 *   it waits: where many rows come one by one, a statement's own beginning and end cost more than they do
 */
export const makeBatcher = <Row, Result>(
  run: (rows: Row[]) => Promise<Result[]>,
  { most = 128, inFlight = 1, waiting = 10_000, spacing = 0, keyOf }: BatchOptions<Row> = {},
): Batcher<Row, Result> => {
  /** By key, in the order of their turns. */
  const queues = new Map<string, Waiting<Row, Result>[]>()
  /** Rows of one key that may wait: a quarter of the room is left to others. */
  const mostOfKey = keyOf ? Math.floor((waiting * 3) / 4) : waiting
  let queued = 0
  let running = 0
  let scheduled = false
  let underWay = 0
  let last = Number.NEGATIVE_INFINITY
  let resting: NodeJS.Timeout | undefined

  /** Whether the next statement is to wait for more rows; then it begins by itself. */
  const rests = (): boolean => {
    const left = last + spacing - performance.now()
    if (left <= 0 || queued * 2 >= most) return false
    resting ??= setTimeout(() => {
      resting = undefined
      send()
    }, left)
    return true
  }

  /** The rows of the next statement: keys take turns, and the rows of a key keep their order. */
  const next = (): Waiting<Row, Result>[] => {
    const [only] = queues.values()
    if (queues.size === 1 && only && only.length <= most) {
      queues.clear()
      queued = 0
      return only
    }
    const batch: Waiting<Row, Result>[] = []
    while (batch.length < most && queued > 0) {
      const share = Math.max(1, Math.floor((most - batch.length) / queues.size))
      for (const [key, own] of [...queues]) {
        if (batch.length >= most) break
        const taken = own.slice(0, share)
        batch.push(...taken)
        queued -= taken.length
        queues.delete(key)
        // To the end of the line of keys.
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

  const settle = async (batch: Waiting<Row, Result>[]): Promise<void> => {
    try {
      const results = await runPatiently(batch.map(({ row }) => row))
      for (const [i, { resolve, reject }] of batch.entries()) {
        const result = results[i]
        if (result === undefined) reject(new Error('a batch gave too few results'))
        else resolve(result)
      }
    } catch (error) {
      if (batch.length === 1 || isUnavailable(error)) for (const { reject } of batch) reject(error)
      else for (const one of batch) await settle([one])
    }
  }

  const send = () => {
    scheduled = false
    while (queued > 0 && running < inFlight && !rests()) {
      clearTimeout(resting)
      resting = undefined
      last = performance.now()
      const batch = next()
      running++
      underWay += batch.length
      void settle(batch).then(() => {
        running--
        underWay -= batch.length
        send()
      })
    }
  }

  return {
    depth: () => queued + underWay,
    add: (row) =>
      new Promise((resolve, reject) => {
        const key = keyOf?.(row) ?? ''
        const own = queues.get(key)
        if (queued >= waiting || (own && own.length >= mostOfKey))
          return reject(new Overloaded('more rows wait to be written than may'))
        if (own) own.push({ row, resolve, reject })
        else queues.set(key, [{ row, resolve, reject }])
        queued++
        if (!scheduled && running < inFlight) {
          scheduled = true
          setImmediate(send)
        }
      }),
  }
}
