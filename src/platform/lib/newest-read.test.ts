import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeNewestRead } from './newest-read.ts'

const begin = () => {
  const reads: PromiseWithResolvers<string>[] = []
  const applied: string[] = []
  const list = makeNewestRead(
    () => {
      const read = Promise.withResolvers<string>()
      reads.push(read)
      return read.promise
    },
    (found) => applied.push(found),
  )
  return { reads, applied, list }
}

test('an older read that ends after a newer one is not applied', async () => {
  const { reads, applied, list } = begin()
  const both = [list.reload(), list.reload()]
  reads[1]?.resolve('new')
  reads[0]?.resolve('old')
  await Promise.all(both)
  assert.deepEqual(applied, ['new'])
})

test('a discarded read is not applied, and the next one is', async () => {
  const { reads, applied, list } = begin()
  const first = list.reload()
  list.discard()
  const second = list.reload()
  for (const [i, read] of reads.entries()) read.resolve(String(i))
  await Promise.all([first, second])
  assert.deepEqual(applied, ['1'])
})

test('a failed read rejects and applies nothing', async () => {
  const { reads, applied, list } = begin()
  const first = list.reload()
  reads[0]?.reject(new Error('no database'))
  await assert.rejects(first, /no database/)
  assert.deepEqual(applied, [])
})
