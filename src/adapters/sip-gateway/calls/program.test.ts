import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { header } from '@trunkline/sip/message.ts'
import { noSessionEvents, settleSockets, until } from '@trunkline/sip/user-agent/testing.ts'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { makeTelephone, type Telephone } from '../../../../test/media/telephone.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import type { VoiceDialOptions, VoiceEnd, VoiceLine, VoicePlan, VoiceTarget } from '../../../ports/voice.ts'
import type { GatewaySettings } from '../gateway.ts'
import { answer, closedAfter, dial, mediaFlow, openMedia, openWorld, receivesTone, sdp } from '../testing.ts'

const media = await openMedia()
after(() => media.close())

const toCarrier: VoiceTarget = { trunk: 'carrier', number: '+442079460123' }
const toBob: VoiceTarget = { people: [{ account: 'one', user: 'BOB' }] }

/** Plays a tone to the party until something else is played. */
const play = (line: VoiceLine, hertz: number) => {
  assert.ok(line.leg)
  return line.leg.play([{ tones: [hertz], onMs: 60_000, offMs: 0, loop: 0 }])
}

const whenGone = ({ gone }: VoiceLine) =>
  new Promise<void>((resolve) => {
    if (gone.aborted) resolve()
    gone.addEventListener('abort', () => resolve())
  })

const infoKey = (key: string) => ({
  body: { type: 'application/dtmf-relay', content: `Signal=${key}\r\nDuration=100\r\n` },
})

const programHangsUp = { how: 'completed', status: 200, reason: 'The program hangs up' } as const

const outcome = ({ how, by }: VoiceEnd) => `${how} by ${by}`

/** A gateway whose calls from a carrier run a program. Default: it gives its line to the test, and waits for its end. */
const open = async (
  t: TestContext,
  run: ((line: VoiceLine) => Promise<void>) | null = null,
  settings: Partial<GatewaySettings> = {},
) => {
  const lines: VoiceLine[] = []
  const program = {
    run:
      run ??
      ((line: VoiceLine) => {
        lines.push(line)
        return whenGone(line)
      }),
  }
  const world = await openWorld(t, () => ({ value: { call: 'parent', program } }), { media, ...settings })
  const { gateway, carrier, callControl } = world
  const telephone = () => closedAfter(t, makeTelephone())
  /** The carrier calls us. */
  const receive = async (own?: Telephone) => {
    const peer = own ?? (await telephone())
    const uri = `sip:33187654321@127.0.0.1:${gateway.port}`
    return { peer, ...(await dial(carrier, { uri, from: '<sip:0033612345678@carrier.test>' }, peer)) }
  }
  const nextLine = () => until(() => lines.shift(), 'the program')
  /** A party whose call is answered. */
  const answered = async (own?: Telephone) => {
    const { peer, dialled } = await receive(own)
    const line = await nextLine()
    assert.equal(await line.answer(), true)
    peer.sendTone(1_000)
    return { peer, dialled, line, session: await until(() => dialled.session) }
  }
  const endOf = (call: string) =>
    until(
      () => callControl.of('ended').find((entry) => entry.call === call)?.about as VoiceEnd | undefined,
      `the end of ${call}`,
    )
  const plain = { account: 'one', callerId: '+447700900001', targets: [toCarrier], ringSeconds: 20 }
  const plan = (call: string, more: Partial<VoicePlan> = {}): VoicePlan => ({
    ...{ ...plain, call, record: null, mostSeconds: null },
    ...more,
  })
  const dialFrom = (line: VoiceLine, { plan: planned = {}, ...options }: DialSettings = {}) =>
    line.dial(plan('child', planned), {
      ...{ answersOnBridge: false, endsOnStar: false, signal: new AbortController().signal },
      ...options,
    })
  /** A party that talks with a telephone which its program dialled. */
  const connected = async (more: DialSettings = {}) => {
    const party = await answered()
    const dialling = dialFrom(party.line, more)
    const other = await telephone()
    const callee = await answer(await carrier.call(), other)
    other.sendTone(620)
    await Promise.all([receivesTone(party.peer, 620), receivesTone(other, 1_000)])
    return { ...party, dialling, other, callee }
  }
  return { ...world, telephone, receive, nextLine, answered, plan, dialFrom, connected, endOf, program }
}

type DialSettings = Partial<VoiceDialOptions> & { readonly plan?: Partial<VoicePlan> }

test('a program rings, answers, plays, hears each key once, and hangs up', async (t) => {
  const { callControl, gateway, receive, nextLine, ended } = await open(t)
  const { peer, dialled } = await receive()
  const line = await nextLine()
  assert.deepEqual([line.call, line.isAnswered, line.leg, line.media], ['parent', false, null, null])
  await line.ring()
  assert.equal(await line.answer(), true)
  assert.equal(await line.answer(), true)
  const session = await until(() => dialled.session)
  assert.deepEqual([dialled.progress, line.isAnswered], [[180], true])
  void play(line, 440)
  await receivesTone(peer, 440)
  const keys: string[] = []
  const stop = line.keys((key) => keys.push(key))
  for (const key of '12#') {
    await peer.press(key)
    // Some telephones send each key in both.
    await session.info(infoKey(key))
  }
  await until(() => keys.length === 3)
  stop()
  line.note('three keys')
  line.hangUp(programHangsUp)
  assert.deepEqual([line.gone.aborted, await line.answer()], [true, false])
  const { how, by, stats } = await ended()
  assert.deepEqual([how, by, stats.map(({ leg }) => leg)], ['completed', null, ['caller']])
  await until(() => dialled.ends.length === 1)
  assert.deepEqual(keys, ['1', '2', '#'])
  assert.deepEqual(callControl.order(), ['receive', 'ringing', 'answered', 'ended'])
  assert.ok(callControl.traces.includes('three keys'))
  await until(() => gateway.calls() === 0 && gateway.trunk('carrier')?.calls === 0 && media.state().calls === 0)
})

test('a program that refuses, does nothing or fails ends the call before its answer', async (t) => {
  const errors: unknown[] = []
  for (const [run, status, how] of [
    [async (line: VoiceLine) => line.refuse(486, 'Busy Here'), 486, 'busy'],
    [async () => {}, 480, 'no_answer'],
    [() => Promise.reject(new Error('wrong')), 500, 'program_error'],
  ] as const) {
    const { receive, ended } = await open(t, run, { fault: (error) => void errors.push(error) })
    const { dialled } = await receive()
    await until(() => dialled.refused.length === 1)
    assert.match(dialled.refused[0] ?? '', new RegExp(`^${status}`))
    assert.deepEqual([(await ended()).how, (await ended()).status], [how, status])
  }
  assert.deepEqual(errors.map(String), ['Error: wrong'])
})

test('a program that ends after the answer hangs up', async (t) => {
  const { receive, ended } = await open(t, async (line) => void (await line.answer()))
  const { dialled } = await receive()
  await until(() => dialled.ends.length === 1)
  assert.equal(outcome(await ended()), 'completed by null')
})

test('a caller that hangs up while it rings, or while it hears a sound, is gone for the program', async (t) => {
  const { receive, nextLine, answered, ended } = await open(t)
  const { call } = await receive()
  const line = await nextLine()
  await line.ring()
  call.cancel()
  await whenGone(line)
  assert.deepEqual(
    [outcome(await ended()), await line.answer(), await line.early()],
    ['canceled by caller', false, false],
  )

  const second = await answered()
  const playing = play(second.line, 440)
  await receivesTone(second.peer, 440)
  await second.session.bye()
  await whenGone(second.line)
  const played = await playing
  assert.equal(played.outcome === 'done' && played.value.how, 'stopped')
})

test('early media is heard before the answer', async (t) => {
  const { callControl, receive, nextLine } = await open(t)
  const { peer, dialled } = await receive()
  const line = await nextLine()
  assert.deepEqual([await line.early(), await line.early()], [true, true])
  void play(line, 440)
  await receivesTone(peer, 440)
  assert.deepEqual([dialled.progress, callControl.of('answered').length, line.isAnswered], [[183], 0, false])
  await line.answer()
  await until(() => dialled.session)
  void play(line, 620)
  await receivesTone(peer, 620)
  line.hangUp(programHangsUp)
})

test('a caller that leaves the offer to us has no early media, and hears sounds once it has acknowledged', async (t) => {
  const { carrier, gateway, nextLine, telephone } = await open(t)
  const peer = await telephone()
  const own = sdp(await peer.offer())
  carrier.agent.invite(
    { uri: `sip:33187654321@127.0.0.1:${gateway.port}`, from: '<sip:0033612345678@carrier.test>' },
    {
      ...{ progress: () => {}, accepted: () => {}, session: noSessionEvents },
      refused: () => assert.fail('it is refused'),
      answer: (response) => {
        void peer.answer(response.body.toString())
        return own
      },
    },
  )
  const line = await nextLine()
  assert.equal(await line.early(), false)
  assert.equal(await line.answer(), true)
  void play(line, 440)
  await receivesTone(peer, 440)
  line.hangUp(programHangsUp)
})

test('hold and another codec are answered while a program plays', async (t) => {
  const { answered } = await open(t)
  const { peer, session, line } = await answered()
  void play(line, 440)
  await receivesTone(peer, 440)
  const held = await session.reinvite({ body: sdp((await peer.offer()).replace('sendrecv', 'sendonly')) })
  assert.ok(held?.outcome === 'answered' && held.response.status === 200)
  assert.match(held.response.body.toString(), /a=recvonly/)
  const other = await closedAfter(t, makeTelephone('pcma'))
  const changed = await session.reinvite({ body: sdp(await other.offer()) })
  assert.ok(changed?.outcome === 'answered' && changed.response.status === 200)
  await other.accept(changed.response.body.toString())
  peer.sendTone(null)
  other.sendTone(0)
  await receivesTone(other, 440)
  line.hangUp(programHangsUp)
})

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

/** A call that the platform places rings at the carrier. */
const placed = async (t: TestContext) => {
  const world = await open(t)
  const { gateway, carrier, plan, program } = world
  void gateway.run({ ...plan('own', { headers: { 'X-Order': '7' } }), program })
  return { ...world, call: await carrier.call() }
}

test('a call of the platform runs its program once it is answered, which dials another one', async (t) => {
  const { callControl, gateway, carrier, call, nextLine, telephone, dialFrom, endOf } = await placed(t)
  assert.equal(header(call.invite, 'X-Order'), '7')
  call.ring({ status: 180 })
  await until(() => callControl.of('ringing').length === 1)
  const own = await telephone()
  const { ends } = await answer(call, own)
  const line = await nextLine()
  assert.deepEqual([line.isAnswered, await line.answer(), await line.early()], [true, true, true])
  void play(line, 440)
  await receivesTone(own, 440)
  const keys: string[] = []
  line.keys((key) => keys.push(key))
  await own.press('5')
  await until(() => keys.length === 1)
  const dialling = dialFrom(line)
  const other = await telephone()
  const { session } = await answer(await carrier.call(), other)
  own.sendTone(1_000)
  other.sendTone(620)
  await Promise.all([receivesTone(own, 620), receivesTone(other, 1_000)])
  await session.bye()
  await dialling
  const { stats } = await endOf('child')
  assert.deepEqual(stats.map(({ leg }) => leg).toSorted(), ['callee', 'caller'])
  void play(line, 440)
  await receivesTone(own, 440)
  await gateway.hangUp('own', 'By the API', 'canceled')
  assert.equal(outcome(await endOf('own')), 'completed by null')
  await until(() => ends.length === 1)
})

test('a call of the platform that rings is canceled, and one that is refused runs no program', async (t) => {
  const { gateway, call, endOf, plan, program, carrier } = await placed(t)
  call.ring({ status: 180 })
  await gateway.hangUp('own', 'By the API', 'completed')
  assert.equal(outcome(await endOf('own')), 'canceled by null')
  await until(() => !call.isPending)

  const running = gateway.run({ ...plan('busy'), program: { run: () => assert.fail('it runs') } })
  ;(await carrier.call()).refuse({ status: 486 })
  await running
  assert.equal((await endOf('busy')).how, 'busy')
  assert.ok(program)
})

test('a program that runs when the gateway closes ends with its dialled call', async (t) => {
  const { gateway, connected, endOf } = await open(t)
  const { dialling, line, callee, dialled } = await connected()
  await gateway.close(0)
  assert.deepEqual([(await dialling).how, (await endOf('child')).how], ['interrupted', 'interrupted'])
  assert.equal((await endOf('parent')).how, 'interrupted')
  assert.ok(line.gone.aborted)
  await settleSockets()
  assert.deepEqual([callee.ends.length, dialled.ends.length], [1, 1])
})
