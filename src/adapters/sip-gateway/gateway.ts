import type { DialogSnapshot } from '@trunkline/sip/dialog/dialog.ts'
import { realTimers, type Timers } from '@trunkline/sip/timers.ts'
import type { SentBy } from '@trunkline/sip/transport/flow.ts'
import { LocalTransport } from '@trunkline/sip/transport/local-transport.ts'
import { makeSipResolver, type SipResolver } from '@trunkline/sip/transport/locate.ts'
import { openTcp, type TcpListener, type TcpSettings } from '@trunkline/sip/transport/tcp.ts'
import { openUdp } from '@trunkline/sip/transport/udp.ts'
import { WebSocketTransport } from '@trunkline/sip/transport/websocket-transport.ts'
import { UserAgent } from '@trunkline/sip/user-agent/user-agent.ts'
import type { MediaEngine } from '../../ports/media.ts'
import type { VoiceCallControl, VoiceFinding, VoiceGateway, VoiceTrunkChange } from '../../ports/voice.ts'
import { Registrar } from './browsers/registrar.ts'
import { WebSocketAcceptor } from './browsers/websocket-acceptor.ts'
import { CallRegistry } from './calls/call-registry.ts'
import { CallTimelines } from './calls/call-timeline.ts'
import { withHostNames } from './calls/host-names.ts'
import { type GatewayDeps, isBrowser, isLocal } from './gateway-deps.ts'
import { diagnoseTrunk } from './trunks/trunk-diagnostics.ts'
import { TrunkRegistry } from './trunks/trunk-registry.ts'

export type GatewaySettings = {
  readonly callControl: VoiceCallControl
  readonly media: MediaEngine
  /** Where trunks reach us over UDP and TCP; `advertised` is the public address if it differs from the bound one. */
  readonly bind: string
  readonly port: number
  readonly advertised?: string
  /** PEM; opens TLS on its own port. */
  readonly tls?: { readonly port: number; readonly key: string; readonly cert: string }
  /** Host in the addresses that browsers see, and the realm of their digest authentication. */
  readonly domain: string
  readonly realm: string
  /** Key of the HMAC in our nonces. */
  readonly secret: string
  readonly maxBrowsers?: number
  readonly sessionSeconds?: number
  readonly timers?: Timers
  readonly names?: SipResolver
  /** Unix milliseconds. */
  readonly now?: () => number
  /** Errors that no caller receives: internal bugs and persistence failures. */
  fault(error: unknown): void
  /** Called when a trunk goes down or comes back. */
  trunkChanged?(change: VoiceTrunkChange): void
}

const openTransports = async (
  agent: UserAgent,
  settings: GatewaySettings,
  { isKnown, trustOf }: Required<Pick<TcpSettings, 'isKnown' | 'trustOf'>>,
): Promise<{ readonly port: number; readonly secure: TcpListener | null }> => {
  const { bind: address, port, advertised, tls } = settings
  const { transports, timers } = agent
  const known = (at: number): { advertised?: SentBy } =>
    advertised === undefined ? {} : { advertised: { host: advertised, port: at } }
  const open = async (attempts: number): Promise<number> => {
    const udp = await openUdp({ address, port, ...known(port) }, transports)
    const bound = udp.sentBy.port ?? port
    try {
      transports.add(await openTcp({ address, port: bound, isKnown, ...known(bound) }, transports, timers))
    } catch (error) {
      await udp.close()
      // The system chose a port that is free for UDP but may be in use for TCP.
      if (port !== 0 || attempts <= 1) throw error
      return await open(attempts - 1)
    }
    transports.add(udp)
    return bound
  }
  const bound = await open(10)
  if (!tls) return { port: bound, secure: null }
  const secure = await openTcp(
    { address, port: tls.port, tls, isKnown, trustOf, ...known(tls.port) },
    transports,
    timers,
  )
  transports.add(secure)
  return { port: bound, secure }
}

const noFindings = async function* (): AsyncIterable<VoiceFinding> {}

/**
 * Starts SIP between browsers and trunks, with the media of an engine, controlled by call control. @throws Error when a
 * port is in use
 */
export const startGateway = async (settings: GatewaySettings): Promise<VoiceGateway> => {
  const { callControl, domain, realm, secret, fault, timers = realTimers, now = Date.now } = settings
  const { names = makeSipResolver() } = settings
  const media = withHostNames(settings.media, (name) => names.addresses(name))
  const timelines = new CallTimelines(callControl.addTimelineEntries.bind(callControl), now)
  const agent: UserAgent = new UserAgent({
    ...{ name: 'Trunkline', user: 'trunkline', timers },
    ...(settings.sessionSeconds === undefined ? {} : { sessionSeconds: settings.sessionSeconds }),
    names,
    handlers: {
      // Unknown peers get no response: the port is scanned within minutes.
      isAllowed: (flow) => isBrowser(flow) || isLocal(flow) || trunks.isKnown(flow.address),
      onInvite: (incoming) => calls.handleInvite(incoming),
      onRegister: (request, flow) => registrar.register(request, flow),
      onMessage: (direction, message, flow) => timelines.addMessage(direction, message, flow.id === local.callee.id),
      onClosed: (flow) => {
        registrar.closed(flow)
        calls.connectionLost(flow)
      },
      onError: fault,
    },
  })
  const local = agent.transports.add(new LocalTransport(agent.transports))
  const deps: GatewayDeps = { callControl, media, agent, local, now, domain, onError: fault }
  const { maxBrowsers = 10_000 } = settings
  const registrar = new Registrar({
    ...{ callControl, realm, secret, timers: agent.timers, now },
    maxPerAccount: Math.ceil(maxBrowsers / 4),
    events: {
      // A browser accepts calls only after it received the response to REGISTER.
      arrived: (binding) => {
        media.prepare?.()
        setImmediate(() => calls.arrived(binding))
      },
      moved: (from, to) => calls.connectionMoved(from, to),
      left: (person) => calls.left(person),
      dismissed: (flow, why) => {
        if (why === 'replaced') calls.replaced(flow)
        acceptor.closeWhenUnused(flow, why)
      },
    },
  })
  const trunks = new TrunkRegistry(agent, { domain, now, changed: (change) => settings.trunkChanged?.(change) })
  const calls: CallRegistry = new CallRegistry({ gateway: deps, registrar, trunks, timelines }, (flow) =>
    acceptor.closeIfDue(flow),
  )
  const transport = new WebSocketTransport({ protocol: 'WS', sentBy: { host: domain, port: null } }, agent.transports)
  agent.transports.add(transport)
  const acceptor = new WebSocketAcceptor({
    ...{ transport, timers: agent.timers, maxBrowsers },
    hasCalls: (flow) => calls.usesFlow(flow),
    isUsed: (flow) => registrar.bindingOf(flow) !== null || calls.usesFlow(flow),
  })
  const { port, secure } = await openTransports(agent, settings, {
    isKnown: (address) => trunks.isKnown(address),
    trustOf: (target) => trunks.trustOf(target),
  }).catch(async (error: unknown) => {
    // Frees the ports for another attempt.
    acceptor.close()
    await agent.close()
    throw error
  })

  return {
    port,
    acceptWebSocket: (...args) => acceptor.accept(...args),
    setCertificate: (tls) => secure?.setCertificate(tls),
    apply: (list) => trunks.apply(list),
    trunk: (id) => trunks.get(id)?.status ?? null,
    isRegistered: (person) => registrar.find(person) !== null,
    dropRegistrations: async (people, reason, withCalls) => {
      const why = reason === 'suspended' ? 'The user was suspended' : 'The credentials of the user were revoked'
      if (withCalls) calls.endCallsOf(people, { how: 'suspended', status: 403, reason: why, by: null })
      for (const person of people) registrar.drop(person, reason)
    },
    endCallsOf: async (accounts) =>
      calls.endCallsOfAccounts(new Set(accounts), {
        ...{ how: 'suspended', status: 403, reason: 'The account was blocked', by: null },
      }),
    hangUp: async (call, reason, how = 'operator') => calls.hangUp(call, reason, how),
    dial: (plan, entry) => calls.dial(plan, entry),
    run: (plan) => calls.run(plan),
    releaseDialogs: async (dialogs) => {
      const quiet = {
        offered: () => ({ status: 488 }),
        acknowledged: () => {},
        info: () => ({ status: 200 }),
        ended: () => {},
      }
      const answers = dialogs
        // A browser's connection ended with the process.
        .filter(({ trunk }) => trunk !== null)
        // A snapshot that call control stored as JSON.
        .map(({ frozen }) => agent.restore(frozen as DialogSnapshot, quiet).bye())
      return (await Promise.all(answers)).filter((isAnswered) => isAnswered).length
    },
    diagnose: (id, echo) => {
      const trunk = trunks.get(id)
      return trunk ? diagnoseTrunk(trunk, echo, { gateway: deps, registrar, trunks }) : noFindings()
    },
    calls: () => calls.size,
    close: async (milliseconds, isTaken = false) => {
      await calls.close(milliseconds)
      if (!isTaken) await trunks.close()
      acceptor.close()
      await agent.close()
    },
  }
}
