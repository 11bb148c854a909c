import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { IncomingCall } from '../dialog/incoming-call.ts'
import { cseqOf, tagOf, toOf } from '../fields.ts'
import { header, type SipMessage, type SipRequest } from '../message.ts'
import { buildResponse } from '../response.ts'
import type { RequestOptions } from '../user-agent/request.ts'
import {
  defaultHandlers,
  ManualTimers,
  noSessionEvents,
  openAgent,
  openPeer,
  requestText,
  until,
} from '../user-agent/testing.ts'
import type { RequestOutcome } from '../user-agent/uac.ts'
import type { UserAgentHandlers } from '../user-agent/user-agent.ts'
import type { TransactionLimits } from './transaction-layer.ts'

// The peer sends what the test says; timers advance only when the test moves them.

const open = async (t: TestContext, handlers = defaultHandlers, limits: Partial<TransactionLimits> = {}) => {
  const timers = new ManualTimers()
  const sent: SipMessage[] = []
  const got: SipMessage[] = []
  const seen: UserAgentHandlers['onMessage'] = (direction, message) => (direction === 'out' ? sent : got).push(message)
  const { agent, udp } = await openAgent(t, { timers, handlers: { ...handlers, onMessage: seen }, limits })
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

/** Advances the clock in steps of 100 ms and returns the times at which something was sent. */
const moments = (timers: ManualTimers, sent: SipMessage[], milliseconds: number): number[] => {
  const found: number[] = []
  for (let now = 100; now <= milliseconds; now += 100) {
    const before = sent.length
    timers.advance(100)
    for (let more = sent.length - before; more > 0; more--) found.push(now)
  }
  return found
}

const near = (got: number[], expected: number[]) => {
  assert.equal(got.length, expected.length, `${got}`)
  got.forEach((moment, at) => {
    assert.ok(Math.abs(moment - (expected[at] ?? 0)) <= 100, `${got}`)
  })
}

const invite = (agent: Awaited<ReturnType<typeof open>>['agent'], options: RequestOptions) => {
  const outcomes: RequestOutcome[] = []
  const progress: number[] = []
  const call = agent.invite(options, {
    progress: ({ status }) => progress.push(status),
    accepted: () => assert.fail('accepted'),
    refused: (outcome) => outcomes.push(outcome),
    session: noSessionEvents,
  })
  return { call, outcomes, progress }
}

test('an INVITE is retransmitted after 0.5, 1.5, 3.5 s and so on, and fails after 32 s (timers A and B)', async (t) => {
  const { timers, agent, sent, peer, uri, from } = await open(t)
  const { outcomes } = invite(agent, { uri, from })
  await peer.next()
  near(moments(timers, sent, 33_000), [500, 1_500, 3_500, 7_500, 15_500, 31_500])
  const outcome = await until(() => outcomes[0])
  assert.ok(outcome.outcome === 'failed' && outcome.why === 'timeout')
  assert.deepEqual(agent.active, { servers: 0, clients: 0, dialogs: 0 })
})

test('a silent trunk fails after the requested timeout, whatever the retransmissions', async (t) => {
  const { timers, agent, peer, uri, from } = await open(t)
  const { outcomes } = invite(agent, { uri, from, timeoutMs: 4_000 })
  await peer.next()
  timers.advance(3_999)
  assert.equal(outcomes.length, 0)
  timers.advance(1)
  await until(() => outcomes[0]?.outcome === 'failed')
})

test('a provisional response stops retransmission while it rings, and a repeated refusal is acknowledged each time', async (t) => {
  const { timers, agent, sent, peer, uri, from } = await open(t)
  const { outcomes, progress } = invite(agent, { uri, from })
  const request = asRequest(await peer.next())
  peer.send(buildResponse(request, { status: 180, tag: 'b' }), portOf(request))
  await until(() => progress.includes(180))
  assert.deepEqual(moments(timers, sent, 5_000), [])
  timers.advance(600_000)
  assert.equal(outcomes.length, 0)
  for (let again = 0; again < 3; again++) {
    peer.send(buildResponse(request, { status: 486, tag: 'b' }), portOf(request))
    const ack = asRequest(await peer.next())
    assert.equal(ack.method, 'ACK')
    assert.equal(header(ack, 'Via'), header(request, 'Via'))
    assert.equal(tagOf(toOf(ack)), 'b')
    assert.equal(cseqOf(ack).number, cseqOf(request).number)
  }
  assert.equal(outcomes.length, 1)
  timers.advance(32_000)
  assert.equal(agent.active.clients, 0)
})

const portOf = (request: SipRequest): number => Number(/:(\d+);/.exec(header(request, 'Via') ?? '')?.[1])

test('other requests are retransmitted at intervals of up to 4 s (timers E and F)', async (t) => {
  const { timers, agent, sent, peer, uri, from } = await open(t)
  const response = agent.request('OPTIONS', { uri, from })
  await peer.next()
  near(moments(timers, sent, 16_000), [500, 1_500, 3_500, 7_500, 11_500, 15_500])
  timers.advance(17_000)
  const outcome = await response
  assert.ok(outcome.outcome === 'failed' && outcome.why === 'timeout')
})

test('CANCEL waits for a provisional response and uses the branch of its INVITE', async (t) => {
  const { agent, peer, uri, from } = await open(t)
  const { call, outcomes } = invite(agent, { uri, from })
  const request = asRequest(await peer.next())
  call.cancel([['Reason', 'SIP;cause=200']])
  peer.send(buildResponse(request, { status: 100 }), portOf(request))
  const cancel = asRequest(await peer.next())
  assert.equal(cancel.method, 'CANCEL')
  assert.equal(header(cancel, 'Reason'), 'SIP;cause=200')
  assert.equal(header(cancel, 'Via'), header(request, 'Via'))
  peer.send(buildResponse(cancel, { status: 200, tag: 'b' }), portOf(request))
  peer.send(buildResponse(request, { status: 487, tag: 'b' }), portOf(request))
  assert.equal(asRequest(await peer.next()).method, 'ACK')
  const outcome = await until(() => outcomes[0])
  assert.ok(outcome.outcome === 'answered' && outcome.response.status === 487)
})

test('a cancelled INVITE without a final response ends after 32 s (9.1)', async (t) => {
  const { timers, agent, peer, uri, from } = await open(t)
  const { call, outcomes } = invite(agent, { uri, from })
  const request = asRequest(await peer.next())
  peer.send(buildResponse(request, { status: 180, tag: 'b' }), portOf(request))
  await until(() => agent.active.dialogs === 1)
  call.cancel()
  await peer.next()
  timers.advance(64_000)
  await until(() => outcomes[0]?.outcome === 'failed')
  assert.deepEqual(agent.active, { servers: 0, clients: 0, dialogs: 0 })
})

test('a caller gets 100 after 200 ms, the same answer to a retransmission, and the refusal until its ACK (timers G, H, I)', async (t) => {
  const calls: IncomingCall[] = []
  const { timers, agent, sent, got, port, peer } = await open(t, {
    ...defaultHandlers,
    onInvite: (call) => void calls.push(call),
  })
  const text = requestText('INVITE', port)
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
  peer.send(requestText('ACK', port), port)
  await until(() => got.some((message) => message.kind === 'request' && message.method === 'ACK'))
  assert.deepEqual(moments(timers, sent, 5_000), [])
  assert.deepEqual(agent.active, { servers: 0, clients: 0, dialogs: 0 })
  assert.equal(calls.length, 1)
})

test('a CANCEL that matches no INVITE is answered 481', async (t) => {
  const { port, peer } = await open(t)
  peer.send(requestText('CANCEL', port, '', { branch: 'z9hG4bKnone' }), port)
  assert.equal(asResponse(await peer.next()).status, 481)
})

test('the same request over another path is refused (8.2.2.2)', async (t) => {
  const { port, peer } = await open(t, { ...defaultHandlers, onInvite: () => {} })
  peer.send(requestText('INVITE', port, '', { branch: 'z9hG4bKone' }), port)
  peer.send(requestText('INVITE', port, '', { branch: 'z9hG4bKtwo' }), port)
  assert.equal(asResponse(await peer.next()).status, 482)
})

test('requests of RFC 2543 without a unique branch are distinguished', async (t) => {
  const calls: string[] = []
  const { port, peer } = await open(t, {
    ...defaultHandlers,
    onInvite: (call) => {
      calls.push('call')
      call.refuse({ status: 486 })
    },
  })
  for (const callId of ['one', 'one', 'two']) peer.send(requestText('INVITE', port, '', { branch: '1', callId }), port)
  for (let answers = 0; answers < 3; answers++) assert.equal(asResponse(await peer.next()).status, 486)
  assert.equal(calls.length, 2)
})

test('above the limit requests are answered 503, and ending requests still pass', async (t) => {
  const { agent, port, peer } = await open(t, { ...defaultHandlers, onInvite: () => {} }, { maxServer: 10 })
  for (let i = 0; i < 10; i++)
    peer.send(requestText('INVITE', port, '', { branch: `z9hG4bKn${i}`, callId: `${i}` }), port)
  await until(() => agent.active.servers === 10)
  peer.send(requestText('INVITE', port, '', { branch: 'z9hG4bKmore', callId: 'more' }), port)
  const refusal = asResponse(await peer.next())
  assert.deepEqual([refusal.status, header(refusal, 'Retry-After')], [503, '5'])
  peer.send(requestText('CANCEL', port, '', { branch: 'z9hG4bKn3', callId: '3' }), port)
  const answers = [asResponse(await peer.next()), asResponse(await peer.next())]
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 487])
  // 9.2: both responses belong to the same dialog.
  assert.equal(new Set(answers.map((answer) => tagOf(toOf(answer)))).size, 1)
})

test('responses go to the port of Via if the peer did not request rport (RFC 3581)', async (t) => {
  const { port, peer } = await open(t)
  const other = await openPeer(t)
  peer.send(requestText('OPTIONS', port).replace('127.0.0.1:5999;rport', `127.0.0.1:${other.port}`), port)
  assert.equal(asResponse(await other.next()).status, 200)
  peer.send(requestText('OPTIONS', port).replace('Via: SIP/2.0/UDP 127.0.0.1', 'Via: SIP/2.0/UDP host.invalid'), port)
  const answer = asResponse(await peer.next())
  assert.match(header(answer, 'Via') ?? '', new RegExp(`;rport=${peer.port};.*received=127.0.0.1`))
})

test('a response with a foreign top Via, or with two Vias, is dropped (18.1.2)', async (t) => {
  const { agent, peer, uri, from } = await open(t)
  const response = agent.request('OPTIONS', { uri, from })
  const request = asRequest(await peer.next())
  const good = buildResponse(request, { status: 200, tag: 'b' })
  const via = header(request, 'Via') ?? ''
  const withVias = (...values: string[]) => ({
    ...good,
    headers: [...values.map((value) => ['Via', value] as const), ...good.headers.filter(([name]) => name !== 'Via')],
  })
  peer.send(withVias('SIP/2.0/UDP 203.0.113.9;branch=z9hG4bKother'), portOf(request))
  peer.send(withVias(via, 'SIP/2.0/UDP 203.0.113.9;branch=z9hG4bKother'), portOf(request))
  await until(() => agent.transports.strayResponses === 2)
  peer.send(good, portOf(request))
  assert.equal((await response).outcome, 'answered')
})

test('pending requests fail when the agent is closed', async (t) => {
  const { agent, peer, uri, from } = await open(t)
  const response = agent.request('OPTIONS', { uri, from })
  const { outcomes } = invite(agent, { uri, from })
  await peer.next()
  await peer.next()
  await agent.close()
  assert.equal((await response).outcome, 'failed')
  await until(() => outcomes[0]?.outcome === 'failed')
})
