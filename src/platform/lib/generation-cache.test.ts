import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeGenerationCache } from './generation-cache.ts'

test('a loaded value is cached until the cache is cleared', async () => {
  const cache = makeGenerationCache<string>(10)
  assert.equal(await cache.load('a', async () => 'one'), 'one')
  assert.equal(cache.get('a'), 'one')
  cache.clear()
  assert.equal(cache.get('a'), undefined)
})

test('a value read before the cache was cleared is returned, and not cached', async () => {
  const cache = makeGenerationCache<string>(10)
  const { promise, resolve } = Promise.withResolvers<string>()
  const loading = cache.load('a', () => promise)
  cache.clear()
  resolve('old')
  assert.equal(await loading, 'old')
  assert.equal(cache.get('a'), undefined)
})

test('a missing value is not cached', async () => {
  const cache = makeGenerationCache<string>(10)
  assert.equal(await cache.load('a', async () => null), null)
  assert.equal(cache.get('a'), undefined)
})

test('a full cache evicts its oldest tenth and keeps the newest entries', async () => {
  const cache = makeGenerationCache<number>(20)
  for (let i = 0; i <= 20; i++) await cache.load(String(i), async () => i)
  assert.deepEqual(
    [0, 1, 2, 19, 20].map((key) => cache.get(String(key))),
    [undefined, undefined, 2, 19, 20],
  )
})
