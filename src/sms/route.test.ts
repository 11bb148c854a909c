import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routesFor } from './route.ts'

const connection = (name: string, settings: Parameters<typeof routesFor>[0][number]['settings']) => ({ name, settings })
const names = (connections: { name: string }[]) => connections.map(({ name }) => name)

const all = [
  connection('sandbox', { sandbox: true, priority: 0 }),
  connection('everywhere', {}),
  connection('spare', { priority: 200 }),
  connection('britain', { prefixes: ['44'] }),
  connection('mobile', { prefixes: ['447', '49'], priority: 500 }),
  connection('listens', { bind: 'receiver' }),
]

test('the longest prefix carries, then the lowest priority number', () => {
  assert.deepEqual(names(routesFor(all, '+447700900123')), ['mobile', 'britain', 'everywhere', 'spare'])
  assert.deepEqual(names(routesFor(all, '+442079460958')), ['britain', 'everywhere', 'spare'])
  assert.deepEqual(names(routesFor(all, '+33612345678')), ['everywhere', 'spare'])
})

test('the sandbox carries only what no real connection has prefixes for', () => {
  const some = [connection('sandbox', { sandbox: true }), connection('britain', { prefixes: ['44'] })]
  assert.deepEqual(names(routesFor(some, '+447700900123')), ['britain'])
  assert.deepEqual(names(routesFor(some, '+33612345678')), ['sandbox'])
})

test('without a connection that fits there is no route', () => {
  assert.deepEqual(routesFor([connection('britain', { prefixes: ['44'] })], '+33612345678'), [])
})
