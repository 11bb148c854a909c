import assert from 'node:assert/strict'
import { createServer as createHttp, type Server } from 'node:http'
import { createServer } from 'node:net'
import { after, test } from 'node:test'
import { startSupplier } from '../../../test/didww/simulated-supplier.ts'
import { supplierSuite, unwrap } from '../suppliers.conformance.ts'
import { isSigned, sign } from './codec/signature.ts'
import { connectDidww } from './didww-supplier.ts'

const makeLab = async () => {
  const simulator = await startSupplier('--complete-ms', '50')
  return {
    simulator,
    supplier: connectDidww(simulator.settings),
    loseAnswer: () => simulator.fault('lose-answer', { method: 'POST' }),
    cancelOrder: () => simulator.fault('cancel-order'),
    sellAway: () => simulator.fault('number-gone', { method: 'POST' }),
    orders: async () =>
      (await simulator.log()).filter(({ method, path }) => method === 'POST' && path === '/orders').length,
  }
}

supplierSuite(makeLab)

test('every request names the version, and every order forbids back orders', async () => {
  const { simulator, supplier } = await makeLab()
  const order = { reference: 'ours', sku: 'none', item: 'any', callback: 'http://127.0.0.1/callback' } as const
  assert.deepEqual(await supplier.order(order), { outcome: 'refused', reason: 'Sku is invalid' })
  const [request] = await simulator.log()
  assert.equal(request?.version, '2026-04-16')
  assert.deepEqual(request?.body, {
    data: {
      type: 'orders',
      attributes: {
        allow_back_ordering: false,
        external_reference_id: 'ours',
        callback_url: 'http://127.0.0.1/callback',
        callback_method: 'post',
        items: [{ type: 'did_order_items', attributes: { sku_id: 'none', qty: 1 } }],
      },
    },
  })
})

/**
 * Checks for fewer than 20 requests per second, and no burst. A request delayed by a busy machine arrives closer to the
 * next one.
 */
const assertPaced = (times: readonly number[]) => {
  const spent = (times.at(-1) ?? 0) - (times[0] ?? 0)
  assert.ok(spent >= ((times.length - 1) / 20) * 1000 - 100, `${times.length} requests in ${spent} ms`)
  for (const [i, at] of times.entries()) assert.ok((times[i + 20] ?? Infinity) - at >= 700, `request ${i}`)
}

test('the client stays below 20 requests a second, whatever the load', async () => {
  // A rate of 19 a second leaves 50 ms: if a busy machine delays a request for longer, the twentieth comes too soon
  // after it.
  for (let tries = 1; ; tries++) {
    const { simulator, supplier } = await makeLab()
    const results = await Promise.all(Array.from({ length: 45 }, () => supplier.check()))
    assertPaced((await simulator.log()).map(({ at }) => at))
    const others = results.filter(({ outcome }) => outcome !== 'done')
    if (others.length === 0) break
    assert.ok(tries < 5, JSON.stringify(others))
  }
})

test('by default three processes together stay below 20 requests a second', async () => {
  const { simulator } = await makeLab()
  const { requests_per_second: _, ...settings } = simulator.settings
  const three = [0, 1, 2].map(() => connectDidww(settings))
  const results = await Promise.all(three.flatMap((one) => Array.from({ length: 9 }, () => one.check())))
  assert.deepEqual(
    results.filter(({ outcome }) => outcome !== 'done'),
    [],
  )
  assertPaced((await simulator.log()).map(({ at }) => at))
})

test('after 429 the client sends nothing for the requested time', async () => {
  const { simulator, supplier } = await makeLab()
  await simulator.fault('too-many')
  assert.deepEqual(await supplier.check(), { outcome: 'later', seconds: 1, reason: 'Too many requests' })
  unwrap(await supplier.check())
  const [first, second] = await simulator.log()
  // Whole milliseconds of two clocks: a second may read as slightly less.
  assert.ok((second?.at ?? 0) - (first?.at ?? 0) >= 990, JSON.stringify([first, second]))
})

test('after 429 queued requests wait on too, and none is lost', async () => {
  const { simulator } = await makeLab()
  // Half of the rate that the supplier allows: at 19 a second, a request that a busy machine delays for 50 ms makes the
  // supplier refuse another one for good.
  const supplier = connectDidww({ ...simulator.settings, requests_per_second: 10 })
  await simulator.fault('too-many')
  const results = await Promise.all(Array.from({ length: 20 }, () => supplier.check()))
  const others = results.filter(({ outcome }) => outcome !== 'done')
  assert.deepEqual(others, [{ outcome: 'later', seconds: 1, reason: 'Too many requests' }])
  const [first, ...rest] = (await simulator.log()).map(({ at }) => at)
  const soon = rest.filter((at) => at - (first ?? 0) < 990)
  assert.ok(soon.length <= 3, `${soon.length} were sent before the 429 arrived`)
})

test('a job gets its turn, however many searches there are', async () => {
  const { supplier } = await makeLab()
  const searches = Promise.all(Array.from({ length: 120 }, () => supplier.available(null, '')))
  const order = supplier.findOrder('ours')
  assert.equal(unwrap(await order), null)
  const later = (await searches).filter(({ outcome }) => outcome === 'later')
  assert.ok(later.length > 50, `${later.length} searches were rejected`)
})

test('deleting something that no longer exists succeeds', async () => {
  const { supplier } = await makeLab()
  const gone = '00000000-0000-4000-8000-000000000000'
  assert.deepEqual(await supplier.stopRenewal(gone), { outcome: 'done', value: null })
  assert.deepEqual(await supplier.cancelReservation(gone), { outcome: 'done', value: null })
})

test('an unknown country is reported, and never means the whole catalogue', async () => {
  const { simulator } = await makeLab()
  const groups = (...countries: string[]) => connectDidww({ ...simulator.settings, countries }).groups(1)
  for (const countries of [['XX'], ['GB', 'XX']])
    assert.deepEqual(await groups(...countries), { outcome: 'refused', reason: 'the supplier has no country XX' })
  assert.deepEqual([...new Set(unwrap(await groups('GB', 'DE')).groups.map(({ country }) => country))].sort(), [
    'DE',
    'GB',
  ])
})

test('a group without an area name is not sold, and the others are', async () => {
  const { simulator, supplier } = await makeLab()
  const before = unwrap(await supplier.groups(1)).groups.length
  await simulator.add([
    { type: 'countries', id: 'lt', attributes: { name: 'Lithuania', prefix: '370', iso: 'LT' } },
    { type: 'did_group_types', id: 'lt-local', attributes: { name: 'Local' } },
    { type: 'stock_keeping_units', id: 'lt-sku', attributes: { setup_price: '0.0', monthly_price: '1.0' } },
    {
      type: 'did_groups',
      id: 'lt-nowhere',
      attributes: { prefix: '5', area_name: null, features: [] },
      relationships: {
        country: { data: { type: 'countries', id: 'lt' } },
        did_group_type: { data: { type: 'did_group_types', id: 'lt-local' } },
        stock_keeping_units: { data: [{ type: 'stock_keeping_units', id: 'lt-sku' }] },
      },
      meta: {},
    },
  ])
  assert.equal(unwrap(await supplier.groups(1)).groups.length, before)
})

test('each failure is classified by its meaning', async () => {
  const { simulator, supplier } = await makeLab()
  const order = { reference: 'a', sku: 'b', item: 'any', callback: null } as const
  for (const kind of ['broken', 'garbled', 'lose-request'] as const) {
    await simulator.fault(kind)
    assert.equal((await supplier.check()).outcome, 'later', kind)
  }
  unwrap(await connectDidww(simulator.settings).check())
  await simulator.fault('broken')
  const other = connectDidww(simulator.settings)
  assert.equal((await other.order(order)).outcome, 'unknown')
  const stranger = connectDidww({ ...simulator.settings, api_key: 'no key' })
  assert.deepEqual(await stranger.check(), { outcome: 'refused', reason: 'Unauthorized' })
  assert.match(stranger.state().lastError ?? '', /key is refused/)
  const unreachable = connectDidww({ ...simulator.settings, base_url: 'http://127.0.0.1:3/v3' })
  assert.equal((await unreachable.order(order)).outcome, 'later', 'nothing was sent')
})

test('a dead supplier costs three attempts, and then nothing for a while', async () => {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  const address = server.address()
  const port = address && typeof address === 'object' ? address.port : 0
  const supplier = connectDidww({ api_key: 'k', base_url: `http://127.0.0.1:${port}`, requests_per_second: 19 })
  for (let i = 0; i < 20; i++) assert.equal((await supplier.check()).outcome, 'later')
  assert.ok(connections <= 3 + 3, `${connections} connections`)
  assert.equal(supplier.state().state, 'down')
})

/** A supplier with scripted answers. */
const answering = async (server: Server) => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  const address = server.address()
  const port = address && typeof address === 'object' ? address.port : 0
  return { api_key: 'k', base_url: `http://127.0.0.1:${port}`, requests_per_second: 19 }
}

test('only the order with our reference is taken from a search result', async () => {
  let list: object[] = []
  const settings = await answering(createHttp((_, response) => response.end(JSON.stringify({ data: list }))))
  const orderBody = (id: string, reference: string) => ({
    id,
    type: 'orders',
    attributes: { status: 'Completed', external_reference_id: reference },
  })
  const supplier = connectDidww(settings)
  assert.equal(unwrap(await supplier.findOrder('ours')), null)
  list = [orderBody('1', 'theirs'), orderBody('2', 'ours')]
  assert.deepEqual(unwrap(await supplier.findOrder('ours')), { id: '2', state: 'completed' })
  list = [orderBody('1', 'theirs')]
  assert.equal((await supplier.findOrder('ours')).outcome, 'later', 'an ignored filter proves nothing')
})

/** Published by the provider with its SDKs. */
const order = new Map([
  ['status', 'completed'],
  ['id', '1dd7a68b-e235-402b-8912-fe73ee14243a'],
  ['type', 'orders'],
])

test('callbacks are accepted only by their signature', () => {
  const vectors = [
    ['http://example.com/callbacks', 'fe99e416c3547f2f59002403ec856ea386d05b2f'],
    ['http://foo.com/bar', '4d1ce2be656d20d064183bec2ab98a2ff3981f73'],
    ['http://foo.com:80/bar', '4d1ce2be656d20d064183bec2ab98a2ff3981f73'],
    ['http://foo.com:8182/bar', 'eb8fcfb3d7ed4b4c2265d73cf93c31ba614384d1'],
    ['https://foo.com/bar', 'f26a771c302319a7094accbe2989bad67fff2928'],
    ['https://foo.com/bar?qwe=asd', '4a0e98ddf286acadd1d5be1b0ed85a4e541c3137'],
    ['https://qwe:asd@foo.com/bar', '7a8cd4a6c349910dfecaf9807e56a63787250bbd'],
  ] as const
  for (const [url, signature] of vectors) {
    assert.equal(sign('SOMEAPIKEY', url, order), signature, url)
    assert.ok(isSigned('SOMEAPIKEY', url, order, signature))
    assert.ok(!isSigned('OTHERKEY', url, order, signature))
    assert.ok(!isSigned('SOMEAPIKEY', url, new Map([...order, ['status', 'canceled']]), signature))
  }
  for (const signature of ['', 'x', 'é'.repeat(20)])
    assert.ok(!isSigned('SOMEAPIKEY', 'http://foo.com/bar', order, signature))
  assert.ok(!connectDidww({ api_key: 'SOMEAPIKEY' }).isGenuine('http://foo.com/bar', order, ''))
})
