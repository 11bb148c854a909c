import assert from 'node:assert/strict'
import { test } from 'node:test'
import { smppDriver } from '../../../adapters/smpp/smpp-driver.ts'
import type { SmsCapabilities } from '../../../ports/sms.ts'
import { drawOrder, makeRouteTable, type RoutedConnection } from './route-table.ts'

const plain: SmsCapabilities = {
  ...{ send: true, texts: 'parts', header: 'udh8', languages: [], receipts: true, inbound: true, pace: null },
}
const connection = (
  name: string,
  settings: RoutedConnection['settings'],
  capabilities: Partial<SmsCapabilities> = {},
): RoutedConnection => ({ id: `id of ${name}`, name, settings, capabilities: { ...plain, ...capabilities } })
const names = (candidates: readonly { name: string }[]) => candidates.map(({ name }) => name)

const all = [
  connection('sandbox', { sandbox: true, priority: 0 }),
  connection('everywhere', {}),
  connection('spare', { priority: 200 }),
  connection('britain', { prefixes: ['44'] }),
  connection('mobile', { prefixes: ['447', '49', '44'], priority: 500 }),
  connection('listens', {}, { send: false }),
]

test('the longest prefix wins, then the lowest priority number', () => {
  const { decide } = makeRouteTable(all)
  assert.deepEqual(names(decide('+447700900123', true).candidates), ['mobile', 'britain', 'everywhere', 'spare'])
  assert.deepEqual(names(decide('+442079460958', true).candidates), ['britain', 'mobile', 'everywhere', 'spare'])
  assert.deepEqual(names(decide('+33612345678', true).candidates), ['everywhere', 'spare'])
  assert.equal(decide('+447700900123', true).candidates[0]?.prefix, '447')
})

test('the sandbox gets only destinations without a real connection', () => {
  const { decide } = makeRouteTable([
    connection('sandbox', { sandbox: true }),
    connection('britain', { prefixes: ['44'] }),
  ])
  assert.deepEqual(names(decide('+447700900123', true).candidates), ['britain'])
  assert.deepEqual(names(decide('+33612345678', true).candidates), ['sandbox'])
  assert.deepEqual(
    names(decide('+33612345678', false).candidates),
    [],
    'no account outside the sandbox reaches the sandbox',
  )
  assert.deepEqual(names(decide('+447700900123', false).candidates), ['britain'])
})

test('a destination without a matching connection has no route', () => {
  assert.deepEqual(
    makeRouteTable([connection('britain', { prefixes: ['44'] })]).decide('+33612345678', true).candidates,
    [],
  )
})

test('a decision has the same id in every process, and another id after a connection changed', () => {
  const id = (priority: number) => makeRouteTable([connection('one', { priority })]).decide('+447700900123', true).id
  assert.equal(id(1), id(1))
  assert.notEqual(id(1), id(2))
  assert.match(id(1), /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
})

test('messages are segmented for the longer header if any candidate needs it', () => {
  const cut = (...modes: ('udh8' | 'udh16' | 'sar' | 'payload')[]) => {
    const settings = { host: '127.0.0.1', port: 1, system_id: 'me', password: '' }
    const capabilities = modes.map((long) => smppDriver.capabilitiesOf({ ...settings, long }))
    return makeRouteTable(capabilities.map((one, i) => connection(String(i), {}, one))).decide('+447700900123', true)
  }
  assert.equal(cut('udh8').header, 'udh8')
  assert.equal(cut('udh8', 'payload').header, 'udh8')
  assert.equal(cut('udh8', 'sar').header, 'udh16')
  assert.equal(cut('payload', 'udh16').header, 'udh16')
})

test('equal candidates share by weight, and priority precedes weight', () => {
  const { candidates } = makeRouteTable([
    connection('one', { weight: 1 }),
    connection('three', { weight: 3 }),
    connection('spare', { priority: 101, weight: 1000 }),
  ]).decide('+447700900123', true)
  let seed = 7
  const random = () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return (seed + 1) / 2 ** 32
  }
  const first = new Map<string, number>()
  for (let i = 0; i < 4_000; i++) {
    const order = names(drawOrder(candidates, random))
    assert.equal(order[2], 'spare')
    first.set(order[0] ?? '', (first.get(order[0] ?? '') ?? 0) + 1)
  }
  const share = (first.get('three') ?? 0) / 4_000
  assert.ok(share > 0.71 && share < 0.79, `the connection with 3/4 of the weight got ${share}`)
})
