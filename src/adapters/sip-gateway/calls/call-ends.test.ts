import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { ManualTimers, openPeer, requestText, settleSockets, until } from '@trunkline/sip/user-agent/testing.ts'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import type { MediaEngine } from '../../../ports/media.ts'
import type { VoiceDialog } from '../../../ports/voice.ts'
import type { CallDecision } from '../testing.ts'
import {
  answer,
  closedAfter,
  dial,
  fromBrowser,
  mediaFlow,
  openBrowser,
  openCarrier,
  openMedia,
  openWorld,
  receivesTone,
  toBrowsers,
  toCarrier,
  trunkOf,
} from '../testing.ts'

const media = await openMedia()
after(() => media.close())

const ann = { account: 'one', user: 'ANN' }

/** A call between a browser and the carrier's telephone. */
const talk = async (t: TestContext, decide: CallDecision = toCarrier, engine = media) => {
  const timers = new ManualTimers()
  const world = await openWorld(t, decide, { media: engine, timers })
  const [softphone, telephone] = [await closedAfter(t, makeSoftphone()), await closedAfter(t, makeTelephone())]
  const browser = await world.browser('ANN')
  const { dialled } = await dial(browser, fromBrowser(browser), softphone)
  const { session, ends } = await answer(await world.carrier.call(), telephone)
  await until(() => dialled.session)
  await mediaFlow(softphone)
  return { ...world, timers, softphone, telephone, ann: browser, dialled, session, ends }
}

test('a silent trunk and a trunk without capacity are skipped for the next one', async (t) => {
  const timers = new ManualTimers()
  const targets = ['silent', 'full', 'carrier'].map((trunk) => ({ trunk, number: '+33612345678' }))
  const { gateway, carrier, browser, callControl } = await openWorld(t, () => ({ value: { targets } }), {
    media,
    timers,
  })
  const [silent, full] = [await openPeer(t), await openCarrier(t)]
  const trunks = [trunkOf(silent.port, { id: 'silent' }), trunkOf(full.port, { id: 'full' }), trunkOf(carrier.port)]
  await gateway.apply(trunks)
  const caller = await browser('ANN')
  const softphone = await closedAfter(t, makeSoftphone())
  const { dialled } = await dial(caller, fromBrowser(caller), softphone)
  await until(() => silent.heard.some((heard) => heard.kind === 'request' && heard.method === 'INVITE'))
  timers.advance(4_000)
  ;(await full.call()).refuse({ status: 503 })
  const call = await carrier.call()
  await answer(call, await closedAfter(t, makeTelephone()))
  await until(() => dialled.session)
  await mediaFlow(softphone)
  assert.deepEqual(Object(callControl.of('answered')[0]?.about).by, targets[2])
  assert.deepEqual(
    ['silent', 'full', 'carrier'].map((id) => gateway.trunk(id)?.calls),
    [0, 0, 1],
  )
  await dialled.session?.bye()
})

test('a carrier’s reason is hidden from browsers and reported to call control', async (t) => {
  const { carrier, browser, ended } = await openWorld(t, toCarrier, { media })
  const caller = await browser('ANN')
  const { dialled } = await dial(caller, fromBrowser(caller), await closedAfter(t, makeSoftphone()))
  const call = await carrier.call()
  call.refuse({ status: 503, reason: 'No route from 192.0.2.7 at sbc3.carrier.test' })
  await until(() => dialled.refused[0] === '503 Service Unavailable')
  assert.equal((await ended()).reason, 'No route from 192.0.2.7 at sbc3.carrier.test')
})

test('a callee that does not answer in time stops ringing', async (t) => {
  const timers = new ManualTimers()
  const { carrier, browser, ended } = await openWorld(t, toCarrier, { media, timers })
  const caller = await browser('ANN')
  const { dialled } = await dial(caller, fromBrowser(caller), await closedAfter(t, makeSoftphone()))
  const call = await carrier.call()
  call.ring({ status: 180 })
  await until(() => dialled.progress.includes(180))
  timers.advance(30_000)
  assert.deepEqual([(await ended()).how, (await ended()).status], ['no_answer', 480])
  await until(() => dialled.refused[0] === '480 No answer')
  await until(() => !call.isPending)
})

test('a call to an absent user ends with 480, and call control gets the reason', async (t) => {
  const { browser, ended } = await openWorld(t, toBrowsers('BOB'), { media })
  const caller = await browser('ANN')
  const { dialled } = await dial(caller, fromBrowser(caller, 'BOB'), await closedAfter(t, makeSoftphone()))
  await until(() => dialled.refused[0] === '480 No registered device')
  assert.equal((await ended()).how, 'no_answer')
})

test('a call reports a heartbeat every five seconds and is cut when call control refuses', async (t) => {
  const { callControl, timers, ended, dialled, ends } = await talk(t)
  timers.advance(5_000)
  await until(() => callControl.of('beat').length === 1)
  callControl.rules.beat = { refused: { status: 402, reason: 'The balance is used up' } }
  await until(() => {
    timers.advance(100)
    return callControl.of('beat').length === 2
  })
  const end = await ended()
  assert.deepEqual([end.how, end.reason, end.by], ['balance', 'The balance is used up', null])
  await until(() => dialled.ends.length + ends.length === 2)
})

test('a call ends at its longest time, which is no fault, and an operator may end it earlier', async (t) => {
  const targets = [{ trunk: 'carrier', number: '+33612345678' }]
  const longest = await talk(t, () => ({ value: { targets, mostSeconds: 60 } }))
  await until(() => {
    longest.timers.advance(500)
    return longest.callControl.of('ended').length > 0
  })
  assert.equal((await longest.ended()).how, 'time_limit')
  const other = await talk(t)
  await other.gateway.hangUp('another call', 'no')
  await other.gateway.hangUp(other.callControl.named(), 'fraud')
  const end = await other.ended()
  assert.deepEqual([end.how, end.reason], ['operator', 'fraud'])
})

test('a user who is suspended is disconnected from an active call', async (t) => {
  const { gateway, ended, ends, ann: browser } = await talk(t)
  await gateway.dropRegistrations([ann], 'suspended', true)
  assert.equal((await ended()).how, 'suspended')
  await until(() => ends.length === 1 && browser.code === 4003)
})

test('a browser whose connection broke keeps its audio and learns of the end after it reconnects', async (t) => {
  const { ann: browser, softphone, telephone, session, dialled, timers, ended, gateway } = await talk(t)
  softphone.sendTone(1_000)
  telephone.sendTone(620)
  browser.cut()
  await until(() => !gateway.isRegistered(ann))
  timers.advance(20_000)
  await Promise.all([receivesTone(softphone, 620), receivesTone(telephone, 1_000)])
  await browser.connect()
  await browser.register()
  timers.advance(20_000)
  await Promise.all([receivesTone(softphone, 620), receivesTone(telephone, 1_000)])
  await session.bye()
  await until(() => dialled.ends.length === 1)
  assert.deepEqual([dialled.ends, (await ended()).how], [['remote'], 'completed'])
})

test('a browser that does not reconnect within 30 s has left the call', async (t) => {
  const { ann: browser, timers, ended, ends, callControl } = await talk(t)
  browser.cut()
  await until(() => {
    timers.advance(1_000)
    return callControl.of('ended').length > 0
  })
  const end = await ended()
  assert.deepEqual([end.how, end.by], ['interrupted', 'caller'])
  await until(() => ends.length === 1)
})

test('a new device leaves the call on the old device, which is disconnected afterwards', async (t) => {
  const { url, ann: old, session, dialled, ended } = await talk(t)
  const fresh = await openBrowser(t, url, 'ANN')
  assert.match(await fresh.register({ generation: 2 }), /^200/)
  const probe = await dialled.session?.options()
  assert.ok(probe?.outcome === 'answered' && probe.response.status === 200)
  assert.equal(old.code, null)
  await session.bye()
  await ended()
  await until(() => old.code === 4001)
})

test('a call without received audio is ended', async (t) => {
  const short = await openMedia(1)
  t.after(() => short.close())
  const { ended, softphone } = await talk(t, toCarrier, short)
  softphone.sendTone(1_000)
  const end = await ended()
  assert.deepEqual([end.how, end.by], ['media_timeout', null])
})

test('a recording has the browser left and the far end right, and call control gets it', async (t) => {
  const record = { id: 'recording', path: join(temporaryFolder(), 'call.wav') }
  const targets = [{ trunk: 'carrier', number: '+33612345678' }]
  const { softphone, telephone, session, ended } = await talk(t, () => ({ value: { targets, record } }))
  softphone.sendTone(1_000)
  telephone.sendTone(620)
  await Promise.all([receivesTone(softphone, 620), receivesTone(telephone, 1_000)])
  await session.bye()
  const [made] = (await ended()).recordings
  assert.ok(made?.id === 'recording' && made.content !== 'left' && made.content.seconds > 0.5)
  assert.equal(readFileSync(record.path).length, made.content.bytes)
})

test('the time to close a call’s media is not reported as talk time', async (t) => {
  const [closing, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow: MediaEngine = {
    ...media,
    openCall: async (events) => {
      const opened = await media.openCall(events)
      if (opened.outcome === 'refused') return opened
      const close = async () => {
        closing.resolve()
        await go.promise
        await opened.value.close()
      }
      return { outcome: 'done', value: { ...opened.value, close } }
    },
  }
  const { session, ended, timers } = await talk(t, toCarrier, slow)
  await session.bye()
  await closing.promise
  timers.advance(2_000)
  go.resolve()
  assert.equal((await ended()).agoMs, 2_000)
})

test('the carrier’s leg of a call that a crash left behind is ended by the next process', async (t) => {
  const { callControl, ends } = await talk(t)
  const dialogs: VoiceDialog[] = Object(callControl.of('answered')[0]?.about).dialogs
  const later = await openWorld(t, toCarrier, { media })
  assert.equal(await later.gateway.releaseDialogs(dialogs), 1)
  await until(() => ends.length === 1)
  assert.deepEqual(ends, ['remote'])
})

for (const holds of ['ringing', 'answered'] as const)
  test(`a callee that hangs up right after answering is reported as answered to the caller and to call control (${holds})`, async (t) => {
    const { callControl, carrier, browser, ended } = await openWorld(t, toCarrier, { media })
    callControl.rules.holds = holds
    const caller = await browser('ANN')
    const { dialled } = await dial(caller, fromBrowser(caller), await closedAfter(t, makeSoftphone()))
    const call = await carrier.call()
    call.ring({ status: 180 })
    await until(() => callControl.of('ringing').length === 1)
    const { session } = await answer(call, await closedAfter(t, makeTelephone()))
    assert.equal(await session.bye(), true)
    callControl.go()
    await until(() => dialled.ends.length === 1)
    assert.deepEqual([dialled.answers.length, dialled.refused, dialled.ends], [1, [], ['remote']])
    assert.partialDeepStrictEqual(await ended(), { how: 'completed', status: 200, by: 'callee' })
    assert.deepEqual(callControl.order().slice(-2), ['answered', 'ended'])
  })

test('a call keeps its place on the trunk until its end is persisted', async (t) => {
  const { callControl, gateway, carrier, browser } = await openWorld(t, toCarrier, { media })
  callControl.rules.holds = 'ended'
  const caller = await browser('ANN')
  const { dialled } = await dial(caller, fromBrowser(caller), await closedAfter(t, makeSoftphone()))
  const { session } = await answer(await carrier.call(), await closedAfter(t, makeTelephone()))
  await until(() => dialled.session)
  assert.equal(await session.bye(), true)
  await until(() => callControl.of('ended').length === 1 && dialled.ends.length === 1)
  await settleSockets()
  assert.deepEqual([gateway.calls(), gateway.trunk('carrier')?.calls], [1, 1])
  callControl.go()
  await until(() => gateway.calls() === 0 && gateway.trunk('carrier')?.calls === 0)
})

test('a call that an operator ends while its answer is persisted is reported as ended after that', async (t) => {
  const { callControl, gateway, carrier, browser } = await openWorld(t, toCarrier, { media })
  callControl.rules.holds = 'answered'
  const caller = await browser('ANN')
  await dial(caller, fromBrowser(caller), await closedAfter(t, makeSoftphone()))
  await answer(await carrier.call(), await closedAfter(t, makeTelephone()))
  await until(() => callControl.of('answered').length === 1)
  await gateway.hangUp(callControl.named(), 'fraud')
  await settleSockets()
  assert.equal(callControl.of('ended').length, 0)
  callControl.go()
  await until(() => callControl.of('ended').length === 1 && gateway.calls() === 0)
})

test('a request in an unknown call is answered 481 to a trunk and ignored from an unknown peer', async (t) => {
  const { gateway } = await openWorld(t, toCarrier, { media })
  const peer = await openPeer(t)
  const methods = ['BYE', 'INVITE', 'INFO', 'UPDATE', 'OPTIONS']
  const say = (when: string) => {
    for (const method of methods)
      peer.send(
        requestText(method, gateway.port, '', { to: '<sip:us@127.0.0.1>;tag=gone', branch: `z9hG4bK${when}${method}` }),
        gateway.port,
      )
  }
  const answers = () => peer.heard.flatMap((heard) => (heard.kind === 'response' ? heard.status : []))
  await gateway.apply([])
  say('before')
  await settleSockets()
  assert.deepEqual(answers(), [])
  await gateway.apply([trunkOf(peer.port)])
  await until(() => peer.heard.length > 0, 'a ping')
  say('after')
  await until(() => answers().length >= methods.length)
  assert.deepEqual(answers(), Array(methods.length).fill(481))
})

test('a trunk with all channels in use places and accepts no further calls', async (t) => {
  const { gateway, carrier, browser, ended } = await openWorld(t, toCarrier, { media })
  await gateway.apply([trunkOf(carrier.port, { channels: 0 })])
  const caller = await browser('ANN')
  const softphone = await closedAfter(t, makeSoftphone())
  const { dialled } = await dial(caller, fromBrowser(caller), softphone)
  await until(() => dialled.refused[0]?.startsWith('503'))
  assert.match((await ended()).reason, /channels of the trunk carrier/)
  const telephone = await closedAfter(t, makeTelephone())
  const uri = `sip:33187654321@127.0.0.1:${gateway.port}`
  const { dialled: inbound } = await dial(carrier, { uri, from: '<sip:33612345678@carrier.test>' }, telephone)
  await until(() => inbound.refused[0] === '503 All Channels Are Taken')
})

test('a rejected caller gets the response at once and uses no channel while it is persisted', async (t) => {
  const { callControl, gateway, carrier } = await openWorld(t, toCarrier, { media })
  await gateway.apply([trunkOf(carrier.port, { channels: 0 })])
  const written = Promise.withResolvers<void>()
  const { receiveCall } = callControl.callControl
  callControl.callControl.receiveCall = async (call) => {
    await written.promise
    return receiveCall(call)
  }
  const ask = { uri: `sip:33187654321@127.0.0.1:${gateway.port}`, from: '<sip:33612345678@carrier.test>' }
  const { dialled } = await dial(carrier, ask, await closedAfter(t, makeTelephone()))
  await until(() => dialled.refused[0] === '503 All Channels Are Taken')
  assert.equal(gateway.trunk('carrier')?.calls, 0)
  written.resolve()
  await until(() => Object(callControl.of('receive')[0]?.about).isFull)
})

test('trunk diagnostics report what works and what to change', async (t) => {
  const timers = new ManualTimers()
  const { gateway, carrier } = await openWorld(t, toCarrier, { media, timers })
  const silent = await openPeer(t)
  await gateway.apply([
    trunkOf(carrier.port),
    trunkOf(silent.port, { id: 'silent' }),
    trunkOf(5060, { id: 'nowhere', host: 'nowhere.invalid' }),
    trunkOf(5061, { id: 'secure', transport: 'tls' }),
  ])
  const examined = async (trunk: string) => {
    const found: string[] = []
    for await (const { what, well, mend } of gateway.diagnose(trunk, null))
      found.push(`${what} ${well} ${mend !== null}`)
    return found
  }
  assert.deepEqual(await examined('carrier'), ['dns true false', 'options true false', 'nat true false'])
  let isDone = false
  const lost = examined('silent').finally(() => {
    isDone = true
  })
  await until(() => {
    timers.advance(100)
    return isDone
  })
  assert.deepEqual(await lost, ['dns true false', 'options false true'])
  assert.deepEqual(await examined('nowhere'), ['dns false true'])
  assert.deepEqual(await examined('secure'), ['dns true false', 'tls false true'])
  assert.deepEqual(await examined('unknown'), [])
})
