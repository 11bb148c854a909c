import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, test } from 'node:test'
import { openProgram } from '../../src/domains/calls/programs/program-testing.ts'
import { makeStreamServer } from '../media/stream-server.ts'
import { fullForm } from '../needs.ts'
import { buyNumber, homeOnDisk, type Platform, startPlatform, until } from '../platform.ts'
import { type Cdr, dialling, history, operate, rate } from './program-calls.ts'
import { freePortSettings, makeCaller, openTenant, secondsOf, watchCapacity } from './voice-fixture.ts'

// A `dial`, or a call by API, to a number of the same account that runs a program: the program runs at the called side.

const platform = await startPlatform(homeOnDisk(), freePortSettings)
after(() => platform.end())

const further = fullForm('the fast form has the ends of calls that programs dial')

type OwnCdr = Cdr & Readonly<Record<'direction' | 'from' | 'to_number' | 'caller_id_used' | 'recording_url', string>>

const handset = '+447700901301'
const prompt = { verb: 'play', tone: { hertz: [1_000], on_ms: 60_000 } }
const twiml = (verbs: () => string) => (response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'text/xml' }).end(`<Response>${verbs()}</Response>`)
const json = (verbs: () => readonly object[]) => (response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(verbs()))

/** Two numbers of an account, which run the programs at two addresses. */
const open = async (tenant: Platform, urls: readonly [string, string], more: object = {}) => {
  const [first, second] = [(await buyNumber(tenant)).number, (await buyNumber(tenant)).number]
  const { numbers } = (await tenant.call('GET', '/open/voip/virtual-numbers')).body
  for (const [index, number] of [first, second].entries()) {
    const { uuid } = numbers.find((row: { phone_number: string }) => row.phone_number === number)
    const voice = { kind: 'url', url: urls[index] }
    const changed = await tenant.call('PUT', `/open/voip/virtual-numbers/${uuid}`, { voice, ...more })
    assert.equal(changed.status, 200, JSON.stringify(changed.body))
  }
  return { tenant, first, second }
}

/** The records of an account, oldest first, once there are so many and all have a state. */
const records = (tenant: Platform, count: number, is: (cdr: OwnCdr) => boolean): Promise<OwnCdr[]> =>
  until(async () => {
    const cdrs = (await history(tenant)) as OwnCdr[]
    return cdrs.length === count && cdrs.every(is) && cdrs.toReversed()
  })
const isOver = ({ active }: Cdr) => !active
const isAnswered = ({ status }: Cdr) => status === 'ANSWERED'
const reasonsOf = (cdrs: readonly Cdr[]) => cdrs.map(({ end_reason }) => end_reason)

const order = async ({ tenant, first }: Awaited<ReturnType<typeof open>>, to: string, verbs: readonly object[]) => {
  const made = await tenant.call('POST', '/open/voip/calls', { from_number: first, to, verbs })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body.cdr.uuid as string
}

test('a dial to an own number runs its program at the called side, free and with a record of its own: keys, streams and recordings work on each side', async (t) => {
  const agent = await makeStreamServer(true)
  const listener = await makeStreamServer()
  t.after(() => Promise.all([agent.close(), listener.close()]))
  const program = await openProgram(t, {
    '/one': json(() => verbs),
    '/dialled': [{ verb: 'hangup' }],
    '/two': [{ verb: 'gather', num_digits: 1, timeout: 60, prompts: [prompt], action: '/chosen' }],
    '/chosen': [{ verb: 'stream', url: agent.url }, { verb: 'hangup' }],
  })
  const { tenant } = await openTenant(platform)
  const own = await open(tenant, [`${program.base}/one`, `${program.base}/two`], { record_inbound: true })
  const verbs = [
    { verb: 'stream', url: listener.url, direction: 'in' },
    { ...dialling(own.second), action: '/dialled' },
  ]
  const caller = makeCaller(tenant, handset, own.first)
  const id = await caller.ring()
  await until(async () => secondsOf((await caller.seen(id)).tones, 1_000) > 0.3)
  await tenant.call('POST', `/sandbox/handsets/${handset}/calls/${id}/keys`, { digits: '2' })
  await until(async () => secondsOf((await caller.seen(id)).tones, 620) > 0.3)
  assert.equal(listener.streams.length, 1)
  agent.streams[0]?.socket.close(4_000)
  assert.equal((await caller.ended(id)).state, 'completed')
  assert.deepEqual(
    program.received.map(({ path, body: { result } }) => [path, result?.digits ?? result?.status]),
    [
      ['/one', undefined],
      ['/two', undefined],
      ['/chosen', '2'],
      ['/dialled', 'completed'],
    ],
  )
  const cdrs = await records(tenant, 3, isOver)
  assert.deepEqual(
    cdrs.map((cdr) => [cdr.direction, cdr.to_number, cdr.status, cdr.end_reason, cdr.recording_url !== undefined]),
    [
      ['I', own.first, 'COMPLETED', '200', true],
      ['O', own.second, 'COMPLETED', '200', false],
      ['I', own.second, 'COMPLETED', '200', true],
    ],
  )
  assert.deepEqual([cdrs[2]?.from, program.received[1]?.body.call.from], [handset, handset])
  assert.deepEqual(
    cdrs.slice(1).map(({ call_cost }) => call_cost.call_price),
    [0, 0],
  )
})

test('a Dial in TwiML to an own number whose program is busy goes on, and both records say so', async (t) => {
  const program = await openProgram(t, {
    '/one': twiml(() => `<Dial action="/dialled">${own.second}</Dial>`),
    '/dialled': twiml(() => '<Hangup/>'),
    '/two': twiml(() => '<Reject reason="busy"/>'),
  })
  const { tenant } = await openTenant(platform)
  const own = await open(tenant, [`${program.base}/one`, `${program.base}/two`])
  const caller = makeCaller(tenant, handset, own.first)
  assert.equal((await caller.ended(await caller.ring())).state, 'completed')
  const { body } = program.received.at(-1) ?? assert.fail()
  assert.deepEqual([body.event, body.result?.status, body.result?.sip_status], ['verb.completed', 'busy', 486])
  const cdrs = await records(tenant, 3, isOver)
  assert.deepEqual(
    cdrs.map(({ status, end_reason }) => [status, end_reason]),
    [
      ['COMPLETED', '200'],
      ['BUSY', '486'],
      ['BUSY', '486'],
    ],
  )
})

test('a call by API to an own number connects its program with that of the number, in both interfaces', async (t) => {
  const program = await openProgram(t, {
    '/two': [{ verb: 'gather', num_digits: 1, timeout: 60, action: '/chosen' }],
    '/chosen': [{ verb: 'hangup' }],
  })
  const { tenant } = await openTenant(platform)
  const own = await open(tenant, [`${program.base}/two`, `${program.base}/two`])
  const chosen = (n: number) =>
    until(async () => program.received.filter(({ path }) => path === '/chosen')[n - 1]?.body.result?.digits)
  await order(own, own.second, [{ verb: 'dtmf', digits: '2' }, prompt])
  assert.equal(await chosen(1), '2')
  const { account_sid: sid, auth_token: token } = (await tenant.call('POST', '/open/compat/credentials', {})).body
  const Twiml = '<Response><Play digits="3"/><Pause length="60"/></Response>'
  const made = await fetch(`${platform.url}/2010-04-01/Accounts/${sid}/Calls.json`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${sid}:${token}`).toString('base64')}` },
    body: new URLSearchParams({ To: own.second, From: own.first, Twiml }),
  })
  assert.equal(made.status, 201, await made.text())
  assert.equal(await chosen(2), '3')
  const cdrs = await records(tenant, 4, isOver)
  assert.deepEqual(
    cdrs.map((cdr) => [cdr.direction, cdr.caller_id_used, cdr.to_number, cdr.status, cdr.end_reason]),
    ['O', 'I', 'O', 'I'].map((direction) => [direction, own.first, own.second, 'COMPLETED', '200']),
  )
  assert.ok(cdrs.every(({ call_cost }) => call_cost.call_price === 0))
})

test('a call by API that waits while its own number is released is not placed: nobody would pay the trunk', async (t) => {
  const program = await openProgram(t, { '/two': [prompt] })
  const { tenant } = await openTenant(platform)
  const own = await open(tenant, [`${program.base}/two`, `${program.base}/two`])
  const { account } = (await tenant.call('GET', '/open/info')).body
  await operate(platform, 'PATCH', `accounts/${account.uuid}/call-limits`, { calls_at_a_time: 1 })
  const talking = await order(own, handset, [prompt])
  await records(tenant, 1, isAnswered)
  await order(own, own.second, [prompt])
  const { numbers } = (await tenant.call('GET', '/open/voip/virtual-numbers')).body
  const { uuid } = numbers.find((row: { phone_number: string }) => row.phone_number === own.second)
  assert.equal((await tenant.call('DELETE', `/open/voip/virtual-numbers/${uuid}`)).status, 200)
  await tenant.call('POST', `/open/voip/call/${talking}/commands`, { command: 'hangup' })
  const cdrs = await records(tenant, 2, isOver)
  assert.deepEqual(
    cdrs.map(({ status, end_reason, call_cost }) => [status, end_reason, call_cost.call_price]),
    [
      ['COMPLETED', '200', rate],
      ['FAILED', 'unknown_number', 0],
    ],
  )
})

test('own numbers that dial one another are refused at depth 5, called from outside or by the API', async (t) => {
  const program = await openProgram(t, {
    '/one': json(() => [dialling(own.second)]),
    '/two': twiml(() => `<Dial>${own.first}</Dial>`),
  })
  const { tenant } = await openTenant(platform)
  const own = await open(tenant, [`${program.base}/one`, `${program.base}/two`])
  const caller = makeCaller(tenant, handset, own.first)
  assert.equal((await caller.ended(await caller.ring())).state, 'completed')
  const loop = [...Array(9).fill('200'), 'too_deep']
  assert.deepEqual(reasonsOf(await records(tenant, 10, isOver)), loop)
  await order(own, handset, [dialling(own.first)])
  assert.deepEqual(reasonsOf(await records(tenant, 20, isOver)), [...loop, ...loop])
})

test(
  'each end of a call to an own number ends both of its sides, with one reason in each record',
  further,
  async (t) => {
    const program = await openProgram(t, { '/two': [prompt] })
    const url = `${program.base}/two`
    const nothingIsLeft = await watchCapacity(platform)
    /** A call of the API talks with an own number that its program dialled. */
    const talk = async () => {
      const { tenant } = await openTenant(platform)
      const own = await open(tenant, [url, url])
      const id = await order(own, handset, [dialling(own.second), { verb: 'pause', seconds: 60 }])
      const [, child, called] = await records(tenant, 3, isAnswered)
      assert.ok(child && called)
      const info = async () => (await tenant.call('GET', '/open/info')).body
      const account = `accounts/${(await info()).account.uuid}`
      const hangUp = (call: string) => operate(platform, 'POST', `${account}/calls/${call}/hangup`)
      const command = () => tenant.call('POST', `/open/voip/call/${id}/commands`, { command: 'hangup' })
      const reasons = async () => reasonsOf(await records(tenant, 3, isOver))
      return { tenant, account, id, child, called, hangUp, command, reasons, info }
    }
    const [blocked, parent, child, called, poor, thrifty] = [
      ...[await talk(), await talk(), await talk(), await talk(), await talk(), await talk()],
    ]
    assert.ok(blocked && parent && child && called && poor && thrifty)
    await parent.hangUp(parent.id)
    assert.deepEqual(await parent.reasons(), Array(3).fill('operator'))
    for (const [one, call] of [
      [child, child.child],
      [called, called.called],
    ] as const) {
      await one.hangUp(call.uuid)
      await until(async () => (await history(one.tenant)).filter(isOver).length === 2)
      await one.command()
      assert.deepEqual(await one.reasons(), ['200', 'operator', 'operator'])
    }
    const amount = (Number((await poor.info()).balance.amount) - rate / 2).toFixed(6)
    await operate(platform, 'POST', `${poor.account}/debit`, { amount, reason: 'test' })
    await operate(platform, 'PATCH', `${thrifty.account}/call-limits`, { spend_per_day: (1.5 * rate).toFixed(3) })
    await operate(platform, 'PATCH', blocked.account, { blocked: true })
    // The minutes that were held are over.
    assert.equal((await platform.call('POST', '/sandbox/clock', { advance_seconds: 61 })).status, 202)
    assert.deepEqual(await poor.reasons(), Array(3).fill('balance'))
    assert.deepEqual(await thrifty.reasons(), Array(3).fill('spend_limit'))
    await nothingIsLeft()
    await operate(platform, 'PATCH', blocked.account, { blocked: false })
    assert.deepEqual(await blocked.reasons(), Array(3).fill('suspended'))
  },
)

test('after a kill during a call to an own number, the records of both of its sides are closed', further, async (t) => {
  const program = await openProgram(t, { '/two': [prompt] })
  const own = await open(platform, [`${program.base}/two`, `${program.base}/two`])
  await order(own, own.second, [prompt])
  await records(platform, 2, isAnswered)
  await platform.end('SIGKILL')
  const next = await startPlatform(platform.home, freePortSettings)
  t.after(() => next.end())
  const cdrs = await records(next, 2, isOver)
  assert.deepEqual(
    cdrs.map(({ status, end_reason }) => [status, end_reason]),
    Array(2).fill(['COMPLETED', 'interrupted']),
  )
})
