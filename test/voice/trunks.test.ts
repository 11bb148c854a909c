import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { openAgent, openPeer } from '@trunkline/sip/user-agent/testing.ts'
import { answer, dial, openCarrier, receivesTone } from '../../src/adapters/sip-gateway/testing.ts'
import { makeTelephone } from '../media/telephone.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { activeUsers, addTrunk, endedCall, freePortSettings, openBrowserUser } from './voice-fixture.ts'

// Trunks that do not answer, and callers that are not trunks.

const platform = await startPlatform(undefined, freePortSettings)
after(() => platform.end())
const [ada = ''] = await activeUsers(platform)
await buyNumber(platform)

/** A port that accepts everything and never answers. */
const silent = async (): Promise<number> => {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  after(() => socket.close())
  return socket.address().port
}

test('a call on a dead trunk fails over to the next one; without a next one the caller learns of it within six seconds', async (t) => {
  const carrier = await openCarrier(t)
  await addTrunk(platform, { port: await silent(), prefixes: ['336', '337'], priority: 1 }, true)
  await addTrunk(platform, { port: carrier.port, prefixes: ['336'], priority: 2 })
  const person = await openBrowserUser(t, platform, ada)
  assert.match(await person.register(), /^200/)

  const softphone = await person.softphone()
  const { dialled } = await dial(person.web, person.dialOptions('+33612345678'), softphone)
  const call = await until(async () => carrier.calls.shift())
  call.ring({ status: 180 })
  const telephone = await makeTelephone()
  t.after(() => telephone.close())
  const { session } = await answer(call, telephone)
  await until(async () => dialled.session)
  telephone.sendTone(620)
  await receivesTone(softphone, 620)
  await session.bye()
  assert.equal((await endedCall(platform)).status, 'COMPLETED')

  const began = performance.now()
  const { dialled: lost } = await dial(person.web, person.dialOptions('+33712345678'), await person.softphone())
  await until(async () => lost.refused[0])
  // The promise is six seconds, four of them a timeout; a busy machine adds its own delay.
  assert.ok(performance.now() - began < 10_000, `${performance.now() - began} ms`)
  assert.match(lost.refused[0] ?? '', /^(408|50[34])/)
  const cdr = await endedCall(platform, 2)
  assert.deepEqual([cdr.status, cdr.duration, cdr.call_cost.call_price], ['FAILED', 0, 0])
})

test('a trunk is refused for an unused number, and a stranger gets no answer at all', async (t) => {
  const { heard, port } = await openPeer(t)
  await addTrunk(platform, { port, prefixes: ['338'] }, true)
  const ping = await until(async () => heard.shift())
  // The platform accepts trunks at the port that sent the ping.
  const [, gateway] =
    /^SIP\/2\.0\/UDP 127\.0\.0\.1:(\d+)/.exec(ping.headers.find(([name]) => name === 'Via')?.[1] ?? '') ?? []
  assert.ok(gateway)
  const { agent } = await openAgent(t)
  const invite = (from: typeof agent) =>
    new Promise<string>((resolve) => {
      from.invite(
        { uri: `sip:+15550001111@127.0.0.1:${gateway}`, from: '<sip:+33612345678@127.0.0.1>' },
        {
          progress: () => {},
          accepted: () => resolve('accepted'),
          refused: (outcome) => resolve(outcome.outcome === 'answered' ? String(outcome.response.status) : outcome.why),
          session: {
            offered: () => ({ status: 488 }),
            acknowledged: () => {},
            info: () => ({ status: 200 }),
            ended: () => {},
          },
        },
      )
    })
  assert.equal(await invite(agent), '404')

  const stranger = createSocket('udp4').bind(0, '127.0.0.2')
  await once(stranger, 'listening')
  t.after(() => stranger.close())
  const answers: string[] = []
  stranger.on('message', (octets) => answers.push(octets.toString()))
  const ask = (method: string) =>
    [
      `${method} sip:+15550001111@127.0.0.1:${gateway} SIP/2.0`,
      `Via: SIP/2.0/UDP 127.0.0.2:${stranger.address().port};branch=z9hG4bK${method}`,
      ...['Max-Forwards: 70', 'From: <sip:x@127.0.0.2>;tag=1', 'To: <sip:y@127.0.0.1>', `Call-ID: ${method}@x`],
      ...[`CSeq: 1 ${method}`, `Contact: <sip:x@127.0.0.2:${stranger.address().port}>`, 'Content-Length: 0', '', ''],
    ].join('\r\n')
  for (const method of ['OPTIONS', 'INVITE', 'REGISTER']) stranger.send(ask(method), Number(gateway), '127.0.0.1')
  // A request from a trunk's address is answered; the strangers' earlier ones have been read by then.
  assert.equal(await invite(agent), '404')
  assert.deepEqual(answers, [])
})
