import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { OutgoingCall } from '../dialog/outgoing-call.ts'
import type { SipSession } from '../dialog/sip-session.ts'
import { DigestServer } from '../digest/digest-server.ts'
import { cseqOf } from '../fields.ts'
import { header, type SipMessage } from '../message.ts'
import { printMessage } from '../print.ts'
import { buildResponse } from '../response.ts'
import { makeRandom, mutate } from '../testing.ts'
import {
  defaultHandlers,
  invite,
  ManualTimers,
  noSessionEvents,
  octets,
  openAgent,
  openPeer,
  requestText,
  tortureMessages,
} from './testing.ts'
import type { UserAgentHandlers } from './user-agent.ts'

const rounds = process.env.TRUNKLINE_TEST_LONG === '1' ? 1_000_000 : 5_000
const seed = Number(process.env.TRUNKLINE_TEST_SEED ?? 3261)

const offer = { type: 'application/sdp', content: 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n' }

/** An agent that accepts, rejects and challenges at random, with its last 40 messages. */
const openBusy = async (t: TestContext, random: (below: number) => number) => {
  const faults: unknown[] = []
  const said: SipMessage[] = []
  const sessions: SipSession[] = []
  const digest = new DigestServer({ realm: 'us.test', secret: 's', now: Date.now, algorithms: ['MD5'] })
  const handlers: UserAgentHandlers = {
    ...defaultHandlers,
    onInvite: (call) => {
      if (random(2) === 0) call.ring({ status: 180 })
      const session =
        random(3) > 0
          ? call.accept({ body: offer }, { ...noSessionEvents, offered: () => ({ status: 200, body: offer }) })
          : null
      if (session) sessions.push(session)
      else call.refuse({ status: 486 })
      if (sessions.length > 50) void sessions.shift()?.bye()
    },
    onRegister: (request) => {
      const claim = digest.claim(request)
      if (claim && digest.verify(request, claim, 'pass') === 'good') return { status: 200 }
      return { status: 401, headers: digest.challenge().map((value) => ['WWW-Authenticate', value]) }
    },
    onMessage: (direction, message) => {
      if (direction === 'out' && said.push(message) > 40) said.shift()
    },
    onError: (error) => faults.push(error),
  }
  const timers = new ManualTimers()
  const { agent, udp } = await openAgent(t, { timers, handlers, limits: { maxServer: 500, maxClient: 500 } })
  return { agent, udp, timers, faults, said, sessions }
}

/** The peer's next message: a response to our request, or a request within the dialog that our response opened. */
const next = (message: SipMessage, random: (below: number) => number, port: number): Buffer => {
  const status = [100, 180, 183, 200, 200, 302, 401, 422, 481, 486, 491, 503][random(12)] ?? 200
  if (message.kind === 'request')
    return printMessage(buildResponse(message, { status, tag: 'peer', ...(random(2) ? { body: offer } : {}) }))
  const method = ['ACK', 'BYE', 'INFO', 'INVITE', 'UPDATE', 'PRACK', 'CANCEL', 'OPTIONS'][random(8)] ?? 'BYE'
  const own = {
    branch: `z9hG4bKf${random(1_000)}`,
    cseq: cseqOf(message).number + random(3),
    to: header(message, 'To') ?? '',
  }
  return octets(
    requestText(method, port, '', own)
      .replace(/From: .*/, `From: ${header(message, 'From')}`)
      .replace(/Call-ID: .*/, `Call-ID: ${header(message, 'Call-ID')}`),
  )
}

test(`${rounds} mutated messages cause no fault in an agent and leave no transaction behind (seed ${seed})`, async (t) => {
  const random = makeRandom(seed)
  const { agent, udp, timers, faults, said, sessions } = await openBusy(t, random)
  const peer = await openPeer(t)
  const flow = await agent.transports.flow({ protocol: 'UDP', address: '127.0.0.1', port: peer.port })
  const seeds = [
    ...tortureMessages().values(),
    octets(invite),
    octets(requestText('INVITE', udp)),
    octets(requestText('REGISTER', udp)),
  ]
  const target = { uri: `sip:peer@127.0.0.1:${peer.port}`, from: '<sip:us@127.0.0.1>', body: offer }
  const calls = new Set<OutgoingCall>()
  for (let round = 0; round < rounds; round++) {
    const last = said[random(said.length || 1)]
    const text = last && random(2) === 0 ? next(last, random, udp) : null
    agent.transports.received(text && random(3) > 0 ? text : mutate(random, text ? [text] : seeds), flow)
    if (round % 100 === 0) {
      timers.advance(random(3_000))
      const events = {
        progress: () => {},
        accepted: (_: unknown, session: SipSession) => void session.bye(),
        refused: () => {},
      }
      for (const call of calls) if (!call.isPending) calls.delete(call)
      calls.add(agent.invite(target, { ...events, session: noSessionEvents }))
      peer.heard.length = 0
      void sessions[random(sessions.length || 1)]?.reinvite({ body: offer })
      await new Promise((resolve) => setImmediate(resolve))
    }
    const { servers, clients } = agent.active
    assert.ok(servers <= 550 && clients <= 600, `${servers} and ${clients} transactions`)
  }
  assert.deepEqual(faults, [], `seed ${seed}`)
  assert.ok(agent.counts.malformed > rounds / 10, 'the messages were too good')
  // Ringing has no time limit of its own: the user ends it.
  for (const call of calls) call.cancel()
  await Promise.all(sessions.map((session) => Promise.race([session.bye(), drain(timers)])))
  await drain(timers)
  assert.deepEqual(agent.active, { servers: 0, clients: 0, dialogs: 0 })
})

/** Advances the clock until all pending work has ended. */
const drain = async (timers: ManualTimers): Promise<void> => {
  for (let minute = 0; minute < 80; minute++) {
    timers.advance(60_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
