import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { TestContext } from 'node:test'
import type { IncomingCall } from '@trunkline/sip/dialog/incoming-call.ts'
import type { SipSession, SipSessionEvents } from '@trunkline/sip/dialog/sip-session.ts'
import type { Flow } from '@trunkline/sip/transport/flow.ts'
import type { RequestOptions } from '@trunkline/sip/user-agent/request.ts'
import { defaultHandlers, noSessionEvents, openAgent, until } from '@trunkline/sip/user-agent/testing.ts'
import type { RequestOutcome } from '@trunkline/sip/user-agent/uac.ts'
import type { UserAgent, UserAgentHandlers } from '@trunkline/sip/user-agent/user-agent.ts'
import type { Peer } from '../../../test/media/peer.ts'
import { openWebAgent } from '../../../test/voice/web-agent.ts'
import type {
  VoiceCallControl,
  VoiceDecision,
  VoiceEnd,
  VoiceInboundCall,
  VoiceOutboundCall,
  VoiceOwnCall,
  VoicePlan,
  VoiceTrunk,
} from '../../ports/voice.ts'
import { startEmbedded } from '../media/embedded/embedded-engine.ts'
import { loopback } from '../media/embedded/embedded-testing.ts'
import { energyShare } from '../media/tone-testing.ts'
import { type GatewaySettings, startGateway } from './gateway.ts'

const domain = 'us.test'

/** The calls to call control, in order. `call`: the name of the call, once it has one. */
export type CallControlEntry = { readonly what: string; readonly about: unknown; readonly call: string | null }

type DecidedCall = VoiceOutboundCall | VoiceInboundCall | VoiceOwnCall

export type CallDecision = (call: DecidedCall) => VoiceDecision<Partial<VoicePlan>>

const passwordOf = (username: string): string | null =>
  /^\d+:[A-Z]+$/.test(username) ? `password of ${username}` : null

/** A fake call control that admits every user with its credentials, and records calls in an array. */
export const makeCallControl = (decide: CallDecision, now: () => number = Date.now) => {
  const entries: CallControlEntry[] = []
  const traces: string[] = []
  const note = (what: string, about: unknown, call: string | null = null) => void entries.push({ what, about, call })
  let name = ''
  const planned = (call: DecidedCall): VoiceDecision<VoicePlan> => {
    const decided = decide(call)
    if ('refused' in decided) return decided
    name = `call-${entries.length}`
    const plain = { call: name, account: 'one', callerId: '+33187654321', targets: [], ringSeconds: 30 }
    return { value: { ...plain, record: null, mostSeconds: null, ...decided.value } }
  }
  type Rules = {
    beat: VoiceDecision<null>
    answered: VoiceDecision<null>
    holds: 'ringing' | 'answered' | 'ended' | null
  }
  const rules: Rules = { beat: { value: null }, answered: { value: null }, holds: null }
  /** Releases the method that `rules.holds` blocks. */
  const go = Promise.withResolvers<void>()
  const callControl: VoiceCallControl = {
    password: passwordOf,
    admit: async (arrival) => {
      note('admit', arrival)
      const [until = ''] = arrival.username.split(':')
      const value = {
        account: arrival.identity.startsWith('ELSE') ? 'two' : 'one',
        user: arrival.identity,
        generation: arrival.generation ?? 1,
        until: Number(until),
      }
      return value.until > now() ? { value } : { refused: { status: 403, reason: 'The credentials have ended' } }
    },
    left: (person, reason) => note('left', `${person.user} ${reason}`),
    placeCall: async (call) => {
      note('place', call)
      return planned(call)
    },
    receiveCall: async (call) => {
      note('receive', call)
      return call.isFull ? { refused: { status: 503, reason: 'All Channels Are Taken' } } : planned(call)
    },
    receiveOwnCall: async (call) => {
      note('receive own', call)
      return planned(call)
    },
    ringing: async (call, target) => {
      note('ringing', target, call)
      if (rules.holds === 'ringing') await go.promise
    },
    answered: async (call, by, dialogs) => {
      note('answered', { by, dialogs: JSON.parse(JSON.stringify(dialogs)) }, call)
      if (rules.holds === 'answered') await go.promise
      return rules.answered
    },
    heartbeat: async (call, stats) => {
      note('beat', stats, call)
      return rules.beat
    },
    ended: async (call, end) => {
      note('ended', end, call)
      if (rules.holds === 'ended') await go.promise
    },
    addTimelineEntries: (_, lines) => void traces.push(...lines.map(({ text }) => text)),
  }
  const of = (what: string) => entries.filter((entry) => entry.what === what)
  return {
    callControl,
    entries,
    /** The texts of all call timelines. */
    traces,
    rules,
    go: go.resolve,
    of,
    named: () => name,
    order: () => entries.map(({ what }) => what).filter((what) => what !== 'beat'),
  }
}

export const trunkOf = (port: number, more: Partial<VoiceTrunk> = {}): VoiceTrunk => ({
  ...{ id: 'carrier', name: 'carrier', host: '127.0.0.1', port, transport: 'udp', username: null, password: null },
  ...{ authority: null, serverName: null },
  ...{ register: false, addresses: [], domain: null, numbers: 'plus', codecs: ['pcmu', 'pcma'], pingSeconds: 3_600 },
  srtp: 'never',
  ...{ channels: null, ...more },
})

/** One engine for a whole file, because its threads start slowly. */
export const openMedia = (silenceSeconds = 60) =>
  startEmbedded({
    ...loopback,
    silenceSeconds,
    fault: (reason) => assert.fail(reason),
  })

/** A gateway on loopback behind its own HTTP server. */
export const openGateway = async (
  t: TestContext,
  settings: Pick<GatewaySettings, 'callControl' | 'media'> & Partial<GatewaySettings>,
) => {
  const gateway = await startGateway({
    ...{ bind: '127.0.0.1', port: 0, domain, realm: domain, secret: 's' },
    fault: (error) => assert.fail(error instanceof Error ? error : String(error)),
    ...settings,
  })
  // A browser of a test says with X-Client from which address it comes.
  const http = createServer()
  http.on('upgrade', (request, socket, head) => {
    const { 'x-client': client = request.socket.remoteAddress } = request.headers
    void gateway.acceptWebSocket(request, socket, head, String(client))
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  t.after(async () => {
    await gateway.close(0)
    http.close()
  })
  const address = http.address()
  return { gateway, url: `ws://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/voice` }
}

/** A browser's SIP side: our own user agent over a WebSocket that it opened. */
export const openBrowser = async (
  t: TestContext,
  url: string,
  user: string,
  handlers: Partial<UserAgentHandlers> = {},
) => {
  const web = await openWebAgent(t, url, user, handlers)
  const { agent, calls, connect, cut } = web
  const self = `<sip:${user}@${domain}>`
  const browser = {
    agent,
    calls,
    self,
    connect,
    cut,
    get flow(): Flow {
      return web.flow
    },
    get code() {
      return web.code
    },
    register: async ({
      generation = 1,
      seconds = 300,
      until = Date.now() + 3_600_000,
      as = user,
      password = '',
    } = {}) => {
      const username = `${until}:${user}`
      const outcome = await agent.request('REGISTER', {
        ...{ uri: `sip:${domain}`, from: `<sip:${as}@${domain}>`, to: `<sip:${as}@${domain}>`, via: browser.flow },
        credentials: { username, password: password || (passwordOf(username) ?? '') },
        headers: [
          ['X-Device-Gen', String(generation)],
          ['Expires', String(seconds)],
        ],
      })
      return outcomeText(outcome)
    },
  }
  return browser
}

/** Status and reason of an outcome. */
export const outcomeText = (outcome: RequestOutcome): string =>
  outcome.outcome === 'answered' ? `${outcome.response.status} ${outcome.response.reason}` : outcome.reason

/**
 * A carrier: a user agent on UDP that collects its incoming calls.
 * @param address where its SIP is bound
 * @param port Default: one that the system chooses
 */
export const openCarrier = async (t: TestContext, address = '127.0.0.1', port = 0) => {
  const calls: IncomingCall[] = []
  const { agent, udp } = await openAgent(t, {
    ...{ user: 'carrier', address, port },
    handlers: { ...defaultHandlers, onInvite: (call) => void calls.push(call) },
  })
  return { agent, port: udp, calls, call: () => until(() => calls.shift(), 'a call at the carrier') }
}

type Browser = Awaited<ReturnType<typeof openBrowser>>

export const sdp = (content: string) => ({ type: 'application/sdp', content })
export const toCarrier: CallDecision = () => ({ value: { targets: [{ trunk: 'carrier', number: '+33612345678' }] } })
export const toBrowsers =
  (...users: string[]): CallDecision =>
  () => ({ value: { targets: [{ people: users.map((user) => ({ account: 'one', user })) }] } })

/** A gateway with one carrier, and browsers that register. */
export const openWorld = async (
  t: TestContext,
  decide: CallDecision,
  settings: Pick<GatewaySettings, 'media'> & Partial<GatewaySettings>,
) => {
  const callControl = makeCallControl(decide)
  const { gateway, url } = await openGateway(t, { callControl: callControl.callControl, ...settings })
  const carrier = await openCarrier(t)
  await gateway.apply([trunkOf(carrier.port)])
  await until(() => gateway.trunk('carrier')?.state === 'up')
  const browser = async (user: string) => {
    const opened = await openBrowser(t, url, user)
    assert.match(await opened.register(), /^200/)
    return opened
  }
  const ended = () => until(() => callControl.of('ended')[0]?.about as VoiceEnd | undefined, 'the end of the call')
  return { callControl, gateway, carrier, browser, ended, url }
}

export const closedAfter = async <P extends Peer>(t: TestContext, making: Promise<P>): Promise<P> => {
  const peer = await making
  t.after(() => peer.close())
  return peer
}

/** Waits until media flow: a browser closed during its handshake would block the test process for half a minute. */
export const mediaFlow = (softphone: Peer) => {
  softphone.sendTone(0)
  return until(() => softphone.sent > 0, 'media of the browser')
}

export const receivesTone = (peer: Peer, hertz: number) => {
  const from = peer.samples.length
  return until(
    () => peer.samples.length >= from + 6_000 && energyShare(peer.samples.slice(-4_000), hertz) > 0.95,
    `${hertz} Hz`,
  )
}

/** Everything a caller received for its INVITE. */
type OutgoingCallLog = {
  progress: number[]
  answers: string[]
  refused: string[]
  session: SipSession | null
  ends: string[]
}

export const dial = async (
  { agent }: { readonly agent: UserAgent },
  ask: Omit<RequestOptions, 'body'>,
  peer: Pick<Peer, 'offer' | 'accept'>,
  events: Partial<SipSessionEvents> = {},
) => {
  const dialled: OutgoingCallLog = { progress: [], answers: [], refused: [], session: null, ends: [] }
  const call = agent.invite(
    { ...ask, body: sdp(await peer.offer()) },
    {
      progress: (response) => {
        dialled.progress.push(response.status)
        if (response.body.length > 0) void peer.accept(response.body.toString())
      },
      accepted: (response, session) => {
        dialled.session = session
        dialled.answers.push(response.body.toString())
        void peer.accept(response.body.toString())
      },
      refused: (outcome) => dialled.refused.push(outcomeText(outcome)),
      session: { ...noSessionEvents, ...events, ended: (why) => dialled.ends.push(why) },
    },
  )
  return { call, dialled }
}

export const fromBrowser = (browser: Browser, to = '+33612345678') => ({
  ...{ uri: `sip:${to}@us.test`, from: browser.self, via: browser.flow },
})

export const answer = async (call: IncomingCall, peer: Peer, events: Partial<SipSessionEvents> = {}) => {
  const ends: string[] = []
  const body = sdp(await peer.answer(call.invite.body.toString()))
  const session = call.accept({ body }, { ...noSessionEvents, ...events, ended: (why) => ends.push(why) })
  assert.ok(session)
  return { session, ends }
}
