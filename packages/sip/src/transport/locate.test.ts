import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeSipResolver } from './locate.ts'

test('the default resolver answers localhost with loopback addresses, without DNS', async (t) => {
  // No name server listens here: a query would fail.
  const resolver = makeSipResolver(['127.0.0.1:1'])
  t.after(() => resolver.close())
  assert.deepEqual(await resolver.addresses('localhost'), ['127.0.0.1', '::1'])
  assert.deepEqual(await resolver.addresses('sip.localhost'), ['127.0.0.1', '::1'])
})
