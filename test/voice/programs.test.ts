import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { IncomingCall } from '@trunkline/sip/dialog/incoming-call.ts'
import { fromOf } from '@trunkline/sip/fields.ts'
import { header } from '@trunkline/sip/message.ts'
import { dial, receivesTone } from '../../src/adapters/sip-gateway/testing.ts'
import { openVoicePlatform } from '../../src/domains/calls/call-testing.ts'
import { type Answer, openProgram } from '../../src/domains/calls/programs/program-testing.ts'
import { certificate } from '../certificate.ts'
import { Receiver } from '../doubles/receiver.ts'
import { makeStreamServer } from '../media/stream-server.ts'
import type { Telephone } from '../media/telephone.ts'
import { fullForm, needs } from '../needs.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { temporaryFolder } from '../servers.ts'
import {
  type Carrier,
  type Cdr,
  connectProgram,
  dialling,
  history,
  operate,
  prefix,
  rate,
  telephoneOf,
} from './program-calls.ts'
import {
  activeUsers,
  endedCall,
  freePortSettings,
  makeCaller,
  openBrowserUser,
  secondsOf,
  watchCapacity,
} from './voice-fixture.ts'

// Calls that programs run: a program is a real HTTP server, and the telephone is a handset of the sandbox, or one at a
// carrier that has a trunk.

const openssl = needs('openssl')
const authority = join(temporaryFolder(), 'ca.pem')
/** Certificates of servers. The platform knows the issuers of the first two. */
const certificates = openssl.skip
  ? null
  : {
      known: certificate('IP:127.0.0.1'),
      ofOtherName: certificate('DNS:agent.example'),
      unknown: certificate('IP:127.0.0.1'),
    }
writeFileSync(authority, certificates ? certificates.known.cert + certificates.ofOtherName.cert : '')
const platform = await startPlatform(undefined, { ...freePortSettings, NODE_EXTRA_CA_CERTS: authority })
const events = await new Receiver().up()
after(async () => {
  await platform.end()
  await events.down()
})
const { call } = platform
const { number } = await buyNumber(platform)
const hook = { hook_url: events.url('/events'), event_names: ['call.program.failed', 'call.recording.ready'] }
assert.equal((await call('POST', '/open/webhooks', hook)).status, 201)

const further = fullForm('the fast form has the same of the interpreter, the exchange and call control')

const handset = '+447700901250'
const own = makeCaller(platform, handset, number)

/** A number of the account runs a program. */
const run = async (voice: object, more: object = { record_inbound: false }) => {
  const [{ uuid }] = (await call('GET', '/open/voip/virtual-numbers')).body.numbers
  const changed = await call('PUT', `/open/voip/virtual-numbers/${uuid}`, { voice, ...more })
  assert.equal(changed.status, 200, JSON.stringify(changed.body))
}

test('a call to a number runs the menu of its program: keys choose, and the program hangs up', async (t) => {
  const prompt = { verb: 'play', tone: { hertz: [1_000], on_ms: 500 }, loop: 0 }
  const program = await openProgram(t, {
    '/menu': [{ verb: 'gather', id: 'menu', num_digits: 1, timeout: 20, action: '/chosen', prompts: [prompt] }],
    '/chosen': [{ verb: 'play', tone: { hertz: [700], on_ms: 1_500 } }, { verb: 'hangup' }],
  })
  await run({ kind: 'url', url: `${program.base}/menu` })
  const id = await own.ring()
  await until(async () => secondsOf((await own.seen(id)).tones, 1_000) > 0.3)
  assert.equal((await call('POST', `/sandbox/handsets/${handset}/calls/${id}/keys`, { digits: '2' })).status, 202)
  const { state, tones } = await own.ended(id)
  assert.equal(state, 'completed')
  assert.ok(secondsOf(tones, 700) > 0.9, JSON.stringify(tones))
  assert.deepEqual(
    program.received.map(({ path, body }) => [path, body.event, body.sequence, body.verb?.id, body.result?.digits]),
    [
      ['/menu', 'call.started', 1, undefined, undefined],
      ['/chosen', 'verb.completed', 2, 'menu', '2'],
    ],
  )
  const cdr = await endedCall(platform)
  assert.deepEqual([cdr.direction, cdr.status, cdr.from, cdr.to_number], ['I', 'COMPLETED', handset, number])
})

test('a browser calls a number of its account: its program runs, and the whole call is recorded', async (t) => {
  const program = await openProgram(t, { '/own': [{ verb: 'play', tone: { hertz: [700], on_ms: 60_000 } }] })
  await run({ kind: 'url', url: `${program.base}/own` }, { record_inbound: true })
  const [ada = ''] = await activeUsers(platform)
  const person = await openBrowserUser(t, platform, ada)
  assert.match(await person.register(), /^200/)
  const softphone = await person.softphone()
  const { dialled } = await dial(person.web, person.dialOptions(number), softphone)
  const session = await until(async () => dialled.session)
  softphone.sendTone(1_000)
  await receivesTone(softphone, 700)
  await session.bye()
  const { event, call: told } = program.received.at(-1)?.body ?? assert.fail()
  assert.deepEqual([event, told.direction, told.from, told.to], ['call.started', 'outbound', ada, number])
  const cdr = await endedCall(platform, 2)
  assert.deepEqual(
    [cdr.direction, cdr.status, cdr.from, cdr.to_number, cdr.call_cost.call_price],
    ['O', 'COMPLETED', ada, number, 0],
  )
  const recording = await fetch(cdr.recording_url)
  assert.deepEqual([recording.status, recording.headers.get('content-type')], [200, 'audio/wav'])
  assert.ok((await recording.arrayBuffer()).byteLength > 16_000)
})

test(
  'a stream goes over TLS to a server whose certificate has its name and a known issuer, and to no other',
  openssl,
  async (t) => {
    assert.ok(certificates)
    const [known, ofOtherName, unknown] = await Promise.all(
      [certificates.known, certificates.ofOtherName, certificates.unknown].map((pair) => makeStreamServer(true, pair)),
    )
    assert.ok(known && ofOtherName && unknown)
    for (const one of [known, ofOtherName, unknown]) t.after(one.close)
    const streamTo = (url: string, action: string) => [{ verb: 'stream', url, action, on_error: 'action' }]
    const program = await openProgram(t, {
      '/streams': streamTo(unknown.url, '/unknown'),
      '/unknown': streamTo(ofOtherName.url, '/other-name'),
      '/other-name': streamTo(known.url, '/known'),
      '/known': [{ verb: 'hangup' }],
    })
    await run({ kind: 'url', url: `${program.base}/streams` })
    const id = await own.ring()
    await until(async () => secondsOf((await own.seen(id)).tones, 620) > 0.3)
    known.streams[0]?.socket.close(4_000)
    assert.equal((await own.ended(id)).state, 'completed')
    assert.deepEqual(
      program.received.map(({ path, body: { result } }) => [path, result?.reason, result?.code, result?.error_code]),
      [
        ['/streams', undefined, undefined, undefined],
        ['/unknown', 'unreachable', null, 'stream_unreachable'],
        ['/other-name', 'unreachable', null, 'stream_unreachable'],
        ['/known', 'closed', 4_000, undefined],
      ],
    )
    assert.deepEqual([unknown.streams, ofOtherName.streams], [[], []])
  },
)

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

test(
  'a program that is dead, refuses, is silent, too long or no document has its fallback called once; its caller hears tones, and the event names the code',
  further,
  async (t) => {
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
  },
)

for (const keepsHeaders of [true, false])
  test(
    `calls that dial one another by a carrier that ${keepsHeaders ? 'passes our header on' : 'drops our header'} are refused at depth 5`,
    further,
    async (t) => {
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
    },
  )

test(
  'sounds that cannot be fetched, and speech of nothing, are noted and left out; a recording whose party hangs up has its action and its event',
  further,
  async (t) => {
    const recordings = join(platform.home, 'recordings')
    const files = () =>
      existsSync(recordings)
        ? readdirSync(recordings, { recursive: true }).map((name) => join(recordings, String(name)))
        : []
    const known = new Set(files())
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
    await until(async () => files().some((name) => !known.has(name) && statSync(name).size > 8_000))
    await session.bye()
    const { body } = await until(async () => program.received.find(({ path }) => path === '/recorded'))
    assert.deepEqual([body.call.status, body.result?.reason], ['COMPLETED', 'hangup'])
    await ended(id)
    // Steps are written each second.
    const failed = await until(async () => {
      const found = (await timeline()).flatMap(({ detail }) =>
        detail?.error_code ? [[detail.verb, detail.error_code]] : [],
      )
      return found.length >= 3 && found
    })
    assert.deepEqual(failed, [
      ['play', 'unreachable'],
      ['say', 'tts_empty'],
      ['gather', 'unreachable'],
    ])
    const ready = await until(async () => eventsOf('call.recording.ready').find(({ uuid }) => uuid === id))
    assert.equal(ready.recording_uuid, body.result?.recording_uuid)
    assert.deepEqual(program.paths(), ['/begin', '/recorded'])
  },
)

test(
  'each cut ends the call of a program and the one that it dialled, for its reason and at its price, and no call of another account',
  further,
  async (t) => {
    const nothingIsLeft = await watchCapacity(platform)
    const { carrier } = await openVoicePlatform(t, platform, { prefixes: [prefix] })
    const open = (n: number, isToUser = false, keyLimit?: number) =>
      connectProgram(t, platform, carrier, n, isToUser, keyLimit)
    const [poor, thrifty, blocked, stopped, suspended, untouched, limited] = await Promise.all([
      ...[open(1), open(2), open(3), open(4), open(5, true), open(6), open(7, false, 2.5 * rate)],
    ])
    assert.ok(poor && thrifty && blocked && stopped && suspended && untouched && limited)
    // None covers a further minute of one of its calls.
    await poor.leave(rate / 2)
    await operate(platform, 'PATCH', `accounts/${thrifty.account}/call-limits`, { spend_per_day: String(2.5 * rate) })

    const block = (isBlocked: boolean) =>
      operate(platform, 'PATCH', `accounts/${blocked.account}`, { blocked: isBlocked })
    for (const [one, cut] of [
      [blocked, () => block(true)],
      [stopped, () => operate(platform, 'POST', `accounts/${stopped.account}/calls/${stopped.id}/hangup`)],
      [suspended, () => operate(platform, 'PATCH', `users/${suspended.user}`, { status: 'SUSPENDED' })],
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
    await Promise.all([poor.hungUp(), thrifty.hungUp(), limited.hungUp()])
    await poor.recorded('balance', 1)
    await thrifty.recorded('spend_limit', 1)
    await limited.recorded('key_spend_limit', 1)

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
  },
)
