import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { ManualTimers, settleSockets, until } from '@trunkline/sip/user-agent/testing.ts'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import type { VoiceCodeEntry, VoicePlan, VoiceTarget } from '../../../ports/voice.ts'
import type { GatewaySettings } from '../gateway.ts'
import { answer, closedAfter, mediaFlow, openCarrier, openMedia, openWorld, trunkOf } from '../testing.ts'

const media = await openMedia()
after(() => media.close())

const number = '+442079460123'
const toCarrier: VoiceTarget = { trunk: 'carrier', number }

/** A gateway with a carrier, and a way to place calls that accept entries of three keys. */
const open = async (t: TestContext, settings: Partial<GatewaySettings> = {}) => {
  const world = await openWorld(t, () => assert.fail('unexpected call'), { media, ...settings })
  const { gateway } = world
  const entries: string[] = []
  const dial = (more: Partial<VoiceCodeEntry> = {}, planned: Partial<VoicePlan> = {}) => {
    const judge: VoiceCodeEntry['check'] = async (typed) => {
      entries.push(typed)
      return typed === '999' ? { done: 'right' } : 'again'
    }
    const plan = { call: 'own', account: 'one', callerId: '+447700900001', targets: [toCarrier], ringSeconds: 20 }
    const limits = { record: null, mostSeconds: null }
    void gateway.dial({ ...plan, ...limits, ...planned }, { length: 3, seconds: 30, check: judge, ...more })
  }
  const telephone = () => closedAfter(t, makeTelephone())
  return { ...world, entries, dial, telephone }
}

/** A platform call whose callee answers in a browser. */
const callBrowser = async (t: TestContext, settings: Partial<GatewaySettings> = {}) => {
  const world = await open(t, settings)
  const bob = await world.browser('BOB')
  world.dial({ seconds: 300 }, { targets: [{ people: [{ account: 'one', user: 'BOB' }] }] })
  const softphone = await closedAfter(t, makeSoftphone())
  const { ends } = await answer(await until(() => bob.calls.shift(), 'a call at the browser'), softphone)
  await until(() => world.callControl.of('answered').length > 0)
  await mediaFlow(softphone)
  return { ...world, bob, ends }
}

/** The call accepts keys once the callee hears the tone. */
const hearsTone = (telephone: { readonly received: number }) => until(() => telephone.received > 5, 'the tone')

test('entries are judged in order, a star restarts an entry, and the accepted entry ends the call', async (t) => {
  const { callControl, gateway, carrier, entries, dial, telephone, ended } = await open(t)
  dial()
  const own = await telephone()
  const { ends } = await answer(await carrier.call(), own)
  await hearsTone(own)
  assert.equal(gateway.calls(), 1)
  await own.press('12*3#456999888')
  const { how, reason, by } = await ended()
  assert.deepEqual([how, reason, by], ['completed', 'right', null])
  assert.deepEqual(entries, ['456', '999'], 'keys after the end are ignored')
  await until(() => ends.length > 0)
  assert.deepEqual([ends, gateway.calls(), callControl.order()], [['remote'], 0, ['answered', 'ended']])
  assert.ok(!callControl.traces.some((line) => /456|999/.test(line)))
})

test('a telephone that sends each key in two ways enters it once', async (t) => {
  const { carrier, entries, dial, telephone, ended } = await open(t)
  dial()
  const own = await telephone()
  const { session } = await answer(await carrier.call(), own)
  await hearsTone(own)
  for (const key of '456999') {
    await session.info({ body: { type: 'application/dtmf-relay', content: `Signal=${key}\r\nDuration=100\r\n` } })
    await own.press(key)
  }
  await ended()
  assert.deepEqual(entries, ['456', '999'])
})

test('a callee who types nothing is disconnected in time, and a callee who hangs up ends the call', async (t) => {
  const { carrier, dial, telephone, ended } = await open(t)
  dial({ seconds: 1 })
  const { ends } = await answer(await carrier.call(), await telephone())
  assert.equal((await ended()).how, 'entry_timeout')
  await until(() => ends.length > 0)

  const other = await open(t)
  other.dial()
  const { session } = await answer(await other.carrier.call(), await telephone())
  await until(() => other.callControl.of('answered').length > 0)
  await session.bye()
  assert.deepEqual([(await other.ended()).how, (await other.ended()).by], ['completed', 'callee'])
})

test('another trunk is tried after a failure, and a refusal by the callee ends the call', async (t) => {
  const { callControl, gateway, carrier, dial, ended } = await open(t)
  const second = await openCarrier(t)
  await gateway.apply([trunkOf(carrier.port), trunkOf(second.port, { id: 'second' })])
  await until(() => gateway.trunk('second')?.state === 'up')
  dial({}, { targets: [toCarrier, { trunk: 'second', number }] })
  const first = await carrier.call()
  first.refuse({ status: 503 })
  const invited = await second.call()
  invited.refuse({ status: 486 })
  assert.deepEqual([(await ended()).how, (await ended()).status], ['busy', 486])
  assert.equal(callControl.of('answered').length, 0)
  assert.equal(gateway.trunk('carrier')?.calls, 0)
})

test('a ringing call ends when an operator ends it or the gateway closes', async (t) => {
  const { gateway, carrier, dial, ended } = await open(t)
  dial()
  const invited = await carrier.call()
  invited.ring({ status: 180 })
  await gateway.hangUp('own', 'An operator ended the call')
  assert.equal((await ended()).how, 'operator')

  const other = await open(t)
  other.dial()
  ;(await other.carrier.call()).ring({ status: 180 })
  await other.gateway.close(0)
  assert.equal((await other.ended()).how, 'interrupted')
})

test('a suspended user is disconnected from a platform call', async (t) => {
  const { gateway, ended, ends, bob } = await callBrowser(t)
  await gateway.dropRegistrations([{ account: 'one', user: 'BOB' }], 'suspended', true)
  assert.deepEqual([(await ended()).how, (await ended()).by], ['suspended', null])
  await until(() => ends.length === 1 && bob.code === 4003)
})

test('a browser in a platform call may reconnect within 30 s', async (t) => {
  const timers = new ManualTimers()
  const { callControl, gateway, ended, bob } = await callBrowser(t, { timers })
  bob.cut()
  await until(() => !gateway.isRegistered({ account: 'one', user: 'BOB' }))
  timers.advance(20_000)
  await bob.connect()
  await bob.register()
  timers.advance(20_000)
  await settleSockets()
  assert.equal(callControl.of('ended').length, 0)
  bob.cut()
  await until(() => {
    timers.advance(1_000)
    return callControl.of('ended').length > 0
  })
  assert.deepEqual([(await ended()).how, (await ended()).by], ['interrupted', 'callee'])
})

test('all calls of a blocked account end, ringing or answered, and those of other accounts go on', async (t) => {
  const { callControl, gateway, carrier, dial, telephone } = await open(t)
  dial({}, { call: 'answered' })
  const { ends } = await answer(await carrier.call(), await telephone())
  await until(() => callControl.of('answered').length === 1)
  dial({}, { call: 'ringing' })
  const ringing = await carrier.call()
  ringing.ring({ status: 180 })
  dial({}, { call: 'other', account: 'two' })
  const other = await carrier.call()
  other.ring({ status: 180 })
  await until(() => callControl.of('ringing').length === 2)
  await gateway.endCallsOf(['one', 'three'])
  await until(() => gateway.calls() === 1)
  const hows = callControl.of('ended').map(({ about }) => Object(about).how)
  assert.deepEqual(hows, ['suspended', 'suspended'])
  await until(() => ends.length === 1 && !ringing.isPending)
  assert.equal(other.isPending, true)
})

test('the end of a call is persisted after its answer, and the call keeps its place on the trunk until then', async (t) => {
  const { callControl, gateway, carrier, dial, telephone } = await open(t)
  callControl.rules.holds = 'answered'
  dial()
  await answer(await carrier.call(), await telephone())
  await until(() => callControl.of('answered').length === 1)
  await gateway.hangUp('own', 'An operator ended the call')
  await settleSockets()
  assert.equal(callControl.of('ended').length, 0)
  callControl.go()
  await until(() => callControl.of('ended').length === 1 && gateway.calls() === 0)

  const other = await open(t)
  other.callControl.rules.holds = 'ended'
  other.dial()
  const { session } = await answer(await other.carrier.call(), await telephone())
  await until(() => other.callControl.of('answered').length === 1)
  await session.bye()
  await until(() => other.callControl.of('ended').length === 1)
  await settleSockets()
  assert.deepEqual([other.gateway.calls(), other.gateway.trunk('carrier')?.calls], [1, 1])
  other.callControl.go()
  await until(() => other.gateway.calls() === 0 && other.gateway.trunk('carrier')?.calls === 0)
})
