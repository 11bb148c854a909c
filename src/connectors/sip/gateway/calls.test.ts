import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import type { Peer } from '../../../../test/media/peer.ts'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { share } from '../../media/testing.ts'
import type { VoiceEnd } from '../../voice-port.ts'
import type { IncomingCall } from '../codec/dialog/incoming.ts'
import type { Session, SessionEvents } from '../codec/dialog/session.ts'
import { type Header, header } from '../codec/message.ts'
import { quiet, until } from '../testing.ts'
import { type Decide, makeDesk, openBrowser, openCarrier, openGateway, openMedia, told, trunkOf } from './testing.ts'

const media = await openMedia()
after(() => media.close())

type Browser = Awaited<ReturnType<typeof openBrowser>>
type Carrier = Awaited<ReturnType<typeof openCarrier>>

const sdp = (content: string) => ({ type: 'application/sdp', content })
const toCarrier: Decide = () => ({ value: { targets: [{ trunk: 'carrier', number: '+33612345678' }] } })
const toBrowsers =
  (...users: string[]): Decide =>
  () => ({ value: { targets: [{ people: users.map((user) => ({ account: 'one', user })) }] } })

const open = async (t: TestContext, decide: Decide, settings: Partial<Parameters<typeof openGateway>[1]> = {}) => {
  const desk = makeDesk(decide)
  const { gateway, url } = await openGateway(t, { desk: desk.desk, media, ...settings })
  const carrier = await openCarrier(t)
  await gateway.apply([trunkOf(carrier.port)])
  await until(() => gateway.trunk('carrier')?.state === 'up')
  const browser = async (user: string) => {
    const made = await openBrowser(t, url, user)
    assert.match(await made.register(), /^200/)
    return made
  }
  const ended = () => until(() => desk.of('ended')[0]?.about as VoiceEnd | undefined, 'the end at the desk')
  return { desk, gateway, carrier, browser, ended, url }
}

const kept = async <P extends Peer>(t: TestContext, making: Promise<P>): Promise<P> => {
  const peer = await making
  t.after(() => peer.close())
  return peer
}

const hears = (peer: Peer, hertz: number) => {
  const from = peer.heard.length
  return until(() => peer.heard.length >= from + 6_000 && share(peer.heard.slice(-4_000), hertz) > 0.95, `${hertz} Hz`)
}

/** What a caller heard of its INVITE. */
type Dialled = { progress: number[]; answers: string[]; refused: string[]; session: Session | null; ends: string[] }

const dial = async (
  { agent }: Browser | Carrier,
  ask: { uri: string; from: string; via?: Browser['flow']; headers?: readonly Header[] },
  peer: Peer,
  events: Partial<SessionEvents> = {},
) => {
  const dialled: Dialled = { progress: [], answers: [], refused: [], session: null, ends: [] }
  const call = agent.invite(
    { ...ask, body: sdp(await peer.offer()) },
    {
      progress: (response) => {
        dialled.progress.push(response.status)
        if (response.body.length > 0) void peer.accept(response.body.toString())
      },
      accepted: (response, session) => {
        dialled.session = session
        dialled.answers.push(response.body.toString())
        void peer.accept(response.body.toString())
      },
      refused: (outcome) => dialled.refused.push(told(outcome)),
      session: { ...quiet, ...events, ended: (why) => dialled.ends.push(why) },
    },
  )
  return { call, dialled }
}

const fromBrowser = (browser: Browser, to = '+33612345678') => ({
  ...{ uri: `sip:${to}@us.test`, from: browser.self, via: browser.flow },
})

const answer = async (call: IncomingCall, peer: Peer, events: Partial<SessionEvents> = {}) => {
  const ends: string[] = []
  const body = sdp(await peer.answer(call.invite.body.toString()))
  const session = call.accept({ body }, { ...quiet, ...events, ended: (why) => ends.push(why) })
  assert.ok(session)
  return { session, ends }
}

test('a browser calls a telephone: both hear each other, hold and keys pass, and it is written down in order', async (t) => {
  const { desk, gateway, carrier, browser, ended } = await open(t, toCarrier)
  const [softphone, telephone] = [await kept(t, makeSoftphone()), await kept(t, makeTelephone())]
  const ann = await browser('ANN')
  const headers = [['X-Caller-Id', '+33187654321'] as const, ['X-Order', '7'] as const]
  const { dialled } = await dial(ann, { ...fromBrowser(ann), headers }, softphone)
  const call = await carrier.call()
  assert.match(call.invite.uri, /^sip:\+33612345678@127\.0\.0\.1/)
  assert.equal(header(call.invite, 'P-Asserted-Identity'), '<sip:+33187654321@us.test>')
  assert.equal(header(call.invite, 'X-Order'), null)
  call.ring({ status: 180 })
  await until(() => dialled.progress.includes(180))
  const offers: string[] = []
  const { session, ends } = await answer(call, telephone, {
    offered: async ({ body }) => {
      offers.push(body.toString())
      const own = await telephone.answer(body.toString())
      return { status: 200, body: sdp(own.replace('sendrecv', body.includes('sendonly') ? 'recvonly' : 'sendrecv')) }
    },
  })
  const ours = await until(() => dialled.session)
  softphone.say(1_000)
  telephone.say(620)
  await Promise.all([hears(softphone, 620), hears(telephone, 1_000)])

  softphone.direct('sendonly')
  const held = await ours.reinvite({ body: sdp(await softphone.offer()) })
  assert.ok(held?.outcome === 'answered' && held.response.status === 200)
  assert.match(held.response.body.toString(), /a=recvonly/)
  await softphone.accept(held.response.body.toString())
  await until(() => offers.length === 1)
  assert.match(offers[0] ?? '', /a=sendonly/)
  softphone.direct('sendrecv')
  const back = await ours.reinvite({ body: sdp(await softphone.offer()) })
  assert.ok(back?.outcome === 'answered' && back.response.status === 200)
  await softphone.accept(back.response.body.toString())
  await until(() => offers.length === 2)
  await Promise.all([hears(softphone, 620), hears(telephone, 1_000)])

  for (const key of '4#') {
    const body = { type: 'application/dtmf-relay', content: `Signal=${key}\r\nDuration=160` }
    const info = await ours.info({ body })
    assert.ok(info.outcome === 'answered' && info.response.status === 200)
  }
  await until(() => telephone.digits === '4#', 'the keys')
  assert.equal(gateway.calls(), 1)
  assert.equal(gateway.trunk('carrier')?.calls, 1)

  await session.bye()
  const end = await ended()
  assert.deepEqual(
    [end.how, end.by, end.stats.map(({ leg }) => leg).toSorted()],
    ['completed', 'callee', ['callee', 'caller']],
  )
  assert.ok(end.stats.every(({ received }) => received.packets > 40))
  await until(() => dialled.ends.length === 1)
  assert.deepEqual([dialled.ends, ends], [['remote'], ['local']])
  assert.deepEqual(desk.order(), ['admit', 'place', 'ringing', 'answered', 'ended'])
  const { callId, ...placed } = Object(desk.of('place')[0]?.about)
  assert.equal(typeof callId, 'string')
  const person = { account: 'one', user: 'ANN' }
  assert.deepEqual(placed, { person, to: '+33612345678', from: '+33187654321', headers: { 'X-Order': '7' } })
  await until(() => gateway.calls() === 0)
  assert.equal(gateway.trunk('carrier')?.calls, 0)
  assert.equal(media.state().calls, 0)
})

test('a telephone calls two browsers: the first that answers has it, and both sides hear each other', async (t) => {
  const { desk, gateway, carrier, browser, ended } = await open(t, toBrowsers('ANN', 'BOB', 'CYD'))
  const [softphone, telephone] = [await kept(t, makeSoftphone()), await kept(t, makeTelephone())]
  const [ann, bob] = [await browser('ANN'), await browser('BOB')]
  const { dialled } = await dial(
    carrier,
    { uri: `sip:33187654321@127.0.0.1:${gateway.port}`, from: '"Eve" <sip:0033612345678@carrier.test>' },
    telephone,
  )
  const [one, other] = [await until(() => ann.calls[0]), await until(() => bob.calls[0])]
  const taken: boolean[] = []
  one.events = { cancelled: (cancel) => void taken.push(/elsewhere/.test((cancel && header(cancel, 'Reason')) ?? '')) }
  one.ring({ status: 180 })
  other.ring({ status: 180 })
  await until(() => dialled.progress.includes(180))
  const { session } = await answer(other, softphone)
  await until(() => dialled.session)
  softphone.say(1_000)
  telephone.say(620)
  await Promise.all([hears(softphone, 620), hears(telephone, 1_000)])
  assert.deepEqual(taken, [true])
  await session.bye()
  assert.deepEqual([(await ended()).how, (await ended()).by], ['completed', 'callee'])
  const { from, to, name } = Object(desk.of('receive')[0]?.about)
  assert.deepEqual([from, to, name], ['+33612345678', '+33187654321', 'Eve'])
  assert.equal(desk.of('ringing').length, 1)
})

test('what is to be heard before the answer is heard, and a call is taken back while it rings', async (t) => {
  const { desk, carrier, browser, ended } = await open(t, toCarrier)
  const [softphone, telephone] = [await kept(t, makeSoftphone()), await kept(t, makeTelephone())]
  const ann = await browser('ANN')
  const { call: ours, dialled } = await dial(ann, fromBrowser(ann), softphone)
  const call = await carrier.call()
  let isCancelled = false
  call.events = {
    cancelled: () => {
      isCancelled = true
    },
  }
  call.ring({ status: 183, body: sdp(await telephone.answer(call.invite.body.toString())) })
  telephone.say(440)
  await hears(softphone, 440)
  assert.deepEqual(dialled.progress, [183])
  ours.cancel()
  await until(() => isCancelled)
  await until(() => dialled.refused[0]?.startsWith('487'))
  const end = await ended()
  assert.deepEqual([end.how, end.status, end.by], ['canceled', 487, 'caller'])
  assert.deepEqual(desk.order(), ['admit', 'place', 'ended'])
})

for (const [what, status, how] of [
  ['is busy', 486, 'busy'],
  ['declines', 603, 'rejected'],
  ['is unknown', 404, 'failed'],
] as const)
  test(`the caller hears that the other side ${what}`, async (t) => {
    const { carrier, browser, ended } = await open(t, toCarrier)
    const ann = await browser('ANN')
    const { dialled } = await dial(ann, fromBrowser(ann), await kept(t, makeSoftphone()))
    ;(await carrier.call()).refuse({ status })
    const end = await ended()
    assert.deepEqual([end.how, end.status, end.by], [how, status, 'callee'])
    await until(() => dialled.refused[0]?.startsWith(String(status)))
  })

test('what the desk refuses goes nowhere, and nobody calls in the name of another', async (t) => {
  const { desk, carrier, browser, gateway, url } = await open(t, () => ({
    refused: { status: 402, reason: 'No balance' },
  }))
  const ann = await browser('ANN')
  const softphone = await kept(t, makeSoftphone())
  const { dialled } = await dial(ann, fromBrowser(ann), softphone)
  await until(() => dialled.refused.includes('402 No balance'))
  const { dialled: second } = await dial(ann, { ...fromBrowser(ann), from: '<sip:BOB@us.test>' }, softphone)
  await until(() => second.refused.includes('403 claims and SIP identity do not match'))
  const stranger = await openBrowser(t, url, 'EVE')
  const { dialled: third } = await dial(stranger, fromBrowser(stranger), softphone)
  await until(() => third.refused.includes('403 Nobody is registered over this connection'))
  assert.equal(desk.of('place').length, 1)
  assert.deepEqual([carrier.calls.length, gateway.calls()], [0, 0])
})

test('two browsers speak Opus with each other', async (t) => {
  const { desk, browser, ended } = await open(t, toBrowsers('BOB'))
  const [one, other] = [await kept(t, makeSoftphone('opus')), await kept(t, makeSoftphone('opus'))]
  const [ann, bob] = [await browser('ANN'), await browser('BOB')]
  const { dialled } = await dial(ann, { ...fromBrowser(ann, 'BOB'), headers: [['X-Order', '7']] }, one)
  const call = await until(() => bob.calls[0])
  assert.equal(header(call.invite, 'X-Order'), '7')
  await answer(call, other)
  const session = await until(() => dialled.session)
  one.say(1_000)
  other.say(620)
  await until(() => one.received > 20 && other.received > 20)
  await session.bye()
  const end = await ended()
  assert.deepEqual([end.by, ...end.stats.map(({ codec }) => codec)], ['caller', 'opus', 'opus'])
  const [answered] = desk.of('answered')
  assert.deepEqual(Object(answered?.about).by, { people: [{ account: 'one', user: 'BOB' }] })
})
