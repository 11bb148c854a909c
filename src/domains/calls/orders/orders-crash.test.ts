import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Receiver } from '../../../../test/doubles/receiver.ts'
import { makeStreamServer } from '../../../../test/media/stream-server.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { buyNumber, homeOnDisk, startPlatform, until } from '../../../../test/platform.ts'
import { answer, closedAfter, dial, receivesTone } from '../../../adapters/sip-gateway/testing.ts'
import { signatureHeaders, signingKeyOf } from '../../../platform/lib/webhook-signature.ts'
import { openVoicePlatform, startVoicePlatform } from '../call-testing.ts'
import { openProgram } from '../programs/program-testing.ts'

test('after a kill during ten calls of programs, and one that a program dialled, none is placed again: all are closed within ten seconds, the carrier gets a BYE for each, the end of a stream is reported, and a call that waited is placed', async (t) => {
  const receiver = await new Receiver().up()
  t.after(() => receiver.down())
  const killed = await startVoicePlatform({}, homeOnDisk())
  t.after(() => killed.end('SIGKILL'))
  const { number } = await buyNumber(killed)
  const { carrier } = await openVoicePlatform(t, killed, { prefixes: ['442079460'] })
  const [account] = (await killed.call('GET', '/operator/accounts')).body.accounts
  const verbs = [{ verb: 'play', tone: { hertz: [440], on_ms: 60_000 } }]
  const dialler = '+33612345600'
  const program = await openProgram(t, {
    '/begin': (response, { body }) => {
      const own = [{ verb: 'dial', targets: [{ number: '+442079460804' }] }]
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body.call.from === dialler ? own : verbs))
    },
  })
  const { numbers } = (await killed.call('GET', '/open/voip/virtual-numbers')).body
  const voice = { kind: 'url', url: `${program.base}/begin` }
  await killed.call('PUT', `/open/voip/virtual-numbers/${numbers[0].uuid}`, { voice })
  const callNumber = async (from: string, hertz: number) => {
    const telephone = await closedAfter(t, makeTelephone())
    const ask = { uri: `sip:${number}@127.0.0.1:${killed.voicePort}`, from: `<sip:${from}@carrier.test>` }
    const { dialled } = await dial(carrier, ask, telephone)
    await receivesTone(telephone, hertz)
    return dialled
  }
  const dialled = async () => {
    const telephone = await closedAfter(t, makeTelephone())
    const own = await answer(await carrier.call(), telephone)
    telephone.sendTone(620)
    return own
  }
  const legs = await Promise.all([
    ...Array.from({ length: 7 }, () => callNumber('+33612345678', 440)),
    ...[callNumber(dialler, 620), dialled()],
  ])
  await killed.call('PATCH', `/operator/accounts/${account.uuid}/call-limits`, { calls_at_a_time: legs.length + 2 })
  const status_url = receiver.url('/reports')
  const make = async (to: string, first: readonly object[] = []) => {
    const order = { from_number: number, to, verbs: [...first, ...verbs], status_url }
    const made = await killed.call('POST', '/open/voip/calls', order)
    assert.equal(made.status, 201, JSON.stringify(made.body))
    return made.body.cdr.uuid as string
  }
  const agent = await makeStreamServer()
  t.after(() => agent.close())
  const stream = { verb: 'stream', url: agent.url, direction: 'in', name: 'ears', status_url: receiver.url('/streams') }
  const talks = await make('+442079460801', [stream])
  const telephone = await closedAfter(t, makeTelephone())
  const { ends } = await answer(await carrier.call(), telephone)
  await receivesTone(telephone, 440)
  await until(async () => receiver.of('/streams').length === 1)
  const rings = await make('+442079460802')
  const invited = await carrier.call()
  invited.ring({ status: 180 })
  await until(async () => (await killed.call('GET', `/open/voip/call/${rings}`)).body.cdr.status === 'RINGING')
  // The account has as many calls as it may.
  const waits = await make('+442079460803')
  await killed.end('SIGKILL')
  // Nobody would end its transaction.
  invited.refuse({ status: 480 })

  const next = await startPlatform(killed.home, { TRUNKLINE_RTP_PORTS: '0', TRUNKLINE_WEBRTC_PORTS: '0' })
  t.after(() => next.end())
  const began = Date.now()
  const ended = (id: string) =>
    until(async () => {
      const { cdr } = (await next.call('GET', `/open/voip/call/${id}`)).body
      return cdr.active ? null : cdr
    })
  const [talked, rang] = [await ended(talks), await ended(rings)]
  assert.deepEqual([talked.status, talked.end_reason], ['COMPLETED', 'interrupted'])
  assert.deepEqual([rang.status, rang.end_reason, rang.call_cost.call_price], ['FAILED', 'interrupted', 0])
  await until(async () => [{ ends }, ...legs].every((one) => one.ends.length > 0))
  for (const one of [{ ends }, ...legs]) assert.deepEqual(one.ends, ['remote'])
  const cdrs: {
    uuid: string
    active: boolean
    status: string
    end_reason?: string
    call_cost: { call_price: number }
  }[] = (await next.call('GET', '/open/voip/call-history')).body.cdrs
  const others = cdrs.filter(({ uuid }) => ![talks, rings, waits].includes(uuid))
  assert.equal(others.length, legs.length)
  for (const { status, end_reason } of others) assert.deepEqual([status, end_reason], ['COMPLETED', 'interrupted'])
  // Each has its own price: the call that was dialled that of its destination.
  assert.deepEqual(others.map(({ call_cost }) => call_cost.call_price).toSorted(), [
    ...Array(legs.length - 1).fill(0.008),
    0.012,
  ])
  assert.equal(talked.call_cost.call_price, 0.012)
  // The promise is ten seconds; a busy machine gets twice that.
  assert.ok(Date.now() - began < 20_000, `${Date.now() - began} ms`)
  const third = await carrier.call()
  assert.match(third.invite.uri, /442079460803/)
  third.refuse({ status: 486 })
  assert.equal((await ended(waits)).status, 'BUSY')
  assert.deepEqual(carrier.calls, [], 'no further call')
  assert.equal(program.received.length, legs.length - 1, 'no further request')
  const reported = () => receiver.of('/reports').map(({ body }) => JSON.parse(body).call.uuid)
  await until(async () => reported().length >= 3)
  assert.deepEqual(reported().toSorted(), [talks, rings, waits].toSorted())
  const streams = await until(async () => {
    const got = receiver.of('/streams')
    return got.length > 1 && got.map(({ body }) => JSON.parse(body))
  })
  const streamSid = agent.streams[0]?.frames[1]?.streamSid
  assert.deepEqual(
    streams.map(({ event, call: { uuid }, result }) => [event, uuid, result.stream, result.name, result.reason]),
    [
      ['stream-started', talks, streamSid, 'ears', undefined],
      ['stream-stopped', talks, streamSid, 'ears', 'interrupted'],
    ],
  )
  const { signing_secret } = (await next.call('GET', '/open/voip/signing-secret')).body
  for (const { id, headers, body } of receiver.of('/streams')) {
    const at = Number(headers['webhook-timestamp']) * 1_000
    const signed = signatureHeaders([signingKeyOf(signing_secret)], id, body, at)
    assert.equal(headers['webhook-signature'], signed['webhook-signature'])
  }
})
