import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeBatcher, Overloaded } from './batch.ts'

test('rows of one turn go together, and each gets its own result', async () => {
  const sizes: number[] = []
  const { add } = makeBatcher(
    async (rows: number[]) => {
      sizes.push(rows.length)
      return rows.map((row) => row * 2)
    },
    { most: 4 },
  )
  const results = await Promise.all([1, 2, 3, 4, 5, 6].map(add))
  assert.deepEqual(results, [2, 4, 6, 8, 10, 12])
  assert.deepEqual(sizes, [4, 2])
})

test('while a batch is under way the next one gathers', async () => {
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

test('when the database is away all rows are refused at once, for nobody knows what became of them', async () => {
  let runs = 0
  const { add } = makeBatcher(async () => {
    runs++
    throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  })
  const results = await Promise.allSettled([1, 2, 3].map(add))
  assert.ok(results.every(({ status }) => status === 'rejected'))
  assert.equal(runs, 1)
})

test('more rows than may wait are refused', async () => {
  const { add } = makeBatcher(() => new Promise<number[]>(() => {}), { waiting: 2 })
  void add(1)
  void add(2)
  await assert.rejects(add(3), Overloaded)
})
