import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { header } from '@trunkline/sip/message.ts'
import { settleSockets, until } from '@trunkline/sip/user-agent/testing.ts'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import type { MediaCall, MediaEngine } from '../../../ports/media.ts'
import {
  answer,
  closedAfter,
  dial,
  fromBrowser,
  mediaFlow,
  openBrowser,
  openMedia,
  openWorld,
  receivesTone,
  sdp,
  toBrowsers,
  toCarrier,
} from '../testing.ts'

const media = await openMedia()
after(() => media.close())

test('a browser calls a telephone: audio, hold and keys pass, and call control gets every event in order', async (t) => {
  const { callControl, gateway, carrier, browser, ended } = await openWorld(t, toCarrier, { media })
  const [softphone, telephone] = [await closedAfter(t, makeSoftphone()), await closedAfter(t, makeTelephone())]
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
  softphone.sendTone(1_000)
  telephone.sendTone(620)
  await Promise.all([receivesTone(softphone, 620), receivesTone(telephone, 1_000)])

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
  await Promise.all([receivesTone(softphone, 620), receivesTone(telephone, 1_000)])

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
  assert.deepEqual(callControl.order(), ['admit', 'place', 'ringing', 'answered', 'ended'])
  const { callId, ...placed } = Object(callControl.of('place')[0]?.about)
  assert.equal(typeof callId, 'string')
  const person = { account: 'one', user: 'ANN' }
  assert.deepEqual(placed, { person, to: '+33612345678', from: '+33187654321', headers: { 'X-Order': '7' } })
  assert.equal(callControl.traces.filter((text) => text === 'the audio is connected').length, 2)
  await until(() => gateway.calls() === 0)
  assert.equal(gateway.trunk('carrier')?.calls, 0)
  assert.equal(media.state().calls, 0)
})

test('a telephone calls two browsers: the first to answer gets the call, with audio in both directions', async (t) => {
  const { callControl, gateway, carrier, browser, ended } = await openWorld(t, toBrowsers('ANN', 'BOB', 'CYD'), {
    media,
  })
  const [softphone, telephone] = [await closedAfter(t, makeSoftphone()), await closedAfter(t, makeTelephone())]
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
  const offers: string[] = []
  const { session } = await answer(other, softphone, {
    offered: async ({ body }) => {
      offers.push(body.toString())
      return { status: 200, body: sdp(await softphone.answer(body.toString())) }
    },
  })
  const theirs = await until(() => dialled.session)
  softphone.sendTone(1_000)
  telephone.sendTone(620)
  await Promise.all([receivesTone(softphone, 620), receivesTone(telephone, 1_000)])
  assert.deepEqual(taken, [true])
  for (const direction of ['sendonly', 'sendrecv']) {
    const held = await theirs.reinvite({ body: sdp((await telephone.offer()).replace('sendrecv', direction)) })
    assert.ok(held?.outcome === 'answered' && held.response.status === 200)
    await until(() => offers.at(-1)?.includes(`a=${direction}`), direction)
  }
  await Promise.all([receivesTone(softphone, 620), receivesTone(telephone, 1_000)])
  await session.bye()
  assert.deepEqual([(await ended()).how, (await ended()).by], ['completed', 'callee'])
  const { from, to, name } = Object(callControl.of('receive')[0]?.about)
  assert.deepEqual([from, to, name], ['+33612345678', '+33187654321', 'Eve'])
  assert.equal(callControl.of('ringing').length, 1)
})

test('early media reaches the caller, and a call is cancelled while it rings', async (t) => {
  const { callControl, carrier, browser, ended } = await openWorld(t, toCarrier, { media })
  const [softphone, telephone] = [await closedAfter(t, makeSoftphone()), await closedAfter(t, makeTelephone())]
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
  telephone.sendTone(440)
  await receivesTone(softphone, 440)
  assert.deepEqual(dialled.progress, [183])
  ours.cancel()
  await until(() => isCancelled)
  await until(() => dialled.refused[0]?.startsWith('487'))
  const end = await ended()
  assert.deepEqual([end.how, end.status, end.by], ['canceled', 487, 'caller'])
  assert.deepEqual(callControl.order(), ['admit', 'place', 'ended'])
})

for (const [what, status, how] of [
  ['is busy', 486, 'busy'],
  ['declines', 603, 'rejected'],
  ['is unknown', 404, 'failed'],
] as const)
  test(`the caller gets the status when the callee ${what}`, async (t) => {
    const { carrier, browser, ended } = await openWorld(t, toCarrier, { media })
    const ann = await browser('ANN')
    const { dialled } = await dial(ann, fromBrowser(ann), await closedAfter(t, makeSoftphone()))
    ;(await carrier.call()).refuse({ status })
    const end = await ended()
    assert.deepEqual([end.how, end.status, end.by], [how, status, 'callee'])
    await until(() => dialled.refused[0]?.startsWith(String(status)))
  })

test('a call that call control refuses goes nowhere, and no user can call as another', async (t) => {
  const { callControl, carrier, browser, gateway, url } = await openWorld(
    t,
    () => ({ refused: { status: 402, reason: 'No balance' } }),
    { media },
  )
  const ann = await browser('ANN')
  const softphone = await closedAfter(t, makeSoftphone())
  const { dialled } = await dial(ann, fromBrowser(ann), softphone)
  await until(() => dialled.refused.includes('402 No balance'))
  const { dialled: second } = await dial(ann, { ...fromBrowser(ann), from: '<sip:BOB@us.test>' }, softphone)
  await until(() => second.refused.includes('403 claims and SIP identity do not match'))
  const stranger = await openBrowser(t, url, 'EVE')
  const { dialled: third } = await dial(stranger, fromBrowser(stranger), softphone)
  await until(() => third.refused.includes('403 No user is registered over this connection'))
  assert.equal(callControl.of('place').length, 1)
  assert.deepEqual([carrier.calls.length, gateway.calls()], [0, 0])
})

test('two browsers talk over Opus', async (t) => {
  const { callControl, browser, ended } = await openWorld(t, toBrowsers('BOB'), { media })
  const [one, other] = [await closedAfter(t, makeSoftphone('opus')), await closedAfter(t, makeSoftphone('opus'))]
  const [ann, bob] = [await browser('ANN'), await browser('BOB')]
  const { dialled } = await dial(ann, { ...fromBrowser(ann, 'BOB'), headers: [['X-Order', '7']] }, one)
  const call = await until(() => bob.calls[0])
  assert.equal(header(call.invite, 'X-Order'), '7')
  await answer(call, other)
  const session = await until(() => dialled.session)
  one.sendTone(1_000)
  other.sendTone(620)
  await until(() => one.received > 20 && other.received > 20)
  await session.bye()
  const end = await ended()
  assert.deepEqual([end.by, ...end.stats.map(({ codec }) => codec)], ['caller', 'opus', 'opus'])
  const [answered] = callControl.of('answered')
  assert.deepEqual(Object(answered?.about).by, { people: [{ account: 'one', user: 'BOB' }] })
})

test('a user who signs in on a new device while it rings is rung there and no longer on the old one', async (t) => {
  const { url, gateway, carrier, browser, ended } = await openWorld(t, toBrowsers('ANN'), { media })
  const [softphone, telephone] = [await closedAfter(t, makeSoftphone()), await closedAfter(t, makeTelephone())]
  const old = await browser('ANN')
  const uri = `sip:33187654321@127.0.0.1:${gateway.port}`
  const { dialled } = await dial(carrier, { uri, from: '<sip:33612345678@carrier.test>' }, telephone)
  const first = await until(() => old.calls[0])
  first.ring({ status: 180 })
  let isTaken = false
  first.events = {
    cancelled: () => {
      isTaken = true
    },
  }
  await until(() => dialled.progress.includes(180))
  const young = await openBrowser(t, url, 'ANN')
  assert.match(await young.register({ generation: 2 }), /^200/)
  const second = await until(() => young.calls[0])
  await until(() => isTaken && old.code === 4001)
  const { session } = await answer(second, softphone)
  await until(() => dialled.session)
  softphone.sendTone(1_000)
  telephone.sendTone(620)
  await Promise.all([receivesTone(softphone, 620), receivesTone(telephone, 1_000)])
  assert.deepEqual([old.calls.length, young.calls.length, dialled.refused], [1, 1, []])
  await session.bye()
  assert.equal((await ended()).how, 'completed')
})

test('a user who signs in again while the media of a call are prepared is rung on the new connection', async (t) => {
  const [requested, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow: MediaEngine = {
    ...media,
    openCall: async (events) => {
      const opened = await media.openCall(events)
      if (opened.outcome === 'refused') return opened
      const addLeg: MediaCall['addLeg'] = async (options) => {
        if (options.id !== 'caller') {
          requested.resolve()
          await go.promise
        }
        return opened.value.addLeg(options)
      }
      return { outcome: 'done', value: { ...opened.value, addLeg } }
    },
  }
  const { url, gateway, carrier, browser, ended } = await openWorld(t, toBrowsers('ANN'), { media: slow })
  const old = await browser('ANN')
  const uri = `sip:33187654321@127.0.0.1:${gateway.port}`
  const ask = { uri, from: '<sip:33612345678@carrier.test>' }
  const { dialled } = await dial(carrier, ask, await closedAfter(t, makeTelephone()))
  await requested.promise
  const young = await openBrowser(t, url, 'ANN')
  assert.match(await young.register({ generation: 2 }), /^200/)
  await until(() => old.code === 4001)
  go.resolve()
  const softphone = await closedAfter(t, makeSoftphone())
  const { session } = await answer(await until(() => young.calls[0]), softphone)
  await until(() => dialled.session)
  await mediaFlow(softphone)
  assert.equal(old.calls.length, 0)
  await session.bye()
  assert.equal((await ended()).how, 'completed')
})

test('when one of two ringing users signs off after a broken connection and the other is busy, the caller gets busy', async (t) => {
  const { gateway, carrier, browser, ended } = await openWorld(t, toBrowsers('ANN', 'BOB'), { media })
  const [ann, bob] = [await browser('ANN'), await browser('BOB')]
  const uri = `sip:33187654321@127.0.0.1:${gateway.port}`
  const ask = { uri, from: '<sip:33612345678@carrier.test>' }
  const { dialled } = await dial(carrier, ask, await closedAfter(t, makeTelephone()))
  const [one, other] = [await until(() => ann.calls[0]), await until(() => bob.calls[0])]
  one.ring({ status: 180 })
  await until(() => dialled.progress.includes(180))
  const absent = { account: 'one', user: 'ANN' }
  ann.cut()
  await until(() => !gateway.isRegistered(absent))
  await settleSockets()
  other.refuse({ status: 486 })
  await settleSockets()
  await gateway.dropRegistrations([absent], 'expired', false)
  await until(() => dialled.refused[0]?.startsWith('486'))
  assert.equal((await ended()).how, 'busy')
})

test('a user whose connection breaks while it rings is rung again after reconnecting, but not once suspended', async (t) => {
  const { gateway, carrier, browser, ended } = await openWorld(t, toBrowsers('ANN'), { media })
  const ann = await browser('ANN')
  const uri = `sip:33187654321@127.0.0.1:${gateway.port}`
  const ask = { uri, from: '<sip:33612345678@carrier.test>' }
  const { dialled } = await dial(carrier, ask, await closedAfter(t, makeTelephone()))
  const first = await until(() => ann.calls.shift())
  first.ring({ status: 180 })
  await until(() => dialled.progress.includes(180))
  ann.cut()
  await until(() => !gateway.isRegistered({ account: 'one', user: 'ANN' }))
  await ann.connect()
  assert.match(await ann.register(), /^200/)
  const second = await until(() => ann.calls.shift())
  const softphone = await closedAfter(t, makeSoftphone())
  const { session } = await answer(second, softphone)
  await until(() => dialled.session)
  await mediaFlow(softphone)
  await session.bye()
  await ended()

  const { dialled: other } = await dial(carrier, ask, await closedAfter(t, makeTelephone()))
  const third = await until(() => ann.calls.shift())
  third.ring({ status: 180 })
  await until(() => other.progress.includes(180))
  await gateway.dropRegistrations([{ account: 'one', user: 'ANN' }], 'suspended', true)
  await until(() => other.refused.length === 1)
})
