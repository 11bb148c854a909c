import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { cseqOf, tagOf, toOf } from '../fields.ts'
import { header, headersOf, type SipMessage, type SipRequest, type SipResponse } from '../message.ts'
import { buildResponse, type ResponseOptions } from '../response.ts'
import { transactionTimeoutMs } from '../timers.ts'
import {
  defaultHandlers,
  ManualTimers,
  noSessionEvents,
  openAgent,
  openPeer,
  readRequest,
  readResponse,
  requestText,
  settleSockets,
  until,
} from '../user-agent/testing.ts'
import type { RequestOutcome } from '../user-agent/uac.ts'
import type { UserAgentHandlers, UserAgentSettings } from '../user-agent/user-agent.ts'
import { Dialog } from './dialog.ts'
import type { IncomingCall } from './incoming-call.ts'
import type { SipSession, SipSessionEvents } from './sip-session.ts'

const offer = { type: 'application/sdp', content: 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n' }

const open = async (t: TestContext, handlers: UserAgentHandlers = defaultHandlers, sessionSeconds = 0) => {
  const timers = new ManualTimers()
  const got: SipMessage[] = []
  const seen: UserAgentHandlers['onMessage'] = (direction, message) => direction === 'in' && got.push(message)
  const settings: UserAgentSettings = {
    timers,
    handlers: { ...handlers, onMessage: seen },
    sessionSeconds,
    random: () => 0.5,
  }
  const { agent, udp: port } = await openAgent(t, settings)
  const peer = await openPeer(t)
  const ends: string[] = []
  const request = async (method: string): Promise<SipRequest> => {
    const message = await peer.next()
    assert.ok(message.kind === 'request' && message.method === method, JSON.stringify(message))
    return message
  }
  const status = async (): Promise<SipResponse> => {
    const message = await peer.next()
    assert.ok(message.kind === 'response', JSON.stringify(message))
    return message
  }
  const contact = ['Contact', `<sip:peer@127.0.0.1:${peer.port}>`] as const
  const answer = (to: SipRequest, { headers = [], ...rest }: ResponseOptions) =>
    peer.send(buildResponse(to, { tag: 'theirs', ...rest, headers: [contact, ...headers] }), port)
  return { timers, agent, got, port, peer, ends, request, status, answer }
}

/** Calls the peer and collects the outcome. */
const call = async (world: Awaited<ReturnType<typeof open>>, events: Partial<SipSessionEvents> = {}) => {
  const sessions: SipSession[] = []
  const outcomes: RequestOutcome[] = []
  const progress: number[] = []
  const outgoing = world.agent.invite(
    { uri: `sip:peer@127.0.0.1:${world.peer.port}`, from: '<sip:us@127.0.0.1>', body: offer },
    {
      progress: ({ status }) => progress.push(status),
      accepted: (_, session) => sessions.push(session),
      refused: (outcome) => outcomes.push(outcome),
      session: { ...noSessionEvents, ended: (why) => world.ends.push(why), ...events },
    },
  )
  return { outgoing, sessions, outcomes, progress, invite: await world.request('INVITE') }
}

const establish = async (
  world: Awaited<ReturnType<typeof open>>,
  more: Partial<ResponseOptions> = {},
  events: Partial<SipSessionEvents> = {},
) => {
  const { sessions, invite } = await call(world, events)
  world.answer(invite, { status: 200, body: offer, ...more })
  const ack = await world.request('ACK')
  const session = await until(() => sessions[0])
  /** A request of the peer within the dialog. */
  const within = (method: string, cseq: number, extra = '') =>
    requestText(method, world.port, extra, { branch: `z9hG4bK${method}${cseq}`, cseq, contact: world.peer.port })
      .replace(/From: .*/, `From: ${header(ack, 'To')}`)
      .replace(/To: .*/, `To: ${header(ack, 'From')}`)
      .replace(/Call-ID: .*/, `Call-ID: ${header(ack, 'Call-ID')}`)
  return { session, invite, ack, within }
}

test('a lost ACK is sent again with each repeated 2xx', async (t) => {
  const world = await open(t)
  const { invite, ack } = await establish(world)
  world.answer(invite, { status: 200, body: offer })
  assert.deepEqual(await world.request('ACK'), ack)
  // The same holds after the transaction has ended.
  world.timers.advance(33_000)
  world.answer(invite, { status: 200, body: offer })
  assert.deepEqual(await world.request('ACK'), ack)
  assert.deepEqual(world.ends, [])
})

test('when several peers accept, the first keeps the call and the others get a BYE', async (t) => {
  const world = await open(t)
  const { invite, sessions, progress } = await call(world)
  for (const tag of ['one', 'two']) world.answer(invite, { status: 180, tag })
  await until(() => progress.length === 2)
  world.answer(invite, { status: 200, tag: 'two', body: offer })
  assert.equal(tagOf(toOf(await world.request('ACK'))), 'two')
  world.answer(invite, { status: 200, tag: 'one', body: offer })
  assert.equal(tagOf(toOf(await world.request('ACK'))), 'one')
  const bye = await world.request('BYE')
  assert.equal(tagOf(toOf(bye)), 'one')
  world.answer(bye, { status: 200 })
  assert.equal(sessions.length, 1)
  await until(() => world.agent.active.dialogs === 1)
})

test('a 2xx that crosses our CANCEL gets an ACK and a BYE and is not reported as a call', async (t) => {
  const world = await open(t)
  const { outgoing, invite, sessions, outcomes, progress } = await call(world)
  world.answer(invite, { status: 180 })
  await until(() => progress.length === 1)
  outgoing.cancel()
  await world.request('CANCEL')
  world.answer(invite, { status: 200, body: offer })
  await world.request('ACK')
  world.answer(await world.request('BYE'), { status: 200 })
  const outcome = await until(() => outcomes[0])
  assert.ok(outcome.outcome === 'failed' && outcome.why === 'cancelled')
  assert.deepEqual([sessions.length, outcomes.length], [0, 1])
  await until(() => world.agent.active.dialogs === 0)
})

test('a reliable provisional response is acknowledged once and in order (RFC 3262)', async (t) => {
  const world = await open(t)
  const { invite, progress } = await call(world)
  const reliable = (rseq: number) =>
    world.answer(invite, {
      status: 183,
      headers: [
        ['Require', '100rel'],
        ['RSeq', String(rseq)],
      ],
    })
  reliable(7)
  const prack = await world.request('PRACK')
  assert.equal(header(prack, 'RAck'), `7 ${cseqOf(invite).number} INVITE`)
  world.answer(prack, { status: 200 })
  reliable(7)
  reliable(9)
  reliable(8)
  assert.match(header(await world.request('PRACK'), 'RAck') ?? '', /^8 /)
  assert.deepEqual(progress, [183, 183])
})

test('our reliable provisional response is repeated until its PRACK, and neither it nor its timeout follows (RFC 3262)', async (t) => {
  const calls: IncomingCall[] = []
  const cancelled: unknown[] = []
  const handlers: UserAgentHandlers = {
    ...defaultHandlers,
    onInvite: (incoming) => {
      incoming.events = { cancelled: (request) => cancelled.push(request) }
      calls.push(incoming)
    },
  }
  const world = await open(t, handlers)
  const offered = requestText('INVITE', world.port, 'Require: 100rel\n', { contact: world.peer.port })
  world.peer.send(offered, world.port)
  const incoming = await until(() => calls[0])
  incoming.ring({ status: 183, body: offer })
  const first = await world.status()
  const rseq = header(first, 'RSeq') ?? assert.fail('not reliable')
  world.timers.advance(500)
  assert.equal(header(await world.status(), 'RSeq'), rseq, 'repeated')
  const prack = requestText('PRACK', world.port, `RAck: ${rseq} ${cseqOf(first).number} INVITE\n`, {
    ...{
      contact: world.peer.port,
      to: header(first, 'To') ?? '',
      cseq: cseqOf(first).number + 1,
      branch: 'z9hG4bKprack',
    },
  })
  world.peer.send(prack, world.port)
  assert.equal((await world.status()).status, 200)
  world.timers.advance(transactionTimeoutMs + 1_000)
  await settleSockets()
  assert.deepEqual([world.peer.heard.length, cancelled.length, incoming.isPending], [0, 0, true])
  // A second one is awaited like the first, and without its PRACK the call is refused.
  incoming.ring({ status: 183, body: offer })
  assert.equal(Number(header(await world.status(), 'RSeq')), Number(rseq) + 1)
  world.timers.advance(transactionTimeoutMs)
  const refused = await until(async () => {
    const answer = await world.status()
    return answer.status >= 300 && answer
  })
  assert.deepEqual([refused.status, incoming.isPending], [504, false])
})

test('our 2xx is repeated until the ACK; without an ACK the call is ended', async (t) => {
  const ends: string[] = []
  const handlers: UserAgentHandlers = {
    ...defaultHandlers,
    onInvite: (incoming) => {
      incoming.accept({ body: offer }, { ...noSessionEvents, ended: (why) => ends.push(why) })
    },
  }
  const world = await open(t, handlers)
  world.peer.send(requestText('INVITE', world.port, '', { contact: world.peer.port }), world.port)
  const first = await world.status()
  // An ACK with another CSeq does not count.
  world.peer.send(requestText('ACK', world.port, '', { cseq: 6, to: header(first, 'To') ?? '' }), world.port)
  await until(() => world.got.length === 2)
  for (const pause of [500, 1_000, 2_000, 4_000, 4_000]) {
    world.timers.advance(pause - 1)
    assert.equal(world.peer.heard.length, 0)
    world.timers.advance(1)
    assert.equal((await world.status()).status, 200)
  }
  world.timers.advance(30_000)
  await until(() => world.peer.heard.some((message) => message.kind === 'request' && message.method === 'BYE'))
  assert.deepEqual(ends, ['unacknowledged'])
})

test('a callee that hangs up right after accepting sends BYE only after the ACK (15)', async (t) => {
  const world = await open(t, {
    ...defaultHandlers,
    onInvite: (incoming) => void incoming.accept({ body: offer }, noSessionEvents)?.bye(),
  })
  world.peer.send(requestText('INVITE', world.port, '', { contact: world.peer.port }), world.port)
  const answer = await world.status()
  assert.equal(world.peer.heard.length, 0)
  world.peer.send(
    requestText('ACK', world.port, '', { branch: 'z9hG4bKack', to: header(answer, 'To') ?? '' }),
    world.port,
  )
  world.answer(await world.request('BYE'), { status: 200 })
  await until(() => world.agent.active.dialogs === 0)
})

test('requests out of order and requests outside our dialogs are refused', async (t) => {
  const world = await open(t)
  const { within } = await establish(world)
  world.peer.send(within('INFO', 20), world.port)
  assert.equal((await world.status()).status, 200)
  world.peer.send(within('INFO', 19), world.port)
  assert.equal((await world.status()).status, 500)
  world.peer.send(within('BYE', 21).replace(/tag=\w+\nCall/, 'tag=unknown\nCall'), world.port)
  assert.equal((await world.status()).status, 481)
  world.peer.send(within('BYE', 22), world.port)
  assert.equal((await world.status()).status, 200)
  assert.deepEqual(world.ends, ['remote'])
})

test('two crossing offers are both refused, and ours is repeated (14.1)', async (t) => {
  const world = await open(t)
  const { session, within } = await establish(world, {}, { offered: () => ({ status: 200, body: offer }) })
  const renewed = session.reinvite({ body: offer })
  const ours = await world.request('INVITE')
  world.peer.send(within('INVITE', 30), world.port)
  assert.equal((await world.status()).status, 491)
  world.peer.send(within('ACK', 30).replace('bKACK30', 'bKINVITE30'), world.port)
  world.answer(ours, { status: 491 })
  await world.request('ACK')
  await until(() => {
    world.timers.advance(100)
    return world.peer.heard.length > 0
  })
  const again = await world.request('INVITE')
  assert.ok(cseqOf(again).number > cseqOf(ours).number)
  world.answer(again, { status: 200, body: offer })
  await world.request('ACK')
  const outcome = await renewed
  assert.ok(outcome?.outcome === 'answered' && outcome.response.status === 200)
  world.peer.send(within('INVITE', 31), world.port)
  assert.equal((await world.status()).status, 200)
})

test('a peer that stalls during a new offer is dropped after 32 s', async (t) => {
  const world = await open(t)
  const { session } = await establish(world)
  const renewed = session.reinvite({ body: offer })
  world.answer(await world.request('INVITE'), { status: 100 })
  await until(() => world.got.some((message) => message.kind === 'response' && message.status === 100))
  world.timers.advance(32_000)
  assert.equal((await world.request('BYE')).method, 'BYE')
  world.timers.advance(32_000)
  assert.equal((await renewed)?.outcome, 'failed')
  assert.deepEqual(world.ends, ['gone'])
})

test('a peer that no longer knows the call ends it', async (t) => {
  const world = await open(t)
  const { session } = await establish(world)
  const probe = session.options()
  world.answer(await world.request('OPTIONS'), { status: 481 })
  await probe
  assert.deepEqual(world.ends, ['gone'])
  assert.equal(world.agent.active.dialogs, 0)
})

test('a session is refreshed at half time, and ended if the peer does not refresh it (RFC 4028)', async (t) => {
  const world = await open(t, defaultHandlers, 1_800)
  const allow = ['Allow', 'INVITE, ACK, BYE, UPDATE'] as const
  const { invite } = await establish(world, { headers: [['Session-Expires', '1800;refresher=uac'], allow] })
  assert.equal(header(invite, 'Session-Expires'), '1800')
  world.timers.advance(900_000)
  const update = await world.request('UPDATE')
  assert.equal(update.body.length, 0)
  world.answer(update, { status: 200, headers: [['Session-Expires', '1800;refresher=uas']] })
  await until(() => world.got.some((message) => cseqOf(message).method === 'UPDATE'))
  world.timers.advance(1_700_000)
  assert.deepEqual(world.ends, [])
  world.timers.advance(100_000)
  await world.request('BYE')
  assert.deepEqual(world.ends, ['expired'])
})

test('a refresh requests the agreed interval and the same refresher (RFC 4028, 7.4)', async (t) => {
  const world = await open(t, defaultHandlers, 1_800)
  const allow = ['Allow', 'INVITE, ACK, BYE, UPDATE'] as const
  const agreed = (refresher: string) => ['Session-Expires', `90;refresher=${refresher}`] as const
  const { session } = await establish(world, { headers: [agreed('uac'), allow] })
  world.timers.advance(45_000)
  const update = await world.request('UPDATE')
  assert.equal(header(update, 'Session-Expires'), '90;refresher=uac')
  world.answer(update, { status: 200, headers: [agreed('uas')] })
  await until(() => world.got.some((message) => cseqOf(message).method === 'UPDATE'))
  const reinvited = session.reinvite({ body: offer })
  const reinvite = await world.request('INVITE')
  assert.equal(header(reinvite, 'Session-Expires'), '90;refresher=uas')
  world.answer(reinvite, { status: 200, headers: [agreed('uas')], body: offer })
  await world.request('ACK')
  await reinvited
})

test('an interval that the peer finds too small is lengthened', async (t) => {
  const world = await open(t, defaultHandlers, 1_800)
  const { invite } = await call(world)
  world.answer(invite, { status: 422, headers: [['Min-SE', '3600']] })
  await world.request('ACK')
  const again = await world.request('INVITE')
  assert.deepEqual([header(again, 'Session-Expires'), header(again, 'Min-SE')], ['3600', '3600'])
  world.answer(again, { status: 486 })
  await world.request('ACK')
})

/** Our dialog after a 2xx with these Record-Route values. */
const routed = (...records: string[]) => {
  const invite = readRequest(
    'INVITE sip:them@a SIP/2.0\nVia: SIP/2.0/UDP us;branch=z9hG4bK1\nFrom: "Us" <sip:us@us>;tag=1\nTo: <sip:them@a>\nCall-ID: c\nCSeq: 5 INVITE\n\n',
  )
  const response = readResponse(
    `SIP/2.0 200 OK\nVia: SIP/2.0/UDP us;branch=z9hG4bK1\n${records.map((one) => `Record-Route: ${one}\n`).join('')}From: <sip:us@us>;tag=1\nTo: <sip:them@a>;tag=2\nCall-ID: c\nCSeq: 5 INVITE\nContact: <sip:them@192.0.2.5>\n\n`,
  )
  const flow = {
    id: 'x',
    protocol: 'UDP',
    address: '192.0.2.9',
    port: 5060,
    isOpen: true,
    send: () => true,
    close: () => {},
  } as const
  return Dialog.fromResponse(invite, response, {
    ...flow,
    withPort: () => ({ ...flow, withPort: () => assert.fail() }),
  })
}

test('requests follow the route set in reverse, and a strict router gets its own form (12.2.1.1)', () => {
  const loose = routed('<sip:p2;lr>, <sip:p1;lr>')
  const bye = loose.build('BYE')
  assert.deepEqual([bye.uri, headersOf(bye, 'Route')], ['sip:them@192.0.2.5', ['<sip:p1;lr>', '<sip:p2;lr>']])
  assert.equal(loose.nextHop, 'sip:p1;lr')
  const strict = routed('<sip:p2;lr>, <sip:p1>')
  const other = strict.build('BYE')
  assert.deepEqual([other.uri, headersOf(other, 'Route')], ['sip:p1', ['<sip:p2;lr>', '<sip:them@192.0.2.5>']])
  assert.deepEqual([cseqOf(bye).number, header(bye, 'From')], [6, '"Us" <sip:us@us>;tag=1'])
  const thawed = new Dialog(JSON.parse(JSON.stringify(loose.snapshot())))
  assert.deepEqual(thawed.build('BYE').headers.slice(0, 3), loose.build('BYE').headers.slice(0, 3))
})

test('a peer that is not admitted gets no reply to any message', async (t) => {
  let isAdmitted = false
  const world = await open(t, { ...defaultHandlers, isAllowed: () => isAdmitted })
  world.peer.send(requestText('OPTIONS', world.port), world.port)
  world.peer.send(requestText('INVITE', world.port), world.port)
  world.peer.send(requestText('INVITE', world.port).replace('Max-Forwards: 70', 'Max-Forwards: 999'), world.port)
  await until(() => world.agent.counts.dropped === 3)
  // A socket answers in order: a reply to the earlier requests would arrive before this one.
  isAdmitted = true
  world.peer.send(requestText('OPTIONS', world.port).replaceAll('z9hG4bK', 'z9hG4bKlast'), world.port)
  await until(() => world.peer.heard.length > 0)
  assert.equal(world.agent.counts.dropped, 3)
  assert.deepEqual(
    world.peer.heard.map((one) => /branch=z9hG4bKlast/.test(header(one, 'Via') ?? '')),
    [true],
  )
})
