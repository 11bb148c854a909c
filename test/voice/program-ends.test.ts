import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import type { IncomingCall } from '@trunkline/sip/dialog/incoming-call.ts'
import { fromOf } from '@trunkline/sip/fields.ts'
import { header } from '@trunkline/sip/message.ts'
import { answer, closedAfter, dial, mediaFlow, type openCarrier, receivesTone } from '../../src/adapters/sip-gateway/testing.ts'
import { openVoicePlatform } from '../../src/domains/calls/call-testing.ts'
import { type Answer, openProgram } from '../../src/domains/calls/programs/program-testing.ts'
import { Receiver } from '../doubles/receiver.ts'
import { makeTelephone, type Telephone } from '../media/telephone.ts'
import { buyNumber, type Platform, startPlatform, until } from '../platform.ts'
import { type BrowserUser, freePortSettings, openBrowserUser, openTenant, watchCapacity } from './voice-fixture.ts'

// How calls of programs end that are cut, that dial one another, and whose program or sounds fail. The telephones are at a
// carrier that has a trunk.

const platform = await startPlatform(undefined, freePortSettings)
const events = await new Receiver().up()
after(async () => {
  await platform.end()
  await events.down()
})
const { call } = platform
const { number } = await buyNumber(platform)
const hook = { hook_url: events.url('/events'), event_names: ['call.program.failed', 'call.recording.ready'] }
assert.equal((await call('POST', '/open/webhooks', hook)).status, 201)

type Cdr = {
  readonly uuid: string
  readonly active: boolean
  readonly status: string
  readonly end_reason: string
  readonly duration: number
  readonly to_number: string
  readonly call_cost: { readonly duration: number; readonly call_price: number }
}

const history = async (of: Platform): Promise<Cdr[]> => (await of.call('GET', '/open/voip/call-history')).body.cdrs
type Carrier = Awaited<ReturnType<typeof openCarrier>>
const endless = { verb: 'play', tone: { hertz: [440], on_ms: 60_000 } }
const dialling = (to: string) => ({ verb: 'dial', targets: [{ number: to }], timeout: 60 })
const telephoneOf = (t: TestContext) => closedAfter(t, makeTelephone())

const operate = async (method: string, path: string, body?: object) => {
  const answered = await call(method, `/operator/${path}`, body)
  assert.ok(answered.status < 300, JSON.stringify(answered.body))
}

/** USD for each minute of a call to the carrier. */
const rate = 0.012
const prefix = '44207946'

/** An account whose call by the API talks with a telephone that its program dialled. @param n tells its numbers from others */
const connect = async (t: TestContext, carrier: Carrier, n: number, isToUser = false) => {
  const { tenant, user } = await openTenant(platform)
  const { number: from_number } = await buyNumber(tenant)
  const info = async () => (await tenant.call('GET', '/open/info')).body
  const account: string = (await info()).account.uuid
  const balance = async () => Number((await info()).balance.amount)
  let before = await balance()
  const [first, second] = [`+${prefix}0${n}01`, `+${prefix}0${n}02`]
  const atCarrier = async (to: string) => {
    const invited = await until(async () => {
      const place = carrier.calls.findIndex(({ invite }) => invite.uri.includes(to))
      return place >= 0 && carrier.calls.splice(place, 1)[0]
    })
    const peer = await telephoneOf(t)
    return { peer, ...(await answer(invited, peer)) }
  }
  const inBrowser = async ({ web, softphone }: BrowserUser) => {
    const peer = await softphone()
    const answered = await answer(await until(async () => web.calls.shift()), peer)
    await mediaFlow(peer)
    return { peer, ...answered }
  }
  const person = isToUser ? await openBrowserUser(t, tenant, user) : null
  if (person) assert.match(await person.register(), /^200/)
  const order = { from_number, to: person ? user : first, verbs: [dialling(second), endless] }
  const made = await tenant.call('POST', '/open/voip/calls', order)
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const party = person ? await inBrowser(person) : await atCarrier(first)
  const dialled = await atCarrier(second)
  await until(async () => {
    const cdrs = await history(tenant)
    return cdrs.length === 2 && cdrs.every(({ status }) => status === 'ANSWERED')
  })
  /** Leaves the account this much besides what it holds for its calls. */
  const leave = async (amount: number) => {
    const debit = (await balance()) - amount
    await operate('POST', `accounts/${account}/debit`, { amount: debit.toFixed(6), reason: 'test' })
    before -= debit
  }
  /** Waits until each side of both calls had a BYE. @returns the milliseconds */
  const hungUp = async () => {
    const began = performance.now()
    await until(async () => party.ends.length > 0 && dialled.ends.length > 0)
    assert.deepEqual([party.ends, dialled.ends], [['remote'], ['remote']])
    return performance.now() - began
  }
  /** The records of both calls, and what they cost. */
  const recorded = async (reason: string, minutes: number) => {
    const cdrs = await until(async () => {
      const found = await history(tenant)
      return found.every(({ active }) => !active) && found
    })
    const leg = ['COMPLETED', reason, minutes * 60, minutes * rate]
    assert.deepEqual(
      cdrs.map(({ status, end_reason, call_cost }) => [status, end_reason, call_cost.duration, call_cost.call_price]),
      // The child is the newer one. A call to a user costs nothing.
      [leg, person ? ['COMPLETED', reason, 0, 0] : leg],
    )
    const cost = (person ? 1 : 2) * minutes * rate
    assert.ok(Math.abs(before - cost - (await balance())) < 1e-9, `${before} to ${await balance()}`)
  }
  const id: string = made.body.cdr.uuid
  return { tenant, user, account, id, party, dialled, leave, hungUp, recorded, spent: async () => before - (await balance()) }
}

test('each cut ends the call of a program and the one that it dialled, for its reason and at its price, and no call of another account', async (t) => {
  const nothingIsLeft = await watchCapacity(platform)
  const { carrier } = await openVoicePlatform(t, platform, { prefixes: [prefix] })
  const open = (n: number, isToUser = false) => connect(t, carrier, n, isToUser)
  const [poor, thrifty, blocked, stopped, suspended, untouched] = await Promise.all([
    ...[open(1), open(2), open(3), open(4), open(5, true), open(6)],
  ])
  assert.ok(poor && thrifty && blocked && stopped && suspended && untouched)
  // Neither covers a further minute of one of its calls.
  await poor.leave(rate / 2)
  await operate('PATCH', `accounts/${thrifty.account}/call-limits`, { spend_per_day: String(2.5 * rate) })

  const block = (isBlocked: boolean) => operate('PATCH', `accounts/${blocked.account}`, { blocked: isBlocked })
  for (const [one, cut] of [
    [blocked, () => block(true)],
    [stopped, () => operate('POST', `accounts/${stopped.account}/calls/${stopped.id}/hangup`)],
    [suspended, () => operate('PATCH', `users/${suspended.user}`, { status: 'SUSPENDED' })],
  ] as const) {
    await cut()
    const ms = await one.hungUp()
    assert.ok(ms < 5_000, `${ms} ms`)
  }
  await block(false)
  await blocked.recorded('suspended', 1)
  await stopped.recorded('operator', 1)
  await suspended.recorded('suspended', 1)

  // The minutes that were held are over.
  assert.equal((await call('POST', '/sandbox/clock', { advance_seconds: 61 })).status, 202)
  await Promise.all([poor.hungUp(), thrifty.hungUp()])
  await poor.recorded('balance', 1)
  await thrifty.recorded('spend_limit', 1)

  // The second minute of both of its calls is held.
  await until(async () => (await untouched.spent()) > 3.5 * rate)
  const { party, dialled } = untouched
  dialled.peer.sendTone(620)
  party.peer.sendTone(1_000)
  await Promise.all([receivesTone(party.peer, 620), receivesTone(dialled.peer, 1_000)])
  assert.deepEqual([party.ends, dialled.ends], [[], []])
  await untouched.tenant.call('POST', `/open/voip/call/${untouched.id}/commands`, { command: 'hangup' })
  await untouched.hungUp()
  await untouched.recorded('200', 2)
  await nothingIsLeft()
})

/** A number of the account runs a program. */
const run = async (voice: object) => {
  const [{ uuid }] = (await call('GET', '/open/voip/virtual-numbers')).body.numbers
  const changed = await call('PUT', `/open/voip/virtual-numbers/${uuid}`, { voice })
  assert.equal(changed.status, 200, JSON.stringify(changed.body))
}
/** The number is called. */
const ring = (carrier: Carrier, from: string, peer: Telephone, headers: readonly (readonly [string, string])[] = []) =>
  dial(carrier, { uri: `sip:${number}@127.0.0.1:${platform.voicePort}`, from, headers }, peer)
const ended = (id: string): Promise<Cdr> =>
  until(async () => {
    const { cdr } = (await call('GET', `/open/voip/call/${id}`)).body
    return !cdr.active && cdr
  })
type Event = { readonly uuid: string; readonly [field: string]: unknown }
/** The events of a name, oldest first. */
const eventsOf = (name: string): Event[] =>
  events.calls.map(({ body }) => JSON.parse(body)).filter(({ event }) => event === name)

/** A port on which nothing listens. */
const deadPort = async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on TCP
  server.close()
  await once(server, 'close')
  return port
}

test('a program that is dead, refuses, is silent, too long or no document has its fallback called once; its caller hears tones, and the event names the code', async (t) => {
  const nothingIsLeft = await watchCapacity(platform)
  const { carrier } = await openVoicePlatform(t, platform)
  const html = '<!doctype html><html><body>It works!</body></html>'
  const typed = (response: ServerResponse, type: string, body: string) =>
    void response.writeHead(200, { 'content-type': type }).end(body)
  const faults: readonly (readonly [string, string, Answer | null])[] = [
    ['dead', 'unreachable', null],
    ['refuses', 'status', (response) => void response.writeHead(500).end()],
    // It would answer after 20 s: the application gives it one.
    ['silent', 'timeout', () => {}],
    ['page', 'malformed', (response) => typed(response, 'text/html', html)],
    ['long', 'too_large', (response) => typed(response, 'application/json', ' '.repeat(65 * 1_024))],
    ['redirects', 'status', (response) => void response.writeHead(302, { location: '/redirects' }).end()],
  ]
  const dead = `http://127.0.0.1:${await deadPort()}/`
  const callers = new Map(faults.map(([name], n) => [`+3361234560${n}`, name]))
  const answers = faults.flatMap(([name, , answer]) => (answer ? [[`/${name}`, answer] as const] : []))
  const program = await openProgram(t, {
    ...Object.fromEntries(answers),
    '/begin': (response, { body }) => {
      const name = callers.get(String(body.call.from))
      const url = name === 'dead' ? dead : `/${name}`
      typed(response, 'application/json', JSON.stringify([{ verb: 'answer' }, { verb: 'redirect', url }]))
    },
    '/fallback': (response) => void response.writeHead(503).end(),
  })
  const made = await call('POST', '/open/voip/applications', {
    ...{ name: 'Faults', url: `${program.base}/begin`, fallback_url: `${program.base}/fallback`, timeout_seconds: 1 },
  })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  await run({ kind: 'application', application_uuid: made.body.application.uuid })

  await Promise.all(
    callers.keys().map(async (from) => {
      const telephone = await telephoneOf(t)
      const { dialled } = await ring(carrier, `<sip:${from}@carrier.test>`, telephone)
      await until(async () => dialled.ends.length > 0)
      // Three tones of 200 ms.
      await until(async () => telephone.samples.filter((sample) => Math.abs(sample) > 1_000).length > 3_600)
    }),
  )
  await nothingIsLeft()
  await until(async () => eventsOf('call.program.failed').length === faults.length)
  for (const [from, name] of callers) {
    const [begin, ...rest] = program.received.filter(({ body }) => body.call.from === from)
    const id = String(begin?.body.call.uuid)
    const [, code] = faults.find(([one]) => one === name) ?? []
    assert.deepEqual(
      rest.map(({ path, body }) => [path, body.error?.code]),
      [...(name === 'dead' ? [] : [[`/${name}`, undefined]]), ['/fallback', code]],
    )
    const failed = eventsOf('call.program.failed').filter(({ uuid }) => uuid === id)
    assert.deepEqual(
      failed.map(({ error }) => Object(error).code),
      [code],
      name,
    )
    const cdr = await ended(id)
    assert.deepEqual([cdr.status, cdr.end_reason], ['COMPLETED', 'program_error'])
    // The promise is five seconds; a busy machine gets twice that.
    assert.ok(cdr.duration <= 10, `${name}: ${cdr.duration} s`)
  }
})

for (const keepsHeaders of [true, false])
  test(`calls that dial one another by a carrier that ${keepsHeaders ? 'passes our header on' : 'drops our header'} are refused at depth 5`, async (t) => {
    const nothingIsLeft = await watchCapacity(platform)
    const { carrier } = await openVoicePlatform(t, platform, { prefixes: [prefix] })
    const program = await openProgram(t, { '/begin': [dialling(`+${prefix}0999`)] })
    await run({ kind: 'url', url: `${program.base}/begin` })
    const telephone = await telephoneOf(t)
    const known = new Set((await history(platform)).map(({ uuid }) => uuid))
    const legs = [await ring(carrier, '<sip:+33612345699@carrier.test>', telephone)]
    const hops: (string | null)[] = []
    const forwarded: IncomingCall[] = []
    while (forwarded.length < 4) {
      const invited = await carrier.call()
      forwarded.push(invited)
      const passed = header(invited.invite, 'X-Trunkline-Hops')
      hops.push(passed)
      const headers = keepsHeaders && passed !== null ? [['X-Trunkline-Hops', passed] as const] : []
      // A carrier that keeps the header need not keep the caller.
      const from = keepsHeaders ? '<sip:+33612345698@carrier.test>' : `<${fromOf(invited.invite).uri}>`
      legs.push(await ring(carrier, from, telephone, headers))
    }
    assert.deepEqual(hops, ['1', '2', '3', '4'])
    await until(async () => legs.at(-1)?.dialled.ends.length === 1)
    for (const one of forwarded) one.refuse({ status: 486 })
    await until(async () => legs.every(({ dialled }) => dialled.ends.length === 1))
    await nothingIsLeft()
    assert.deepEqual(carrier.calls, [])
    const cdrs = (await history(platform)).filter(({ uuid }) => !known.has(uuid))
    assert.equal(cdrs.filter(({ end_reason }) => end_reason === 'too_deep').length, 1)
    assert.equal(cdrs.length, 10)
  })

test('sounds that cannot be fetched, and speech of nothing, are noted and left out; a recording whose party hangs up has its action and its event', async (t) => {
  const { carrier } = await openVoicePlatform(t, platform)
  const dead = `http://127.0.0.1:${await deadPort()}/sound.wav`
  const program = await openProgram(t, {
    '/begin': [
      { verb: 'play', url: dead },
      { verb: 'say', text: ' ' },
      { verb: 'gather', timeout: 0, prompts: [{ verb: 'play', url: dead }] },
      { verb: 'play', tone: { hertz: [440], on_ms: 1_500 } },
      { verb: 'record', beep: false, action: '/recorded' },
    ],
    '/recorded': [{ verb: 'redirect', url: '/never' }],
  })
  await run({ kind: 'url', url: `${program.base}/begin` })
  const telephone = await telephoneOf(t)
  const { dialled } = await ring(carrier, '<sip:+33612345697@carrier.test>', telephone)
  await receivesTone(telephone, 440)
  telephone.sendTone(700)
  const session = await until(async () => dialled.session)
  const id = String(program.received[0]?.body.call.uuid)
  const timeline = async (): Promise<{ what: string; text: string; detail?: Record<string, unknown> }[]> =>
    (await call('GET', `/open/voip/call/${id}/timeline`)).body.timeline
  const recordings = join(platform.home, 'recordings')
  await until(
    async () =>
      existsSync(recordings) &&
      readdirSync(recordings, { recursive: true }).some((name) => statSync(join(recordings, String(name))).size > 8_000),
  )
  await session.bye()
  const { body } = await until(async () => program.received.find(({ path }) => path === '/recorded'))
  assert.deepEqual([body.call.status, body.result?.reason], ['COMPLETED', 'hangup'])
  await ended(id)
  // Steps are written each second.
  const failed = await until(async () => {
    const found = (await timeline()).flatMap(({ detail }) => (detail?.error_code ? [[detail.verb, detail.error_code]] : []))
    return found.length >= 3 && found
  })
  assert.deepEqual(failed, [
    ['play', 'unreachable'],
    ['say', 'tts_empty'],
    ['gather', 'unreachable'],
  ])
  const [ready] = await until(async () => eventsOf('call.recording.ready').length > 0 && eventsOf('call.recording.ready'))
  assert.deepEqual([ready?.uuid, ready?.recording_uuid], [id, body.result?.recording_uuid])
  assert.deepEqual(program.paths(), ['/begin', '/recorded'])
})
