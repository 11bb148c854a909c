import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../../test/database.ts'
import { makeBatcher, OverloadedError } from './batcher.ts'
import { asDatabaseError } from './unavailability.ts'

test('rows of one turn share a statement, and each gets its own result', async () => {
  const sizes: number[] = []
  const { add } = makeBatcher(
    async (rows: number[]) => {
      sizes.push(rows.length)
      return rows.map((row) => row * 2)
    },
    { maxRows: 4 },
  )
  const results = await Promise.all([1, 2, 3, 4, 5, 6].map(add))
  assert.deepEqual(results, [2, 4, 6, 8, 10, 12])
  assert.deepEqual(sizes, [4, 2])
})

test('the next batch gathers while one runs', async () => {
  const release: (() => void)[] = []
  const sizes: number[] = []
  const { add, depth } = makeBatcher((rows: number[]) => {
    sizes.push(rows.length)
    return new Promise<number[]>((resolve) => release.push(() => resolve(rows)))
  })
  const first = add(1)
  await new Promise((resolve) => setImmediate(resolve))
  const others = [add(2), add(3)]
  assert.equal(depth(), 3)
  release[0]?.()
  await first
  await new Promise((resolve) => setImmediate(resolve))
  release[1]?.()
  await Promise.all(others)
  assert.deepEqual(sizes, [1, 2])
  assert.equal(depth(), 0)
})

test('the next statement starts before the callers of the last one go on', async () => {
  const order: string[] = []
  const { add } = makeBatcher(
    async (rows: number[]) => {
      order.push(`statement ${rows.join(' ')}`)
      return rows
    },
    { maxRows: 2 },
  )
  const note = async (row: number) => {
    await add(row)
    order.push(`caller ${row}`)
  }
  await Promise.all([1, 2, 3].map(note))
  assert.deepEqual(order.slice(0, 2), ['statement 1 2', 'statement 3'])
})

test('a statement that follows closely waits for more rows, the first one does not wait', async () => {
  const batches: number[][] = []
  const { add } = makeBatcher(
    async (rows: number[]) => {
      batches.push(rows)
      return rows
    },
    { spacingMs: 1_000, restAfterRows: 1 },
  )
  await add(1)
  const second = add(2)
  await new Promise((resolve) => setImmediate(resolve))
  await Promise.all([second, add(3)])
  assert.deepEqual(batches, [[1], [2, 3]])
})

test('a statement waits only after one that carried many rows', async () => {
  const batches: number[][] = []
  const { add, flush } = makeBatcher(
    async (rows: number[]) => {
      batches.push(rows)
      return rows
    },
    { spacingMs: 1_000_000, restAfterRows: 3 },
  )
  await add(1)
  await Promise.all([add(2), add(3)])
  await Promise.all([add(4), add(5), add(6)])
  const last = add(7)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(batches, [[1], [2, 3], [4, 5, 6]])
  flush()
  await last
})

test('a flush starts the next statement without its pause', async () => {
  const batches: number[][] = []
  const { add, flush } = makeBatcher(
    async (rows: number[]) => {
      batches.push(rows)
      return rows
    },
    { spacingMs: 1_000_000, restAfterRows: 1 },
  )
  flush()
  await add(1)
  const others = [add(2), add(3)]
  flush()
  await Promise.all(others)
  flush()
  assert.deepEqual(batches, [[1], [2, 3]])
})

test('a batch does not wait once it is half full', async () => {
  const sizes: number[] = []
  const { add } = makeBatcher(
    async (rows: number[]) => {
      sizes.push(rows.length)
      return rows
    },
    { maxRows: 6, spacingMs: 600_000, restAfterRows: 1 },
  )
  await add(1)
  const waiting = [add(2), add(3)]
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(sizes, [1])
  await Promise.all([...waiting, add(4)])
  assert.deepEqual(sizes, [1, 3])
})

test('one bad row fails alone', async () => {
  const { add } = makeBatcher(async (rows: number[]) => {
    if (rows.includes(13)) throw new Error('bad row')
    return rows
  })
  const results = await Promise.allSettled([1, 13, 2].map(add))
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
})

test('a batch cancelled after a deadlock is run once more as a whole', async () => {
  const db = await testDatabase()
  for (const [deadlocks, sizes] of [
    [1, [3, 3]],
    [2, [3, 3, 1, 1, 1]],
  ] as const) {
    const ran: number[] = []
    const { add } = makeBatcher(async (rows: number[]) => {
      ran.push(rows.length)
      if (ran.length <= deadlocks) await db.raw(`do $$ begin raise exception sqlstate '40P01'; end $$`)
      return rows
    })
    assert.deepEqual(await Promise.all([1, 2, 3].map(add)), [1, 2, 3])
    assert.deepEqual(ran, sizes)
  }
})

test('all rows are refused at once when the database is down, as their fate is unknown', async () => {
  let runs = 0
  const { add } = makeBatcher(async () => {
    runs++
    throw asDatabaseError(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
  })
  const results = await Promise.allSettled([1, 2, 3].map(add))
  assert.ok(results.every(({ status }) => status === 'rejected'))
  assert.equal(runs, 1)
})

test('rows beyond the limit of waiting rows are refused', async () => {
  const { add } = makeBatcher(() => new Promise<number[]>(() => {}), { maxWaiting: 2 })
  void add(1)
  void add(2)
  await assert.rejects(add(3), OverloadedError)
})

test('a key with one row does not wait for the thousands of another key', async () => {
  const release: (() => void)[] = []
  const batches: string[][] = []
  const { add } = makeBatcher(
    (rows: string[]) => {
      batches.push(rows)
      return new Promise<string[]>((resolve) => release.push(() => resolve(rows)))
    },
    { maxRows: 8, maxWaiting: 100, keyOf: (row) => row[0] ?? '' },
  )
  const greedy = Array.from({ length: 75 }, (_, i) => add(`a${i}`))
  await assert.rejects(add('a75'), OverloadedError)
  const modest = add('b0')
  await new Promise((resolve) => setImmediate(resolve))
  assert.ok(batches[0]?.includes('b0'), `the first statement carried ${batches[0]?.join(' ')}`)
  assert.equal(batches[0]?.length, 8)
  let isOver = false
  const all = Promise.all([...greedy, modest]).finally(() => {
    isOver = true
  })
  while (!isOver) {
    release.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await all
  const own = batches.flat().filter((row) => row.startsWith('a'))
  assert.deepEqual(
    own,
    Array.from({ length: 75 }, (_, i) => `a${i}`),
    'rows of a key stay in order',
  )
})

/** Statements of keys that end when told. @returns each statement that ran, by its rows, with the function that ends it */
const heldStatements = () => {
  const statements: { rows: string; end: () => void }[] = []
  const batcher = makeBatcher(
    (rows: string[]) =>
      new Promise<string[]>((resolve) => statements.push({ rows: rows.join(' '), end: () => resolve(rows) })),
    { keyOf: (row) => row[0] ?? '' },
  )
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  return { ...batcher, statements, turn, carried: () => statements.map(({ rows }) => rows) }
}

test('a few rows of other keys pass a statement with many rows of one, and no key is in two statements', async () => {
  const { add, depth, statements, turn, carried } = heldStatements()
  const greedy = Array.from({ length: 16 }, (_, i) => add(`a${i}`))
  await turn()
  const quiet = [add('b0'), add('c0')]
  await turn()
  assert.deepEqual(carried().slice(1), ['b0 c0'])
  const later = [add('a16'), add('b1')]
  assert.equal(depth(), 20)
  statements[0]?.end()
  await Promise.all(greedy)
  await turn()
  assert.deepEqual(carried().slice(2), ['a16'], 'b waits for its statement')
  statements[1]?.end()
  await Promise.all(quiet)
  statements[2]?.end()
  await later[0]
  await turn()
  assert.deepEqual(carried().slice(3), ['b1'])
  statements[3]?.end()
  await Promise.all(later)
  assert.equal(depth(), 0)
})

const sixteen = Array.from({ length: 16 }, (_, i) => i)
for (const { name, running, waiting } of [
  { name: 'many rows of many keys', running: sixteen.map((i) => `${'abcd'[i % 4]}${i}`), waiting: ['e0'] },
  { name: 'few rows of one key', running: ['a0', 'a1', 'a2'], waiting: ['b0'] },
  {
    name: 'many rows of one key, where others have many',
    running: sixteen.map((i) => `a${i}`),
    waiting: ['b0', 'b1', 'b2'],
  },
])
  test(`no row passes a statement with ${name}`, async () => {
    const { add, statements, turn, carried } = heldStatements()
    const first = running.map(add)
    await turn()
    const others = waiting.map(add)
    await turn()
    assert.equal(statements.length, 1)
    statements[0]?.end()
    await Promise.all(first)
    await turn()
    assert.deepEqual(carried().slice(1), [waiting.join(' ')])
    statements[1]?.end()
    await Promise.all(others)
  })
