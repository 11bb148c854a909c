import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { IncomingCall } from '../dialog/incoming-call.ts'
import type { SipSession, SipSessionEnd } from '../dialog/sip-session.ts'
import { DigestServer } from '../digest/digest-server.ts'
import { header, type SipRequest } from '../message.ts'
import { buildResponse } from '../response.ts'
import type { Flow } from '../transport/flow.ts'
import { defaultHandlers, ManualTimers, noSessionEvents, openAgent, openPeer, until } from './testing.ts'
import type { RequestOutcome } from './uac.ts'
import type { UserAgentHandlers } from './user-agent.ts'

type Peer = Awaited<ReturnType<typeof openPeer>>

const offer = { type: 'application/sdp', content: 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n' }
const from = '<sip:us@127.0.0.1>'

for (const transport of ['udp', 'tcp'] as const) {
  test(`a call over ${transport} rings, is answered, renegotiated, and ended by either side`, async (t) => {
    const calls: IncomingCall[] = []
    const ends: string[] = []
    let theirs: SipSession | null = null
    const flows = new Set<string>()
    const handlers: UserAgentHandlers = {
      ...defaultHandlers,
      onInvite: (call: IncomingCall) => void calls.push(call),
      onMessage: (_: string, __: unknown, flow: Flow) => flows.add(flow.id),
    }
    const callee = await openAgent(t, { handlers })
    const caller = await openAgent(t)
    const uri = `sip:them@127.0.0.1:${callee[transport]};transport=${transport}`

    for (const ender of ['caller', 'callee'] as const) {
      const rung: number[] = []
      let ours: SipSession | null = null
      caller.agent.invite(
        { uri, from, body: offer },
        {
          progress: ({ status }) => rung.push(status),
          accepted: (_, session) => {
            ours = session
          },
          refused: () => assert.fail('refused'),
          session: { ...noSessionEvents, ended: (why) => ends.push(`caller ${why}`) },
        },
      )
      const call = await until(() => calls.shift(), 'the call')
      call.ring({ status: 180 })
      await until(() => rung.includes(180))
      let acknowledged = 0
      theirs = call.accept(
        { body: offer },
        {
          offered: ({ body }) => ({ status: 200, body: { type: 'application/sdp', content: body } }),
          acknowledged: () => acknowledged++,
          info: (request) => ({ status: request.body.length > 0 ? 200 : 400 }),
          ended: (why) => ends.push(`callee ${why}`),
        },
      )
      const session: SipSession = await until(() => ours)
      await until(() => acknowledged === 1)

      const renewed = await session.reinvite({ body: offer })
      assert.ok(renewed?.outcome === 'answered' && renewed.response.status === 200)
      await until(() => acknowledged === 2)
      const info = await session.info({ body: { type: 'application/dtmf-relay', content: 'Signal=1' } })
      assert.ok(info.outcome === 'answered' && info.response.status === 200)
      const probe = await theirs?.options()
      assert.ok(probe?.outcome === 'answered' && probe.response.status === 200)

      await (ender === 'caller' ? session : theirs)?.bye()
      await until(() => ends.length === 2)
      assert.deepEqual(ends.splice(0).sort(), [
        `callee ${ender === 'callee' ? 'local' : 'remote'}`,
        `caller ${ender === 'caller' ? 'local' : 'remote'}`,
      ])
    }
    // Both directions use one connection.
    assert.equal(flows.size, 1)
  })
}

test('a call is cancelled while it rings, and both agents end without transactions', async (t) => {
  const cancelled: boolean[] = []
  const callee = await openAgent(t, {
    handlers: {
      ...defaultHandlers,
      onInvite: (call) => {
        call.events = { cancelled: () => cancelled.push(true) }
        call.ring({ status: 180 })
      },
    },
  })
  const caller = await openAgent(t)
  const outcomes: RequestOutcome[] = []
  const call = caller.agent.invite(
    { uri: `sip:them@127.0.0.1:${callee.udp}`, from, body: offer },
    {
      progress: () => call.cancel(),
      accepted: () => assert.fail('accepted'),
      refused: (outcome) => outcomes.push(outcome),
      session: noSessionEvents,
    },
  )
  const outcome = await until(() => outcomes[0])
  assert.ok(outcome.outcome === 'answered' && outcome.response.status === 487)
  assert.deepEqual(cancelled, [true])
})

test('a registrar challenges, accepts the right password and rejects the wrong one', async (t) => {
  const digest = new DigestServer({ realm: 'us.test', secret: 's', now: Date.now })
  const registrar = await openAgent(t, {
    handlers: {
      ...defaultHandlers,
      onRegister: (request) => {
        const claim = digest.claim(request)
        const verdict = claim && digest.verify(request, claim, 'pass')
        if (verdict === 'good') return { status: 200, headers: [['Contact', header(request, 'Contact') ?? '']] }
        return {
          status: 401,
          headers: digest.challenge(verdict === 'stale').map((value) => ['WWW-Authenticate', value]),
        }
      },
    },
  })
  const { agent } = await openAgent(t)
  const ask = (password: string) =>
    agent.request('REGISTER', {
      ...{ uri: `sip:127.0.0.1:${registrar.udp}`, from, to: from },
      credentials: { username: 'ann', password },
    })
  const good = await ask('pass')
  assert.ok(good.outcome === 'answered' && good.response.status === 200)
  assert.match(header(good.response, 'Contact') ?? '', /^<sip:us@127\.0\.0\.1:\d+>$/)
  const bad = await ask('wrong')
  assert.ok(bad.outcome === 'answered' && bad.response.status === 401)
})

test('a session restored from its snapshot after a crash can be ended', async (t) => {
  const ends: SipSessionEnd[] = []
  const callee = await openAgent(t, {
    handlers: {
      ...defaultHandlers,
      onInvite: (call) => {
        call.accept({ body: offer }, { ...noSessionEvents, ended: (why) => ends.push(why) })
      },
    },
  })
  const crashed = await openAgent(t)
  const sessions: SipSession[] = []
  crashed.agent.invite(
    { uri: `sip:them@127.0.0.1:${callee.udp}`, from, body: offer },
    {
      progress: () => {},
      accepted: (_, session) => sessions.push(session),
      refused: () => {},
      session: noSessionEvents,
    },
  )
  const frozen = JSON.stringify((await until(() => sessions[0])).snapshot())
  const later = await openAgent(t)
  await later.agent.restore(JSON.parse(frozen), noSessionEvents).bye()
  assert.deepEqual(ends, ['remote'])
})

/** An INVITE to a trunk with two addresses, with a total timeout of 4 s. */
const inviteTwoAddresses = async (t: TestContext) => {
  const timers = new ManualTimers()
  const [first, second] = [await openPeer(t), await openPeer(t)]
  const services = [first, second].map(({ port }, at) => ({ name: 'trunk.test', port, priority: at, weight: 1 }))
  const names = {
    addresses: async () => ['127.0.0.1'],
    services: async (name: string) => (name === '_sip._udp.trunk.test' ? services : []),
    close: () => {},
  }
  const { agent, udp } = await openAgent(t, { timers, names })
  const outcomes: RequestOutcome[] = []
  agent.invite(
    { uri: 'sip:+331@trunk.test', from, body: offer, timeoutMs: 4_000 },
    { progress: () => {}, accepted: () => {}, refused: (outcome) => outcomes.push(outcome), session: noSessionEvents },
  )
  return { first, second, timers, udp, outcomes }
}

test('a silent trunk with two addresses fails after the same total timeout as one with a single address', async (t) => {
  const { first, second, timers, outcomes } = await inviteTwoAddresses(t)
  await first.next()
  timers.advance(2_000)
  await second.next()
  timers.advance(2_000)
  const outcome = await until(() => outcomes[0])
  assert.ok(outcome.outcome === 'failed' && outcome.why === 'timeout')
})

for (const [what, fails] of [
  ['is silent', () => {}],
  [
    'answers 503',
    (peer: Peer, request: SipRequest, port: number) =>
      peer.send(buildResponse(request, { status: 503, tag: 'b' }), port),
  ],
] as const)
  test(`when the first address of a trunk ${what}, the second is tried`, async (t) => {
    const { first, second, timers, udp, outcomes } = await inviteTwoAddresses(t)
    const lost = await first.next()
    assert.ok(lost.kind === 'request')
    fails(first, lost, udp)
    if (what === 'is silent') timers.advance(2_000)
    const request = await second.next()
    assert.ok(request.kind === 'request' && request.method === 'INVITE')
    second.send(buildResponse(request, { status: 486, tag: 'b' }), udp)
    const outcome = await until(() => outcomes[0])
    assert.ok(outcome.outcome === 'answered' && outcome.response.status === 486)
  })
