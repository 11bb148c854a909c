import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { IncomingCall } from '@trunkline/sip/dialog/incoming-call.ts'
import type { SipSession } from '@trunkline/sip/dialog/sip-session.ts'
import { header } from '@trunkline/sip/message.ts'
import { Registration } from '@trunkline/sip/user-agent/registration.ts'
import { defaultHandlers, noSessionEvents, openAgent } from '@trunkline/sip/user-agent/testing.ts'
import { energyShare, maxEnergyShare } from '../../src/adapters/media/tone-testing.ts'
import type { Peer } from '../../test/media/peer.ts'
import { makeTelephone } from '../../test/media/telephone.ts'
import { until } from '../../test/platform.ts'
import {
  killSimulator,
  makeSimulatorHome,
  ownNumber,
  password,
  type Simulator,
  startSimulator,
} from '../../test/simulator.ts'

type SeenCalls = {
  call_id: string
  direction: string
  peer: string
  state: string
  status: number
  digits: string
  tones: { hertz: number; from: number; seconds: number }[]
}

const seen = async (simulator: Simulator, number: string): Promise<SeenCalls[]> => {
  const { calls } = Object(await simulator.call('GET', `/handsets/${number}`))
  return calls
}

/** Our own stack as the trunk's customer: registered over UDP or TCP, with an endpoint for each call. */
const makeCustomer = async (t: TestContext, { sipPort }: Simulator, transport = 'udp') => {
  const calls: IncomingCall[] = []
  const { agent } = await openAgent(t, {
    user: 'trunkline',
    handlers: { ...defaultHandlers, onInvite: (call) => void calls.push(call) },
  })
  const trunk = `sip:127.0.0.1:${sipPort};transport=${transport}`
  const states: string[] = []
  const credentials = { username: 'trunkline', password }
  const registration = new Registration(agent, {
    ...{ registrar: `sip:127.0.0.1:${sipPort}`, address: '<sip:trunkline@127.0.0.1>', via: trunk, credentials },
    changed: ({ state }) => states.push(state),
  })
  await until(async () => states.includes('registered'))
  const telephone = async (): Promise<Peer> => {
    const peer = await makeTelephone()
    t.after(() => peer.close())
    return peer
  }
  const dial = async (number: string, peer: Peer, own: { username: string; password: string } | null = credentials) => {
    const dialled = { progress: [] as number[], status: 0, session: null as SipSession | null, ends: [] as string[] }
    const call = agent.invite(
      {
        ...{ uri: `sip:${number}@127.0.0.1:${sipPort}`, from: `<sip:${ownNumber}@us.test>`, via: trunk },
        ...(own ? { credentials: own } : {}),
        body: { type: 'application/sdp', content: await peer.offer() },
      },
      {
        progress: ({ status }) => dialled.progress.push(status),
        accepted: ({ status, body }, session) => {
          Object.assign(dialled, { status, session })
          void peer.accept(body.toString())
        },
        refused: (outcome) => {
          dialled.status = outcome.outcome === 'answered' ? outcome.response.status : -1
        },
        session: { ...noSessionEvents, ended: (why) => dialled.ends.push(why) },
      },
    )
    return { call, dialled }
  }
  return { agent, calls, telephone, dial, registration }
}

const hears = (peer: Peer, hertz: number) =>
  until(async () => peer.samples.length >= 4_000 && energyShare(peer.samples.slice(-4_000), hertz) > 0.95)

// Calls spend most of their time ringing.
describe('the sandbox trunk', { concurrency: true }, () => {
  for (const transport of ['udp', 'tcp'] as const)
    test(`a handset called over ${transport} answers with its tone and detects tone, keys and hold`, async (t) => {
      const path = await makeSimulatorHome(t)
      const simulator = await startSimulator(t, path)
      const customer = await makeCustomer(t, simulator, transport)
      const peer = await customer.telephone()
      const { dialled } = await customer.dial('+33612345678', peer)
      const session = await until(async () => dialled.session)
      assert.deepEqual([[...new Set(dialled.progress)], dialled.status], [[180], 200])
      peer.sendTone(1_000)
      await hears(peer, 620)
      const now = async () => (await seen(simulator, '+33612345678'))[0]
      await until(async () => (await now())?.tones.some(({ hertz, seconds }) => hertz === 1_000 && seconds > 1))
      peer.sendTone(null)
      // A telephone of test/media extends Peer with this.
      if ('press' in peer && typeof peer.press === 'function') await peer.press('12#')

      const held = (await peer.offer()).replace('sendrecv', 'sendonly')
      const outcome = await session.reinvite({ body: { type: 'application/sdp', content: held } })
      assert.ok(outcome?.outcome === 'answered' && outcome.response.status === 200)
      assert.match(outcome.response.body.toString(), /a=recvonly/)
      await session.bye()
      const call = await until(async () => {
        const found = await now()
        return found?.state === 'completed' && found
      })
      const { direction, peer: from, digits, tones } = call
      assert.deepEqual([direction, from, digits], ['inbound', ownNumber, '12#'])
      assert.deepEqual([...new Set(tones.map(({ hertz }) => hertz))], [1_000])
      const file = readFileSync(join(path, 'heard', `${call.call_id}.wav`))
      const samples = new Int16Array(file.buffer, file.byteOffset + 44, (file.length - 44) / 2)
      assert.equal(file.readUInt32LE(40), file.length - 44)
      assert.ok(maxEnergyShare(samples, 1_000) > 0.95)
    })

  test('the last digits or a PUT make handsets busy, reject, ring or echo', async (t) => {
    const simulator = await startSimulator(t, await makeSimulatorHome(t))
    const customer = await makeCustomer(t, simulator)
    await simulator.call('PUT', '/handsets/+33612345670', { answers: 'reject' })
    await simulator.call('PUT', '/handsets/+33612340004', { answers: 'echo' })
    const call = async (number: string) => {
      const peer = await customer.telephone()
      return { peer, ...(await customer.dial(number, peer)) }
    }
    const [busy, rejecting, ringing, echoing] = await Promise.all(
      ['+33612350004', '+33612345670', '+33612340005', '+33612340004'].map(call),
    )
    assert.ok(busy && rejecting && ringing && echoing)
    await until(async () => [busy, rejecting].every(({ dialled }) => dialled.status > 0))
    assert.deepEqual([busy.dialled.status, busy.dialled.progress], [486, []])
    assert.deepEqual([rejecting.dialled.status, rejecting.dialled.progress[0]], [603, 180])
    assert.deepEqual([ringing.dialled.status, ringing.dialled.progress[0]], [0, 180])
    ringing.call.cancel()
    await until(async () => echoing.dialled.session)
    echoing.peer.sendTone(1_000)
    await hears(echoing.peer, 1_000)
    await echoing.dialled.session?.bye()
    await until(async () => (await seen(simulator, '+33612340004'))[0]?.state === 'completed')
    const states = ['+33612350004', '+33612345670', '+33612340005'].map(async (number) => {
      const [one] = await seen(simulator, number)
      return [one?.state, one?.status]
    })
    assert.deepEqual(await Promise.all(states), [
      ['busy', 486],
      ['rejected', 603],
      ['canceled', 487],
    ])
  })

  test('a handset calls a registered platform, presses keys and talks for the set time', async (t) => {
    const simulator = await startSimulator(t, await makeSimulatorHome(t))
    const number = '+33612345678'
    await simulator.call('POST', `/handsets/${number}/calls`, { to: ownNumber })
    const [early] = await seen(simulator, number)
    assert.deepEqual([early?.state, early?.status, early?.direction], ['failed', 480, 'outbound'])

    const customer = await makeCustomer(t, simulator)
    const { call_id } = Object(
      await simulator.call('POST', `/handsets/${number}/calls`, { to: ownNumber, seconds: 4, digits: '0*D' }),
    )
    const call = await until(async () => customer.calls.shift())
    assert.match(call.invite.uri, /^sip:\+447911123456@127\.0\.0\.1/)
    assert.match(header(call.invite, 'P-Asserted-Identity') ?? '', /\+33612345678@/)
    const peer = await customer.telephone()
    const ends: string[] = []
    call.ring({ status: 180 })
    const body = { type: 'application/sdp', content: await peer.answer(call.invite.body.toString()) }
    call.accept({ body }, { ...noSessionEvents, ended: (why) => ends.push(why) })
    peer.sendTone(1_000)
    await hears(peer, 620)
    await until(async () => peer.digits === '0*D')
    await until(async () => ends.length === 1)
    const item = await until(async () => (await seen(simulator, number)).find(({ state }) => state === 'completed'))
    assert.equal(item.call_id, call_id)
    assert.deepEqual([...new Set(item.tones.map(({ hertz }) => hertz))], [1_000])

    const second = Object(await simulator.call('POST', `/handsets/${number}/calls`, { to: ownNumber }))
    const other = await until(async () => customer.calls.shift())
    other.refuse({ status: 486 })
    await until(async () => (await seen(simulator, number)).some(({ state }) => state === 'busy'))
    await assert.rejects(simulator.call('POST', `/handsets/${number}/hang-up`, { call_id: second.call_id }), /404/)
  })

  test('a wrong password is refused, and a kill ends calls without losing their records', async (t) => {
    const path = await makeSimulatorHome(t)
    const simulator = await startSimulator(t, path)
    const customer = await makeCustomer(t, simulator)
    for (const own of [null, { username: 'trunkline', password: 'guess' }]) {
      const { dialled } = await customer.dial('+33612345678', await customer.telephone(), own)
      await until(async () => dialled.status > 0)
      assert.equal(dialled.status, 401)
    }
    assert.deepEqual(await seen(simulator, '+33612345678'), [])
    const { dialled } = await customer.dial('+33612345678', await customer.telephone())
    await until(async () => dialled.session)
    await killSimulator(simulator)
    const after = await startSimulator(t, path)
    const [call] = await seen(after, '+33612345678')
    assert.deepEqual([call?.state, call?.peer], ['failed', ownNumber])
  })
})
