import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ask, ManualTimers, nothing, openAgent, openPeer, quiet, until } from '../../testing.ts'
import type { AgentHandlers } from '../agent/agent.ts'
import type { Outcome } from '../agent/exchange.ts'
import type { IncomingCall } from '../dialog/incoming.ts'
import { cseqOf, tagOf, toOf } from '../fields.ts'
import { header, type SipMessage, type SipRequest } from '../message.ts'
import { replyTo } from '../reply.ts'

// Against a peer that says what the test tells it to, with timers that stand still until they are moved.

const open = async (t: TestContext, handlers = nothing, limits = {}) => {
  const timers = new ManualTimers()
  const sent: SipMessage[] = []
  const got: SipMessage[] = []
  const seen: AgentHandlers['seen'] = (direction, message) => (direction === 'out' ? sent : got).push(message)
  const { agent, udp } = await openAgent(t, { timers, handlers: { ...handlers, seen }, limits })
  const peer = await openPeer(t)
  const uri = `sip:peer@127.0.0.1:${peer.port}`
  return { timers, agent, sent, got, port: udp, peer, uri, from: '<sip:us@127.0.0.1>' }
}

const asRequest = (message: SipMessage): SipRequest => {
  assert.ok(message.kind === 'request')
  return message
}
const asResponse = (message: SipMessage) => {
  assert.ok(message.kind === 'response')
  return message
}

/** Moves time by steps of 100 ms and gives the moments at which something was sent. */
const moments = (timers: ManualTimers, sent: SipMessage[], milliseconds: number): number[] => {
  const found: number[] = []
  for (let now = 100; now <= milliseconds; now += 100) {
    const before = sent.length
    timers.advance(100)
    for (let more = sent.length - before; more > 0; more--) found.push(now)
  }
  return found
}

const near = (got: number[], wanted: number[]) => {
  assert.equal(got.length, wanted.length, `${got}`)
  got.forEach((moment, at) => {
    assert.ok(Math.abs(moment - (wanted[at] ?? 0)) <= 100, `${got}`)
  })
}

const invite = (
  agent: Awaited<ReturnType<typeof open>>['agent'],
  asked: { uri: string; from: string; patienceMs?: number },
) => {
  const outcomes: Outcome[] = []
  const progress: number[] = []
  const call = agent.invite(asked, {
    progress: ({ status }) => progress.push(status),
    accepted: () => assert.fail('accepted'),
    refused: (outcome) => outcomes.push(outcome),
    session: quiet,
  })
  return { call, outcomes, progress }
}

test('an INVITE is sent again after 0.5, 1.5, 3.5 s and so on, and given up after 32 s (timers A and B)', async (t) => {
  const { timers, agent, sent, peer, uri, from } = await open(t)
  const { outcomes } = invite(agent, { uri, from })
  await peer.next()
  near(moments(timers, sent, 33_000), [500, 1_500, 3_500, 7_500, 15_500, 31_500])
  const outcome = await until(() => outcomes[0])
  assert.ok(outcome.outcome === 'failed' && outcome.why === 'timeout')
  assert.deepEqual(agent.underWay, { servers: 0, clients: 0, dialogs: 0 })
})

test('a silent trunk is given up after the patience that was asked for, whatever the retransmissions', async (t) => {
  const { timers, agent, peer, uri, from } = await open(t)
  const { outcomes } = invite(agent, { uri, from, patienceMs: 4_000 })
  await peer.next()
  timers.advance(3_999)
  assert.equal(outcomes.length, 0)
  timers.advance(1)
  await until(() => outcomes[0]?.outcome === 'failed')
})

test('an answer stops the INVITE, however long it rings; a refusal is acknowledged each time it comes', async (t) => {
  const { timers, agent, sent, peer, uri, from } = await open(t)
  const { outcomes, progress } = invite(agent, { uri, from })
  const request = asRequest(await peer.next())
  peer.send(replyTo(request, { status: 180, tag: 'b' }), portOf(request))
  await until(() => progress.includes(180))
  assert.deepEqual(moments(timers, sent, 5_000), [])
  timers.advance(600_000)
  assert.equal(outcomes.length, 0)
  for (let again = 0; again < 3; again++) {
    peer.send(replyTo(request, { status: 486, tag: 'b' }), portOf(request))
    const ack = asRequest(await peer.next())
    assert.equal(ack.method, 'ACK')
    assert.equal(header(ack, 'Via'), header(request, 'Via'))
    assert.equal(tagOf(toOf(ack)), 'b')
    assert.equal(cseqOf(ack).number, cseqOf(request).number)
  }
  assert.equal(outcomes.length, 1)
  timers.advance(32_000)
  assert.equal(agent.underWay.clients, 0)
})

const portOf = (request: SipRequest): number => Number(/:(\d+);/.exec(header(request, 'Via') ?? '')?.[1])

test('other requests are sent again up to every 4 s (timers E and F)', async (t) => {
  const { timers, agent, sent, peer, uri, from } = await open(t)
  const asked = agent.request('OPTIONS', { uri, from })
  await peer.next()
  near(moments(timers, sent, 16_000), [500, 1_500, 3_500, 7_500, 11_500, 15_500])
  timers.advance(17_000)
  const outcome = await asked
  assert.ok(outcome.outcome === 'failed' && outcome.why === 'timeout')
})

test('CANCEL waits for a sign of the peer, and is then sent under the branch of its INVITE', async (t) => {
  const { agent, peer, uri, from } = await open(t)
  const { call, outcomes } = invite(agent, { uri, from })
  const request = asRequest(await peer.next())
  call.cancel([['Reason', 'SIP;cause=200']])
  peer.send(replyTo(request, { status: 100 }), portOf(request))
  const cancel = asRequest(await peer.next())
  assert.equal(cancel.method, 'CANCEL')
  assert.equal(header(cancel, 'Reason'), 'SIP;cause=200')
  assert.equal(header(cancel, 'Via'), header(request, 'Via'))
  peer.send(replyTo(cancel, { status: 200, tag: 'b' }), portOf(request))
  peer.send(replyTo(request, { status: 487, tag: 'b' }), portOf(request))
  assert.equal(asRequest(await peer.next()).method, 'ACK')
  const outcome = await until(() => outcomes[0])
  assert.ok(outcome.outcome === 'answered' && outcome.response.status === 487)
})

test('who takes an INVITE back that nobody ever answers finally is rid of it 32 s later (9.1)', async (t) => {
  const { timers, agent, peer, uri, from } = await open(t)
  const { call, outcomes } = invite(agent, { uri, from })
  const request = asRequest(await peer.next())
  peer.send(replyTo(request, { status: 180, tag: 'b' }), portOf(request))
  await until(() => agent.underWay.dialogs === 1)
  call.cancel()
  await peer.next()
  timers.advance(64_000)
  await until(() => outcomes[0]?.outcome === 'failed')
  assert.deepEqual(agent.underWay, { servers: 0, clients: 0, dialogs: 0 })
})

test('a caller hears 100 after 200 ms, the same answer when it asks again, and the refusal until its ACK (timers G, H, I)', async (t) => {
  const calls: IncomingCall[] = []
  const { timers, agent, sent, got, port, peer } = await open(t, {
    ...nothing,
    onInvite: (call) => void calls.push(call),
  })
  const text = ask('INVITE', port)
  peer.send(text, port)
  const call = await until(() => calls[0])
  timers.advance(200)
  assert.equal(asResponse(await peer.next()).status, 100)
  call.ring({ status: 180 })
  assert.equal(asResponse(await peer.next()).status, 180)
  peer.send(text, port)
  assert.equal(asResponse(await peer.next()).status, 180)
  call.refuse({ status: 486 })
  assert.equal(asResponse(await peer.next()).status, 486)
  near(moments(timers, sent, 12_000), [500, 1_500, 3_500, 7_500, 11_500])
  peer.send(ask('ACK', port), port)
  await until(() => got.some((message) => message.kind === 'request' && message.method === 'ACK'))
  assert.deepEqual(moments(timers, sent, 5_000), [])
  assert.deepEqual(agent.underWay, { servers: 0, clients: 0, dialogs: 0 })
  assert.equal(calls.length, 1)
})

test('a CANCEL of nothing is told so', async (t) => {
  const { port, peer } = await open(t)
  peer.send(ask('CANCEL', port, '', { branch: 'z9hG4bKnone' }), port)
  assert.equal(asResponse(await peer.next()).status, 481)
})

test('the same request over another way is refused (8.2.2.2)', async (t) => {
  const { port, peer } = await open(t, { ...nothing, onInvite: () => {} })
  peer.send(ask('INVITE', port, '', { branch: 'z9hG4bKone' }), port)
  peer.send(ask('INVITE', port, '', { branch: 'z9hG4bKtwo' }), port)
  assert.equal(asResponse(await peer.next()).status, 482)
})

test('requests of RFC 2543, without a branch of their own, are told apart all the same', async (t) => {
  const calls: string[] = []
  const { port, peer } = await open(t, {
    ...nothing,
    onInvite: (call) => {
      calls.push('call')
      call.refuse({ status: 486 })
    },
  })
  for (const callId of ['one', 'one', 'two']) peer.send(ask('INVITE', port, '', { branch: '1', callId }), port)
  for (let answers = 0; answers < 3; answers++) assert.equal(asResponse(await peer.next()).status, 486)
  assert.equal(calls.length, 2)
})

test('above the limit requests are answered 503, and what ends something is still let in', async (t) => {
  const { agent, port, peer } = await open(t, { ...nothing, onInvite: () => {} }, { mostServer: 10 })
  for (let i = 0; i < 10; i++) peer.send(ask('INVITE', port, '', { branch: `z9hG4bKn${i}`, callId: `${i}` }), port)
  await until(() => agent.underWay.servers === 10)
  peer.send(ask('INVITE', port, '', { branch: 'z9hG4bKmore', callId: 'more' }), port)
  const refusal = asResponse(await peer.next())
  assert.deepEqual([refusal.status, header(refusal, 'Retry-After')], [503, '5'])
  peer.send(ask('CANCEL', port, '', { branch: 'z9hG4bKn3', callId: '3' }), port)
  const answers = [asResponse(await peer.next()), asResponse(await peer.next())]
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 487])
  // 9.2: both come from the same dialog.
  assert.equal(new Set(answers.map((answer) => tagOf(toOf(answer)))).size, 1)
})

test('answers go to the port of Via where the peer does not ask for its own (RFC 3581)', async (t) => {
  const { port, peer } = await open(t)
  const other = await openPeer(t)
  peer.send(ask('OPTIONS', port).replace('127.0.0.1:5999;rport', `127.0.0.1:${other.port}`), port)
  assert.equal(asResponse(await other.next()).status, 200)
  peer.send(ask('OPTIONS', port).replace('Via: SIP/2.0/UDP 127.0.0.1', 'Via: SIP/2.0/UDP host.invalid'), port)
  const answer = asResponse(await peer.next())
  assert.match(header(answer, 'Via') ?? '', new RegExp(`;rport=${peer.port};.*received=127.0.0.1`))
})

test('an answer with another Via on top, or with two of them, is nobody’s (18.1.2)', async (t) => {
  const { agent, peer, uri, from } = await open(t)
  const asked = agent.request('OPTIONS', { uri, from })
  const request = asRequest(await peer.next())
  const good = replyTo(request, { status: 200, tag: 'b' })
  const via = header(request, 'Via') ?? ''
  const withVias = (...values: string[]) => ({
    ...good,
    headers: [...values.map((value) => ['Via', value] as const), ...good.headers.filter(([name]) => name !== 'Via')],
  })
  peer.send(withVias('SIP/2.0/UDP 203.0.113.9;branch=z9hG4bKother'), portOf(request))
  peer.send(withVias(via, 'SIP/2.0/UDP 203.0.113.9;branch=z9hG4bKother'), portOf(request))
  await until(() => agent.transports.strays === 2)
  peer.send(good, portOf(request))
  assert.equal((await asked).outcome, 'answered')
})

test('who waits for an answer while the agent is closed is told that none will come', async (t) => {
  const { agent, peer, uri, from } = await open(t)
  const asked = agent.request('OPTIONS', { uri, from })
  const { outcomes } = invite(agent, { uri, from })
  await peer.next()
  await peer.next()
  await agent.close()
  assert.equal((await asked).outcome, 'failed')
  await until(() => outcomes[0]?.outcome === 'failed')
})
