import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Receiver } from '../../../../test/doubles/receiver.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { buyNumber, homeOnDisk, startPlatform, until } from '../../../../test/platform.ts'
import { answer, closedAfter, dial, receivesTone } from '../../../adapters/sip-gateway/testing.ts'
import { openVoicePlatform, startVoicePlatform } from '../call-testing.ts'
import { openProgram } from '../programs/program-testing.ts'

test('after a kill no call of the API is placed twice: those that were placed are closed, as those of a number are, and one that waited is placed', async (t) => {
  const receiver = await new Receiver().up()
  t.after(() => receiver.down())
  const killed = await startVoicePlatform({}, homeOnDisk())
  t.after(() => killed.end('SIGKILL'))
  const { number } = await buyNumber(killed)
  const { carrier } = await openVoicePlatform(t, killed, { prefixes: ['442079460'] })
  const [account] = (await killed.call('GET', '/operator/accounts')).body.accounts
  const verbs = [{ verb: 'play', tone: { hertz: [440], on_ms: 60_000 } }]
  const program = await openProgram(t, { '/begin': verbs })
  const { numbers } = (await killed.call('GET', '/open/voip/virtual-numbers')).body
  const voice = { kind: 'url', url: `${program.base}/begin` }
  await killed.call('PUT', `/open/voip/virtual-numbers/${numbers[0].uuid}`, { voice })
  const callNumber = async () => {
    const telephone = await closedAfter(t, makeTelephone())
    const ask = { uri: `sip:${number}@127.0.0.1:${killed.voicePort}`, from: '<sip:+33612345678@carrier.test>' }
    const { dialled } = await dial(carrier, ask, telephone)
    await receivesTone(telephone, 440)
    return dialled
  }
  const inbound = [await callNumber(), await callNumber()]
  await killed.call('PATCH', `/operator/accounts/${account.uuid}/call-limits`, { calls_at_a_time: 4 })
  const status_url = receiver.url('/reports')
  const make = async (to: string) => {
    const made = await killed.call('POST', '/open/voip/calls', { from_number: number, to, verbs, status_url })
    assert.equal(made.status, 201, JSON.stringify(made.body))
    return made.body.cdr.uuid as string
  }
  const talks = await make('+442079460801')
  const telephone = await closedAfter(t, makeTelephone())
  const { ends } = await answer(await carrier.call(), telephone)
  await receivesTone(telephone, 440)
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
  for (const { body } of program.received) {
    const { status, end_reason } = await ended(String(body.call.uuid))
    assert.deepEqual([status, end_reason], ['COMPLETED', 'interrupted'])
  }
  await until(async () => [{ ends }, ...inbound].every((one) => one.ends.length > 0))
  assert.deepEqual([ends, ...inbound.map((one) => one.ends)], [['remote'], ['remote'], ['remote']])
  // The promise is ten seconds; a busy machine gets twice that.
  assert.ok(Date.now() - began < 20_000, `${Date.now() - began} ms`)
  const third = await carrier.call()
  assert.match(third.invite.uri, /442079460803/)
  third.refuse({ status: 486 })
  assert.equal((await ended(waits)).status, 'BUSY')
  assert.deepEqual(carrier.calls, [], 'no further call')
  assert.equal(program.received.length, inbound.length, 'no further request')
  const reported = () => receiver.calls.map(({ body }) => JSON.parse(body).call.uuid)
  await until(async () => reported().length >= 3)
  assert.deepEqual(reported().toSorted(), [talks, rings, waits].toSorted())
})
