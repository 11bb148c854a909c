import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { header, type SipMessage, type SipRequest, type SipResponse } from '../message.ts'
import { buildResponse } from '../response.ts'
import {
  defaultHandlers,
  ManualTimers,
  noSessionEvents,
  openAgent,
  openPeer,
  requestText,
  until,
} from '../user-agent/testing.ts'
import type { IncomingCall } from './incoming-call.ts'
import type { SipSessionEvents } from './sip-session.ts'

// Requests of a peer before the final response to the INVITE.

const sdp = (name: string) => ({ type: 'application/sdp', content: `v=0\r\no=${name} 1 1 IN IP4 127.0.0.1\r\n` })

/** Records the requests of a leg, and answers its offers. */
const makeLeg = () => {
  const handled: string[] = []
  const events: SipSessionEvents = {
    ...noSessionEvents,
    offered: ({ method, body }) => {
      handled.push(`${method} ${body}`)
      return { status: 200, body: sdp('answer') }
    },
    info: ({ body }) => {
      handled.push(`INFO ${body}`)
      return { status: 200 }
    },
  }
  return { handled, events }
}

type Peer = Awaited<ReturnType<typeof openPeer>>

const nextResponse = (peer: Peer): Promise<SipResponse> =>
  until(() => {
    const message = peer.heard.shift()
    return message?.kind === 'response' && message
  }, 'a response')

/** A request in the dialog of a message, whose From and To it has as the peer writes them. */
const requestWithin = (
  method: string,
  port: number,
  cseq: number,
  like: SipMessage,
  isReversed: boolean,
  body = '',
) => {
  const [from, to] = [header(like, 'From') ?? '', header(like, 'To') ?? '']
  const type = method === 'INFO' ? 'application/dtmf-relay' : 'application/sdp'
  return requestText(method, port, body === '' ? '' : `Content-Type: ${type}\n`, { branch: `z9hG4bK${cseq}`, cseq })
    .replace(/^From: .*/m, () => `From: ${isReversed ? to : from}`)
    .replace(/^To: .*/m, () => `To: ${isReversed ? from : to}`)
    .replace(/^Call-ID: .*/m, `Call-ID: ${header(like, 'Call-ID')}`)
    .replace(/Content-Length: 0\n\n$/, `Content-Length: ${body.length}\n\n${body}`)
}

/** The peer calls us, and hears a first provisional response with an answer. */
const called = async (t: TestContext, isReliable: boolean) => {
  const calls: IncomingCall[] = []
  const { agent, udp } = await openAgent(t, {
    timers: new ManualTimers(),
    random: () => 0.5,
    handlers: { ...defaultHandlers, onInvite: (call) => void calls.push(call) },
  })
  const peer = await openPeer(t)
  const more = `${isReliable ? 'Require: 100rel\n' : ''}Content-Type: application/sdp\n`
  const invite = requestText('INVITE', udp, more, { cseq: 1 }).replace(
    /Content-Length: 0\n\n$/,
    'Content-Length: 3\n\nv=0',
  )
  peer.send(invite, udp)
  const call = await until(() => calls[0])
  const leg = makeLeg()
  call.events = { cancelled: () => {}, offered: leg.events.offered, info: leg.events.info }
  call.ring({ status: 183, body: sdp('first') })
  const early = await nextResponse(peer)
  let cseq = 1
  const ask = async (method: string, body = '', extra = '') => {
    const text = requestWithin(method, udp, ++cseq, early, false, body)
    peer.send(text.replace('Max-Forwards', `${extra}Max-Forwards`), udp)
    return nextResponse(peer)
  }
  const prack = (body = '') => ask('PRACK', body, `RAck: ${header(early, 'RSeq')} 1 INVITE\n`)
  return { agent, call, peer, ask, prack, early, handled: leg.handled }
}

/** We call the peer, which sends a first provisional response with an answer. */
const calling = async (t: TestContext, isReliable: boolean) => {
  const leg = makeLeg()
  const { agent, udp } = await openAgent(t, { timers: new ManualTimers(), random: () => 0.5 })
  const peer = await openPeer(t)
  agent.invite(
    { uri: `sip:peer@127.0.0.1:${peer.port}`, from: '<sip:us@127.0.0.1>', body: sdp('first') },
    { progress: () => {}, accepted: () => {}, refused: () => {}, session: leg.events },
  )
  const invite = (await peer.next()) as SipRequest
  const contact = ['Contact', `<sip:peer@127.0.0.1:${peer.port}>`] as const
  const reliable = isReliable ? [['Require', '100rel'] as const, ['RSeq', '9'] as const] : []
  const early = buildResponse(invite, { status: 183, tag: 'theirs', headers: [contact, ...reliable], body: sdp('x') })
  peer.send(early, udp)
  if (isReliable) {
    const prack = (await peer.next()) as SipRequest
    assert.equal(prack.method, 'PRACK')
    peer.send(buildResponse(prack, { status: 200 }), udp)
  } else await until(() => agent.active.dialogs === 1)
  let cseq = 0
  const ask = (method: string, body = '') => {
    peer.send(requestWithin(method, udp, ++cseq, early, true, body), udp)
    return nextResponse(peer)
  }
  return { ask, handled: leg.handled }
}

for (const [who, open] of [
  ['the caller', called],
  ['the callee', calling],
] as const) {
  test(`an UPDATE without an offer of ${who} is answered before the call is`, async (t) => {
    const { ask, handled } = await open(t, false)
    const response = await ask('UPDATE')
    assert.equal(response.status, 200)
    assert.match(header(response, 'Contact') ?? '', /sip:us@/)
    assert.deepEqual(handled, [])
  })

  test(`an offer of ${who} in an UPDATE is answered once the first one is, in a reliable response`, async (t) => {
    const world = await open(t, true)
    if ('prack' in world) assert.equal((await world.prack()).status, 200)
    const response = await world.ask('UPDATE', 'v=0')
    assert.deepEqual([response.status, response.body.toString()], [200, sdp('answer').content])
    assert.equal(header(response, 'Content-Type'), 'application/sdp')
    assert.equal((await world.ask('UPDATE', 'v=1')).status, 200)
    assert.deepEqual(world.handled, ['UPDATE v=0', 'UPDATE v=1'])
  })

  test(`a key of ${who} before the answer is passed on, and other methods get the answer of their standard`, async (t) => {
    const { ask, handled } = await open(t, false)
    assert.equal((await ask('INFO', 'Signal=5')).status, 200)
    assert.deepEqual(handled, ['INFO Signal=5'])
    const statuses: (readonly [string, number])[] = []
    for (const method of ['OPTIONS', 'PRACK', 'REFER', 'NOTIFY']) statuses.push([method, (await ask(method)).status])
    assert.deepEqual(statuses, [
      ['OPTIONS', 200],
      ['PRACK', 481],
      ['REFER', 405],
      ['NOTIFY', 405],
    ])
  })
}

test('an offer in the PRACK of the caller is answered in its 200', async (t) => {
  const { prack, handled } = await called(t, true)
  const response = await prack('v=0')
  assert.deepEqual([response.status, response.body.toString()], [200, sdp('answer').content])
  assert.deepEqual(handled, ['PRACK v=0'])
})

test('an offer that crosses an unanswered one is refused, as RFC 3311 and RFC 3261 say', async (t) => {
  const theirs = await called(t, false)
  for (const method of ['UPDATE', 'INVITE']) {
    const refusal = await theirs.ask(method, 'v=0')
    assert.equal(refusal.status, 500, method)
    assert.match(header(refusal, 'Retry-After') ?? '', /^\d$/)
  }
  const ours = await calling(t, false)
  for (const method of ['UPDATE', 'INVITE']) assert.equal((await ours.ask(method, 'v=0')).status, 491, method)
  assert.deepEqual([...theirs.handled, ...ours.handled], [])
})
