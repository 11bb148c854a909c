import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { until } from '@trunkline/sip/user-agent/testing.ts'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import type { VoiceLine } from '../../../ports/voice.ts'
import { energyShare } from '../../media/tone-testing.ts'
import { answer, closedAfter, dial, mediaFlow, receivesTone, sdp } from '../testing.ts'
import { infoKey, makeProgramWorlds, outcome, play, programHangsUp, toBob, whenGone } from './program-line-testing.ts'

const { media, open } = await makeProgramWorlds()

test('a dialled call connects both sides, and after it the program plays again', async (t) => {
  const { callControl, gateway, connected, endOf } = await open(t)
  const { peer, line, dialling, other, callee } = await connected()
  assert.deepEqual([gateway.calls(), gateway.trunk('carrier')?.calls], [2, 2])
  const heard = other.received
  await callee.session.bye()
  const { seconds, ...result } = await dialling
  assert.deepEqual(result, { how: 'completed', status: 200, isAnswered: true })
  assert.ok(seconds >= 0 && seconds < 60)
  const child = await endOf('child')
  assert.deepEqual(
    [outcome(child), child.stats.map(({ leg }) => leg).toSorted()],
    ['completed by callee', ['callee', 'caller']],
  )
  assert.ok(child.stats.every(({ received }) => received.packets > 20))
  assert.ok(heard > 0 && !line.gone.aborted)
  void play(line, 440)
  await receivesTone(peer, 440)
  line.hangUp(programHangsUp)
  const parent = await endOf('parent')
  assert.deepEqual([parent.how, parent.stats.map(({ leg }) => leg)], ['completed', ['caller']])
  const begun = callControl.of('answered').map(({ call }) => call)
  assert.deepEqual(begun, ['parent', 'child'])
  await until(() => gateway.calls() === 0 && gateway.trunk('carrier')?.calls === 0 && media.state().calls === 0)
})

test('twenty targets that are busy can be dialled in one call, and then one that answers', async (t) => {
  const { carrier, answered, dialFrom, telephone } = await open(t)
  const { peer, line } = await answered()
  for (let index = 0; index < 20; index++) {
    const dialling = dialFrom(line, { plan: { call: `child-${index}` } })
    const call = await carrier.call()
    call.refuse({ status: 486 })
    assert.deepEqual(await dialling, { how: 'busy', status: 486, isAnswered: false, seconds: 0 })
  }
  const dialling = dialFrom(line)
  const other = await telephone()
  const { session } = await answer(await carrier.call(), other)
  other.sendTone(620)
  await Promise.all([receivesTone(peer, 620), receivesTone(other, 1_000)])
  await session.bye()
  assert.equal((await dialling).isAnswered, true)
  assert.equal(line.gone.aborted, false)
})

test('the party hears ringing of the dialled side, which answers it where the program wants so', async (t) => {
  const { callControl, carrier, answered, dialFrom, telephone, receive, nextLine } = await open(t)
  const first = await answered()
  const ringing = dialFrom(first.line)
  const call = await carrier.call()
  call.ring({ status: 180 })
  await until(() => first.peer.samples.slice(-800).some((sample) => Math.abs(sample) > 1_000), 'ringing')
  call.refuse({ status: 480 })
  assert.equal((await ringing).how, 'no_answer')

  const { peer, dialled } = await receive()
  const line = await nextLine()
  const dialling = dialFrom(line, { answersOnBridge: true, plan: { call: 'second' } })
  const other = await telephone()
  const second = await carrier.call()
  second.ring({ status: 180 })
  await until(() => dialled.progress.includes(180))
  assert.equal(line.isAnswered, false)
  const { session } = await answer(second, other)
  await until(() => dialled.session)
  other.sendTone(620)
  peer.sendTone(1_000)
  await Promise.all([receivesTone(peer, 620), receivesTone(other, 1_000)])
  assert.deepEqual(
    callControl
      .of('answered')
      .map(({ call }) => call)
      .slice(1),
    ['second', 'parent'],
  )
  await session.bye()
  assert.equal((await dialling).isAnswered, true)
  line.hangUp(programHangsUp)
})

test('keys in a dialled call pass between the sides, and the star of the party ends it', async (t) => {
  const { connected, endOf } = await open(t)
  const { peer, line, session, dialling, other, callee } = await connected({ endsOnStar: true })
  const keys: string[] = []
  line.keys((key) => keys.push(key))
  peer.sendTone(null)
  await session.info(infoKey('4'))
  await until(() => other.digits === '4', 'a key of the party')
  other.sendTone(null)
  await other.press('7')
  await callee.session.info(infoKey('*'))
  await until(() => peer.digits === '7*', 'the keys of the callee')
  await session.info(infoKey('*'))
  assert.equal((await dialling).how, 'completed')
  assert.equal(outcome(await endOf('child')), 'completed by caller')
  await until(() => callee.ends.length === 1)
  assert.deepEqual([keys, line.gone.aborted], [[], false])
  await session.info(infoKey('5'))
  await until(() => keys.length === 1)
  assert.deepEqual(keys, ['5'])
})

test('a dialled call ends with the call of its party, ringing or answered', async (t) => {
  const { carrier, answered, dialFrom, connected, endOf } = await open(t)
  const talking = await connected()
  await talking.session.bye()
  assert.equal((await talking.dialling).how, 'completed')
  assert.deepEqual(
    [outcome(await endOf('child')), outcome(await endOf('parent'))],
    ['completed by caller', 'completed by caller'],
  )
  await until(() => talking.callee.ends.length === 1)

  const { line, session } = await answered()
  const dialling = dialFrom(line, { plan: { call: 'ringing' } })
  const call = await carrier.call()
  call.ring({ status: 180 })
  await session.bye()
  assert.deepEqual([(await dialling).how, (await dialling).isAnswered], ['canceled', false])
  await until(() => !call.isPending)
  assert.equal(outcome(await endOf('ringing')), 'canceled by caller')
  // A call that is over dials nobody, and the record of the dialled one is closed.
  assert.equal((await dialFrom(line, { plan: { call: 'late' } })).how, 'canceled')
  assert.equal((await endOf('late')).how, 'canceled')
})

test('the program ends a dialled call, and dials one at a time', async (t) => {
  const { answered, dialFrom, carrier, endOf } = await open(t)
  const { line, peer } = await answered()
  const stop = new AbortController()
  const dialling = dialFrom(line, { signal: stop.signal })
  const call = await carrier.call()
  call.ring({ status: 180 })
  assert.equal((await dialFrom(line, { plan: { call: 'second' } })).status, 491)
  stop.abort()
  assert.equal((await dialling).how, 'canceled')
  await until(() => !call.isPending)
  assert.equal((await endOf('child')).how, 'canceled')
  void play(line, 440)
  await receivesTone(peer, 440)
})

test('a callee that puts the party on hold and hangs up leaves it off hold', async (t) => {
  const { carrier, gateway, nextLine, telephone, dialFrom } = await open(t)
  const peer = await telephone()
  const offers: string[] = []
  const uri = `sip:33187654321@127.0.0.1:${gateway.port}`
  await dial(carrier, { uri, from: '<sip:0033612345678@carrier.test>' }, peer, {
    offered: async ({ body }) => {
      offers.push(body.toString())
      return { status: 200, body: sdp(await peer.answer(body.toString())) }
    },
  })
  const line = await nextLine()
  await line.answer()
  const dialling = dialFrom(line)
  const other = await telephone()
  const { session } = await answer(await carrier.call(), other)
  await session.reinvite({ body: sdp((await other.offer()).replace('sendrecv', 'sendonly')) })
  await until(() => offers.some((offer) => /a=sendonly/.test(offer)))
  await session.bye()
  await dialling
  await until(() => /a=sendrecv/.test(offers.at(-1) ?? ''))
  line.hangUp(programHangsUp)
})

test('a suspended user leaves a dialled call, and a blocked account or an operator ends what is theirs', async (t) => {
  const { gateway, browser, answered, dialFrom, connected, endOf } = await open(t)
  const bob = await browser('BOB')
  const first = await answered()
  const dialling = dialFrom(first.line, { plan: { targets: [toBob], call: 'to-bob' } })
  const softphone = await closedAfter(t, makeSoftphone())
  const { ends } = await answer(await until(() => bob.calls.shift(), 'a call at the browser'), softphone)
  await mediaFlow(softphone)
  await receivesTone(softphone, 1_000)
  await gateway.dropRegistrations([{ account: 'one', user: 'BOB' }], 'suspended', true)
  assert.equal((await dialling).how, 'suspended')
  await until(() => ends.length === 1 && bob.code === 4003)
  assert.equal(first.line.gone.aborted, false)
  void play(first.line, 440)
  await receivesTone(first.peer, 440)
  first.line.hangUp(programHangsUp)
  await endOf('parent')

  const second = await connected({ plan: { call: 'by-operator' } })
  await gateway.hangUp('by-operator', 'An operator ended the call')
  assert.equal((await second.dialling).how, 'operator')
  await until(() => second.callee.ends.length === 1)
  assert.equal(second.line.gone.aborted, false)

  const third = await connected({ plan: { call: 'by-block' } })
  await gateway.endCallsOf(['one'])
  assert.equal((await third.dialling).how, 'suspended')
  assert.equal((await endOf('by-block')).how, 'suspended')
  await until(() => third.callee.ends.length === 1 && third.dialled.ends.length === 1)
  assert.equal(second.line.gone.aborted && third.line.gone.aborted, true)
})

test('a dialled call is recorded for itself, and charged until its own end', async (t) => {
  const { callControl, connected, endOf } = await open(t)
  const path = join(temporaryFolder(), 'child.wav')
  const { callee, dialling, line } = await connected({ plan: { record: { id: 'own', path } } })
  await callee.session.bye()
  await dialling
  const { recordings } = await endOf('child')
  assert.equal(recordings.length, 1)
  const [recording] = recordings
  assert.ok(recording?.id === 'own' && recording.content !== 'left' && recording.content.seconds > 0.5)
  assert.equal(callControl.of('ended').length, 1)
  line.hangUp(programHangsUp)
  assert.deepEqual((await endOf('parent')).recordings, [])
})

test('a refused answer of the dialled side, as without balance, leaves the program with its party', async (t) => {
  const { callControl, carrier, answered, dialFrom, telephone, endOf } = await open(t)
  const { line, peer } = await answered()
  callControl.rules.answered = { refused: { status: 402, reason: 'The balance is used up' } }
  const dialling = dialFrom(line)
  const { ends } = await answer(await carrier.call(), await telephone())
  assert.deepEqual(await dialling, { how: 'balance', status: 402, isAnswered: false, seconds: 0 })
  await until(() => ends.length === 1)
  assert.equal((await endOf('child')).how, 'balance')
  void play(line, 440)
  await receivesTone(peer, 440)
})

test('a callee that is screened hears the party and is heard after it, and keys are for it until then', async (t) => {
  const { carrier, answered, dialFrom, telephone, endOf } = await open(t)
  const { peer, line } = await answered()
  const screened = Promise.withResolvers<VoiceLine>()
  const confirmed = Promise.withResolvers<boolean>()
  const screening = {
    run: (own: VoiceLine) => {
      screened.resolve(own)
      return confirmed.promise
    },
  }
  const dialling = dialFrom(line, { plan: { screening } })
  const other = await telephone()
  const call = await carrier.call()
  // Early media is heard, as without screening.
  other.sendTone(620)
  call.ring({ status: 183, body: sdp(await other.answer(call.invite.body.toString())) })
  await receivesTone(peer, 620)
  const { session } = await answer(call, other)
  const own = await screened.promise
  // It hears nothing of the party.
  const heard: Uint8Array[] = []
  await own.leg?.listen('heard', (frame) => heard.push(frame))
  await until(() => heard.length >= 15, 'frames')
  assert.ok(heard.every((frame) => frame.every((sample) => (sample & 0x7f) === 0x7f)))
  const keys: string[] = []
  own.keys((key) => keys.push(key))
  void play(own, 880)
  await receivesTone(other, 880)
  await session.info(infoKey('7'))
  await until(() => keys.length === 1)
  assert.ok(!(energyShare(peer.samples.slice(-800), 620) > 0.1))
  await own.leg?.stopSounds()
  confirmed.resolve(true)
  await Promise.all([receivesTone(peer, 620), receivesTone(other, 1_000)])
  peer.sendTone(null)
  await session.info(infoKey('8'))
  await until(() => peer.digits === '8')
  await session.bye()
  assert.deepEqual([(await dialling).isAnswered, keys, own.gone.aborted], [true, ['7'], true])
  assert.equal(outcome(await endOf('child')), 'completed by callee')
})

test('a browser that is screened hears a sound whole, though its media connect after the answer', async (t) => {
  const { browser, answered, dialFrom } = await open(t)
  const bob = await browser('BOB')
  const { line } = await answered()
  const run = async ({ leg }: VoiceLine) => {
    const played = await leg?.play([{ tones: [880], onMs: 400, offMs: 0, loop: 1 }])
    return played?.outcome === 'refused'
  }
  const dialling = dialFrom(line, { plan: { targets: [toBob], screening: { run } } })
  const softphone = await closedAfter(t, makeSoftphone())
  await answer(await until(() => bob.calls.shift(), 'a call at the browser'), softphone)
  assert.equal((await dialling).how, 'no_answer')
  const loud = () => softphone.samples.filter((sample) => Math.abs(sample) > 500).length
  await until(() => loud() > 2_600, `${loud()} of 3,200 samples`)
})

test('a screening that fails, and one that the party ends by a star, connect nobody', async (t) => {
  const errors: unknown[] = []
  const { carrier, answered, dialFrom, telephone, endOf } = await open(t, null, {
    fault: (error) => void errors.push(error),
  })
  const { peer, line, session } = await answered()
  const failing = dialFrom(line, { plan: { screening: { run: () => Promise.reject(new Error('a bug')) } } })
  const first = await answer(await carrier.call(), await telephone())
  assert.deepEqual(await failing, { how: 'program_error', status: 500, isAnswered: false, seconds: 0 })
  await until(() => first.ends.length === 1 && errors.length === 1)

  const gone = Promise.withResolvers<void>()
  const run = async (own: VoiceLine) => {
    await session.info(infoKey('*'))
    await whenGone(own)
    gone.resolve()
    return true
  }
  const dialling = dialFrom(line, { endsOnStar: true, plan: { call: 'second', screening: { run } } })
  const second = await answer(await carrier.call(), await telephone())
  assert.deepEqual([(await dialling).how, outcome(await endOf('second'))], ['canceled', 'completed by caller'])
  await until(() => second.ends.length === 1)
  await gone.promise
  void play(line, 440)
  await receivesTone(peer, 440)
})

/** A call that the platform places rings at the carrier. */
