import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { header } from '@trunkline/sip/message.ts'
import { ManualTimers, noSessionEvents, settleSockets, until } from '@trunkline/sip/user-agent/testing.ts'
import { makeSoftphone, type Softphone } from '../../../../test/media/softphone.ts'
import { makeStreamServer, streamOptions } from '../../../../test/media/stream-server.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import type { VoiceLine } from '../../../ports/voice.ts'
import { channelOf, maxEnergyShare } from '../../media/tone-testing.ts'
import { answer, closedAfter, dial, fromBrowser, receivesTone, sdp } from '../testing.ts'
import { infoKey, makeProgramWorlds, outcome, play, programHangsUp, toBob, whenGone } from './program-line-testing.ts'

const { media, open } = await makeProgramWorlds()

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

test('a call whose program goes on for ever ends at its longest time, answered or not', async (t) => {
  for (const answers of [true, false]) {
    const timers = new ManualTimers()
    const { receive, nextLine, callControl, ended } = await open(t, null, { timers }, { mostSeconds: 60 })
    const { dialled } = await receive()
    const line = await nextLine()
    if (answers) await line.answer()
    let seconds = 0
    await until(() => {
      timers.advance(500)
      seconds += 0.5
      return line.gone.aborted
    })
    assert.ok(seconds > 59 && seconds <= 60, `${seconds} s`)
    await until(() => callControl.of('ended').length > 0)
    const { how, status, by } = await ended()
    assert.deepEqual([how, status, by], ['time_limit', answers ? 200 : 480, null])
    await until(() => [...dialled.ends, ...dialled.refused].length > 0)
    if (!answers) assert.deepEqual(dialled.refused, ['480 The call has lasted 60 s'])
  }
})

test('a key of the party reaches the server of its stream as one frame, by audio or by INFO', async (t) => {
  const server = await makeStreamServer()
  t.after(server.close)
  const { answered } = await open(t)
  for (const way of ['both', 'info'] as const) {
    const { peer, session, line } = await answered()
    assert.ok(line.leg)
    const known = server.streams.length
    const opened = await line.leg.openStream(streamOptions(server.url), { ended: () => {} })
    assert.ok(opened.outcome === 'done')
    const served = await until(() => (server.streams[known]?.frames.length ?? 0) > 0 && server.streams[known])
    // As the interpreter does.
    line.keys((key) => void opened.value.sendKey(key))
    for (const key of '5#') {
      if (way === 'both') await peer.press(key)
      await session.info(infoKey(key))
    }
    const keys = () => served.frames.flatMap(({ dtmf }) => dtmf ?? [])
    await until(() => keys().length >= 2)
    // A frame of audio that is sent after the keys: no further one has come.
    const { length } = served.frames
    await until(() => served.frames.length > length + 5)
    assert.deepEqual(
      keys(),
      ['5', '#'].map((digit) => ({ track: 'inbound_track', digit })),
    )
    line.hangUp(programHangsUp)
  }
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

test('a call with a program is recorded from its answer if its plan says so, beside a recording of the program', async (t) => {
  const record = { id: 'whole', path: join(temporaryFolder(), 'whole.wav') }
  const { receive, nextLine, ended } = await open(t, null, undefined, { record })
  const { peer } = await receive()
  const line = await nextLine()
  await line.answer()
  peer.sendTone(1_000)
  void play(line, 440)
  assert.ok(line.leg && line.media)
  const [said, heard] = [{ leg: line.leg, of: 'said' } as const, { leg: line.leg, of: 'heard' } as const]
  const own = await line.media.record(join(temporaryFolder(), 'own.wav'), said, heard)
  assert.equal(own.outcome, 'done')
  await receivesTone(peer, 440)
  line.hangUp(programHangsUp)
  const { recordings } = await ended()
  const [whole, second] = recordings
  assert.ok(whole?.id === 'whole' && whole.content !== 'left' && whole.content.seconds > 0.5)
  assert.equal(second, undefined)
  // Our side, which the program is here, is left.
  assert.ok(maxEnergyShare(channelOf(record.path, 0), 440) > 0.9)
  assert.ok(maxEnergyShare(channelOf(record.path, 1), 1_000) > 0.9)
})

test('a call from a browser runs a program too, and its user is left in the recording', async (t) => {
  const record = { id: 'whole', path: join(temporaryFolder(), 'browser.wav') }
  const { browser, nextLine, ended } = await open(t, null, undefined, { record })
  const softphone = await closedAfter(t, makeSoftphone())
  const ada = await browser('ADA')
  const { dialled } = await dial(ada, fromBrowser(ada), softphone)
  const line = await nextLine()
  assert.equal(await line.answer(), true)
  const session = await until(() => dialled.session)
  const keys: string[] = []
  line.keys((key) => keys.push(key))
  softphone.sendTone(1_000)
  void play(line, 440)
  await receivesTone(softphone, 440)
  await session.info(infoKey('7'))
  await session.bye()
  const { recordings, by } = await ended()
  assert.deepEqual([recordings.length, by, keys, line.gone.aborted], [1, 'caller', ['7'], true])
  assert.ok(maxEnergyShare(channelOf(record.path, 0), 1_000) > 0.9)
  assert.ok(maxEnergyShare(channelOf(record.path, 1), 440) > 0.9)
})

test('a browser that calls, and one that is called, hear a prompt whole, though their media connect after the answer', async (t) => {
  const { browser, gateway, nextLine, plan, program } = await open(t)
  const hearsWhole = async (softphone: Softphone) => {
    const line = await nextLine()
    assert.equal(await line.answer(), true)
    const played = await line.leg?.play([{ tones: [880], onMs: 400, offMs: 0, loop: 1 }])
    assert.equal(played?.outcome, 'done')
    const loud = () => softphone.samples.filter((sample) => Math.abs(sample) > 500).length
    await until(() => loud() > 2_600, 'nine of ten of 3,200 samples')
    line.hangUp(programHangsUp)
  }
  const [calling, called] = [await closedAfter(t, makeSoftphone()), await closedAfter(t, makeSoftphone())]
  const [ada, bob] = [await browser('ADA'), await browser('BOB')]
  await dial(ada, fromBrowser(ada), calling)
  await hearsWhole(calling)
  void gateway.run({ ...plan('own', { targets: [toBob] }), program })
  await answer(await until(() => bob.calls.shift(), 'a call at the browser'), called)
  await hearsWhole(called)
})
