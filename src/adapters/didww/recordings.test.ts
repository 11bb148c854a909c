import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, test } from 'node:test'
import { type Interaction, interactions, needsRecordings, recorded } from '../../../test/didww/recordings.ts'
import { startSupplier } from '../../../test/didww/simulated-supplier.ts'
import { type Fields, fieldsOf } from '../../../test/doubles/didww/resources.ts'
import { unwrap } from '../suppliers.conformance.ts'
import { connectDidww } from './didww-supplier.ts'

// Compares the simulator and the connector with recordings of the provider's own sandbox.

const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value : value ? [value] : []).map(fieldsOf)
const dataOf = ({ body }: Pick<Interaction, 'body'>) => listOf(body.data)

/** The includes of each interaction by name: the recorded addresses have lost their queries. */
const includes: Record<string, string> = {
  'available_dids/show': 'did_group.stock_keeping_units',
  'cities/show': 'country,region',
  'did_groups/show': 'country,city,did_group_type,region,stock_keeping_units',
  'did_reservations/show': 'available_did.did_group.stock_keeping_units',
  'dids/list': 'order',
  'regions/show': 'country',
}

const readable =
  /^(?:available_dids|balance|cities|countries|did_group_types|did_groups|did_reservations|dids|orders|regions)\//
const reads = interactions.filter(({ name, method }) => method === 'GET' && readable.test(name))
/** Changes of numbers; their trunks and emergency services are out of scope, and two were recorded without them. */
const changesOfNumbers = interactions.filter(
  ({ method, sent }) =>
    method === 'PATCH' && sent !== null && fieldsOf(fieldsOf(sent).data).relationships === undefined,
)
const orders = interactions.filter(({ method, sent }) => method === 'POST' && JSON.stringify(sent).includes('sku_id'))

/** Relationships without their links, which name the server. */
const related = (resource: Fields) =>
  Object.entries(fieldsOf(resource.relationships)).map(([name, value]) => [name, fieldsOf(value).data])

const asksSimulator = async () => {
  const simulator = await startSupplier('--empty', '--complete-ms', '0')
  const ask = async (method: string, path: string, body?: unknown) => {
    const headers = { 'api-key': simulator.settings.api_key, 'content-type': 'application/vnd.api+json' }
    const answer = await fetch(simulator.url + path, {
      method,
      headers,
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    return { status: answer.status, body: fieldsOf(await answer.json()), headers: answer.headers }
  }
  return { simulator, ask }
}

/** Every page of a collection, or the single answer. */
const whole = async (ask: Awaited<ReturnType<typeof asksSimulator>>['ask'], path: string) => {
  const all: Fields[] = []
  const included: Fields[] = []
  for (let page = 1; ; page++) {
    const paged = path.includes('/', 1) || path === '/balance' ? path : `${path}&page[size]=100&page[number]=${page}`
    const answer = await ask('GET', paged.includes('?') ? paged : paged.replace('&', '?'))
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    all.push(...dataOf(answer))
    included.push(...listOf(answer.body.included))
    if (fieldsOf(answer.body.links).next === undefined) return { ...answer, all, included }
  }
}

/** Moves times forward: a recorded reservation would have expired. */
const alive = (resource: Fields): Fields =>
  resource.type === 'did_reservations'
    ? { ...resource, attributes: { ...fieldsOf(resource.attributes), expires_at: '2099-01-01T00:00:00.000Z' } }
    : resource

test('the simulator answers in the provider’s format', needsRecordings, async (t) => {
  assert.ok(reads.length >= 18, `saw only ${reads.length}`)
  for (const interaction of reads) {
    const { simulator, ask } = await asksSimulator()
    const resources = [...dataOf(interaction), ...listOf(interaction.body.included)].map(alive)
    await simulator.add(resources)
    const include = includes[interaction.name]
    const path = include
      ? `${interaction.path}${interaction.path.includes('?') ? '&' : '?'}include=${include}`
      : interaction.path
    const answer = await whole(ask, path)
    assert.equal(answer.headers.get('content-type'), 'application/vnd.api+json')
    // The provider, too, shows a random sample of available numbers.
    assert.equal(answer.all.length, dataOf(interaction).length, interaction.name)
    for (const [kind, input, expected] of [
      ['data', answer.all, dataOf(interaction)],
      ['included', answer.included, listOf(interaction.body.included)],
    ] as const)
      for (const one of expected.map(alive)) {
        const same = input.find(({ type, id }) => type === one.type && id === one.id)
        assert.ok(same, `${interaction.name}: ${one.type} ${one.id} is not in ${kind}`)
        assert.deepEqual(same.attributes, one.attributes, interaction.name)
        const [ours, theirs] = [new Map(related(same).map(([k, v]) => [k, v])), related(one)]
        for (const [name, data] of theirs) {
          assert.ok(ours.has(name), `${interaction.name}: ${one.type} has no ${name}`)
          if (data !== undefined) assert.deepEqual(ours.get(name), data, `${interaction.name}: ${name}`)
        }
        if (kind === 'data' && one.meta !== undefined)
          for (const name of Object.keys(fieldsOf(one.meta)))
            assert.ok(name in fieldsOf(same.meta), `${interaction.name}: ${name} in meta`)
      }
    await simulator.stop()
  }
  t.diagnostic(`${reads.length} recorded reads agree`)
})

const groupFor = (item: Fields, sku: string, numbers: number): object[] => {
  const group = { type: 'did_groups', id: String(item.did_group_id) }
  const price = { setup_price: item.setup_price, monthly_price: item.monthly_price, channels_included_count: 0 }
  return [
    {
      ...group,
      attributes: {},
      relationships: { stock_keeping_units: { data: [{ type: 'stock_keeping_units', id: sku }] } },
      meta: {},
    },
    { type: 'stock_keeping_units', id: sku, attributes: price },
    ...Array.from({ length: numbers }, (_, i) => ({
      type: 'available_dids',
      id: `${sku}-${i}`,
      attributes: { number: `4930${1000 + i}` },
      relationships: { did_group: { data: group } },
    })),
  ]
}

test('the simulator takes the recorded orders and answers as the provider did', needsRecordings, async () => {
  assert.equal(orders.length, 4)
  for (const { name, sent, status, body } of orders) {
    const { simulator, ask } = await asksSimulator()
    const attributes = fieldsOf(fieldsOf(fieldsOf(sent).data).attributes)
    const answered = fieldsOf(fieldsOf(body.data).attributes)
    await simulator.add([{ type: 'balances', id: 'b', attributes: { total_balance: '100.00' } }])
    for (const item of listOf(attributes.items).map((one) => fieldsOf(one.attributes))) {
      const quantity = Number(item.qty ?? 1)
      const priced = listOf(answered.items)
        .map((one) => fieldsOf(one.attributes))
        .find(({ qty }) => qty === quantity)
      await simulator.add(groupFor(priced ?? {}, String(item.sku_id), quantity))
      const number = { type: 'available_dids', id: `${item.sku_id}-0` }
      if (item.available_did_id) {
        const group = { type: 'did_groups', id: String(priced?.did_group_id) }
        const relationships = { did_group: { data: group } }
        await simulator.add([
          { type: 'available_dids', id: item.available_did_id, attributes: { number: '493' }, relationships },
        ])
      }
      if (item.did_reservation_id) {
        const attributes = { expires_at: '2099-01-01T00:00:00.000Z', description: '' }
        const relationships = { available_did: { data: number } }
        await simulator.add([{ type: 'did_reservations', id: item.did_reservation_id, attributes, relationships }])
      }
    }
    const answer = await ask('POST', '/orders', sent)
    assert.equal(answer.status, status, `${name}: ${JSON.stringify(answer.body)}`)
    const ours = fieldsOf(fieldsOf(answer.body.data).attributes)
    assert.deepEqual(
      Object.keys(answered).filter((key) => !(key in ours)),
      [],
      name,
    )
    const sorted = (list: unknown) =>
      listOf(list).sort((a, b) => Number(fieldsOf(a.attributes).qty) - Number(fieldsOf(b.attributes).qty))
    assert.deepEqual(
      sorted(ours.items).map((one) => Object.keys(fieldsOf(one.attributes)).sort()),
      sorted(answered.items).map((one) => Object.keys(fieldsOf(one.attributes)).sort()),
    )
    for (const field of ['status', 'description', 'callback_url', 'callback_method'])
      assert.equal(ours[field], answered[field], `${name}: ${field}`)
    await simulator.stop()
  }
})

test('the simulator changes numbers as the provider does', needsRecordings, async (t) => {
  assert.ok(changesOfNumbers.length >= 4, `saw only ${changesOfNumbers.length}`)
  const writable = ['description', 'terminated', 'billing_cycles_count', 'capacity_limit', 'dedicated_channels_count']
  const before = dataOf(recorded('dids/show'))
  for (const { name, path, sent, status, body } of changesOfNumbers) {
    const { simulator, ask } = await asksSimulator()
    await simulator.add(before)
    const answer = await ask('PATCH', path, sent)
    assert.equal(answer.status, status, `${name}: ${JSON.stringify(answer.body)}`)
    const [ours, theirs] = [answer.body, body].map((one) => fieldsOf(fieldsOf(one.data).attributes))
    const changed = Object.keys(fieldsOf(fieldsOf(fieldsOf(sent).data).attributes))
    for (const field of changed.filter((field) => writable.includes(field)))
      assert.deepEqual(ours?.[field], theirs?.[field], `${name}: ${field}`)
    if (name === 'dids/update_terminated')
      assert.deepEqual([ours?.blocked, ours?.billing_cycles_count], [theirs?.blocked, theirs?.billing_cycles_count])
    await simulator.stop()
  }
  t.diagnostic(`${changesOfNumbers.map(({ name }) => name).join(', ')} agree`)
})

test('the simulator reserves as the provider does', needsRecordings, async () => {
  const { simulator, ask } = await asksSimulator()
  await simulator.add(groupFor({ did_group_id: 'g' }, 'sku', 1))
  const relationships = { available_did: { data: { type: 'available_dids', id: 'sku-0' } } }
  const data = { type: 'did_reservations', attributes: { description: 'DIDWW' }, relationships }
  const answer = await ask('POST', '/did_reservations', { data })
  const { status, body } = recorded('did_reservations/create')
  assert.equal(answer.status, status)
  const [ours, theirs] = [answer.body, body].map((one) => fieldsOf(fieldsOf(one.data).attributes))
  assert.deepEqual(Object.keys(ours ?? {}).sort(), Object.keys(theirs ?? {}).sort())
  const minutes = (one: Fields | undefined) =>
    Math.round((Date.parse(String(one?.expires_at)) - Date.parse(String(one?.created_at))) / 60_000)
  assert.equal(minutes(ours), minutes(theirs))
  const list = await ask('GET', '/did_reservations')
  const recording = recorded('did_reservations/list').body
  for (const name of Object.keys(fieldsOf(recording.meta))) assert.ok(name in fieldsOf(list.body.meta), name)
  for (const name of Object.keys(fieldsOf(recording.links))) assert.ok(name in fieldsOf(list.body.links), name)
})

/** Replays the provider's recorded answers: one for each method and path. */
const replay = async (...names: string[]) => {
  const answers = names.map(recorded)
  const requests: { method: string; path: string; headers: NodeJS.Dict<string | string[]>; body: unknown }[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += String(piece)
    const { method = '', url = '', headers } = request
    const path = url.split('?')[0] ?? ''
    requests.push({ method, path, headers, body: text ? JSON.parse(text) : null })
    // A list may be requested where a single resource was recorded: a document of one is read alike.
    const found = answers.find(
      (one) => one.method === method && (one.path.split('?')[0] === path || one.path.startsWith(`${path}/`)),
    )
    response.writeHead(found?.status ?? 404, { 'content-type': 'application/vnd.api+json' })
    response.end(JSON.stringify(found?.body ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  const address = server.address()
  const port = address && typeof address === 'object' ? address.port : 0
  const supplier = connectDidww({
    api_key: 'test-api-key',
    base_url: `http://127.0.0.1:${port}`,
    requests_per_second: 19,
  })
  return { supplier, requests }
}

test('the connector reads the recorded catalogue', needsRecordings, async () => {
  const { supplier, requests } = await replay('did_groups/show', 'available_dids/list', 'balance/list')
  const { groups, next } = unwrap(await supplier.groups(1))
  const [aachen] = groups
  assert.deepEqual([groups.length, next], [1, null])
  const { registration, ...rest } = aachen ?? {}
  assert.match(String(registration), /^German Geographic Registration/)
  assert.deepEqual(rest, {
    id: '2187c36d-28fb-436f-8861-5a0f5b5a3ee1',
    country: 'DE',
    callingCode: '49',
    type: 'local',
    prefix: '241',
    area: 'Aachen',
    region: null,
    city: 'Aachen',
    features: ['voice'],
    available: 1,
    selectable: false,
    offers: [
      { sku: '5c6f00cd-cfca-441f-9322-5d000458b44f', setup: '0.4', monthly: '0.8', channels: 0 },
      { sku: 'afcb54cd-1e36-472a-9f5b-07328d0d187f', setup: '1.0', monthly: '4.8', channels: 2 },
    ],
  })
  const numbers = unwrap(await supplier.available(null, ''))
  assert.equal(numbers.length, 10)
  assert.deepEqual(numbers[0], { id: '0b76223b-9625-412f-b0f3-330551473e7e', group: null, number: '+16169886810' })
  assert.equal(unwrap(await supplier.check()), 'balance USD 60.00')
  for (const [name, value] of recorded('balance/list').headers)
    for (const { headers } of requests) assert.equal(headers[name], value, name)
})

test('a group without its included relations is not sold; a number names its group', needsRecordings, async () => {
  const { supplier } = await replay('did_groups/list', 'available_dids/show')
  assert.deepEqual(unwrap(await supplier.groups(1)).groups, [])
  const [number] = unwrap(await supplier.available(null, ''))
  assert.equal(number?.group, 'a9e3d346-d7bc-4a85-adb0-8ef1119cf237')
})

test('the connector orders as was recorded, and reads the answers', needsRecordings, async () => {
  for (const [name, item] of [
    ['orders/create_1', { reservation: 'e3ed9f97-1058-430c-9134-38f1c614ee9f' }],
    ['orders/create_3', { number: 'c43441e3-82d4-4d84-93e2-80998576c1ce' }],
    ['orders_with_callback/create', 'any'],
  ] as const) {
    // The file names do not show which orders they contain.
    const recording = interactions
      .filter((one) => one.path === '/orders' && one.method === 'POST')
      .find(({ sent }) => {
        const text = JSON.stringify(sent)
        return item === 'any'
          ? text.includes('callback_url')
          : text.includes('number' in item ? item.number : item.reservation)
      })
    assert.ok(recording, name)
    const { supplier, requests } = await replay(recording.name)
    const expected = fieldsOf(fieldsOf(fieldsOf(recording.sent).data).attributes)
    const [first] = listOf(expected.items)
    const sku = String(fieldsOf(first?.attributes).sku_id)
    const callback = item === 'any' ? 'https://example.com/callback' : null
    const order = unwrap(await supplier.order({ reference: 'ours', sku, item, callback }))
    assert.deepEqual(order, { id: fieldsOf(recording.body.data).id, state: 'pending' })
    const sent = fieldsOf(fieldsOf(fieldsOf(requests[0]?.body).data).attributes)
    assert.deepEqual(sent, { ...expected, allow_back_ordering: false, external_reference_id: 'ours' })
  }
})

test('the connector reads recorded orders, numbers and reservations', needsRecordings, async () => {
  const { supplier, requests } = await replay(
    'orders/show',
    'dids/list',
    'dids/update_terminated',
    'did_reservations/create',
    'did_reservations/list',
  )
  const id = '9df11dac-9d83-448c-8866-19c998be33db'
  assert.deepEqual(unwrap(await supplier.orderState(id)), { id, state: 'completed' })
  const delivered = unwrap(await supplier.deliveredNumbers(id))
  assert.deepEqual(
    delivered.map(({ number }) => number),
    ['+16091609123456797', '+16091609123456798', '+16091609123456799'],
  )
  unwrap(await supplier.stopRenewal(delivered[0]?.id ?? ''))
  assert.deepEqual(fieldsOf(requests.at(-1)?.body).data, {
    id: '9df99644-f1a5-4a3c-99a4-559d758eb96b',
    type: 'dids',
    attributes: { billing_cycles_count: 0 },
  })
  const held = unwrap(await supplier.reserve('857d1462-5f43-4238-b007-ff05f282e41b', 'DIDWW'))
  assert.deepEqual(held, {
    id: 'fd38d3ff-80cf-4e67-a605-609a2884a5c4',
    until: Date.parse('2018-12-28T16:22:00.417Z'),
  })
  assert.deepEqual(unwrap(await supplier.reservation('DIDWW')), held)
})

test('the connector reads a recorded refusal', needsRecordings, async () => {
  const { status, body } = recorded('address_requirement_validations/create_1')
  const server = createServer((_request, response) => response.writeHead(status).end(JSON.stringify(body)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  const address = server.address()
  const port = address && typeof address === 'object' ? address.port : 0
  const supplier = connectDidww({ api_key: 'k', base_url: `http://127.0.0.1:${port}` })
  const refused = await supplier.order({ reference: 'a', sku: 'b', item: 'any', callback: null })
  assert.equal(refused.outcome, 'refused')
  assert.match(JSON.stringify(refused), /Identity Place of Birth must be Belgium; .*; Address in Belgium required/)
})
