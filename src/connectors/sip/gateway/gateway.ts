import type { MediaEngine } from '../../port.ts'
import type { VoiceDesk, VoiceFinding, VoiceGateway } from '../../voice-port.ts'
import { Agent } from '../codec/agent/agent.ts'
import type { Frozen } from '../codec/dialog/dialog.ts'
import { realTimers, type Timers } from '../codec/timers.ts'
import type { SentBy } from '../codec/transport/flow.ts'
import type { SipNames } from '../codec/transport/locate.ts'
import { openTcp, type TcpSettings } from '../codec/transport/tcp.ts'
import { openUdp } from '../codec/transport/udp.ts'
import { WebSockets } from '../codec/transport/websocket.ts'
import { Calls } from './calls.ts'
import { examine } from './doctor.ts'
import { Door } from './door.ts'
import { isBrowser, type Parts } from './parts.ts'
import { Registrar } from './registrar.ts'
import { Timelines } from './timeline.ts'
import { Trunks } from './trunks.ts'

export type GatewaySettings = {
  readonly desk: VoiceDesk
  readonly media: MediaEngine
  /** Where trunks are heard over UDP and TCP, and how they reach us when that is not what is bound. */
  readonly bind: string
  readonly port: number
  readonly advertised?: string
  /** PEM: opens TLS on its own port. */
  readonly tls?: { readonly port: number; readonly key: string; readonly cert: string }
  /** Host of the addresses that browsers see, and the realm of their digest. */
  readonly domain: string
  readonly realm: string
  /** Makes the nonces ours. */
  readonly secret: string
  readonly mostBrowsers?: number
  readonly sessionSeconds?: number
  readonly timers?: Timers
  readonly names?: SipNames
  /** Unix milliseconds. */
  readonly now?: () => number
  /** What nobody can be told of: a bug of ours, or a desk that could not write. */
  fault(error: unknown): void
}

const openTransports = async (
  agent: Agent,
  settings: GatewaySettings,
  { isKnown, trustOf }: Required<Pick<TcpSettings, 'isKnown' | 'trustOf'>>,
): Promise<number> => {
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
      // A port of the system's choice is free for UDP, and may be taken for TCP.
      if (port !== 0 || attempts <= 1) throw error
      return await open(attempts - 1)
    }
    transports.add(udp)
    return bound
  }
  const bound = await open(10)
  if (tls)
    transports.add(
      await openTcp({ address, port: tls.port, tls, isKnown, trustOf, ...known(tls.port) }, transports, timers),
    )
  return bound
}

const nothing = async function* (): AsyncIterable<VoiceFinding> {}

/** SIP between browsers and trunks, with the media of an engine, as a desk decides. @throws Error when a port is taken */
export const startGateway = async (settings: GatewaySettings): Promise<VoiceGateway> => {
  const { desk, media, domain, realm, secret, fault, timers = realTimers, now = Date.now } = settings
  const timelines = new Timelines(desk.trace.bind(desk), now)
  const agent: Agent = new Agent({
    ...{ name: 'Trunkline', user: 'trunkline', timers },
    ...(settings.sessionSeconds === undefined ? {} : { sessionSeconds: settings.sessionSeconds }),
    ...(settings.names ? { names: settings.names } : {}),
    handlers: {
      // Strangers hear nothing: the port is scanned within minutes.
      admits: (flow) => isBrowser(flow) || trunks.isKnown(flow.address),
      onInvite: (incoming) => calls.take(incoming),
      onRegister: (request, flow) => registrar.register(request, flow),
      seen: (direction, message) => timelines.seen(direction, message),
      closed: (flow) => {
        registrar.closed(flow)
        calls.lost(flow)
      },
      fault,
    },
  })
  const parts: Parts = { desk, media, agent, now, domain, fault }
  const { mostBrowsers = 10_000 } = settings
  const registrar = new Registrar({
    ...{ desk, realm, secret, timers: agent.timers, now },
    mostOfAccount: Math.ceil(mostBrowsers / 4),
    events: {
      // A browser takes calls only once it has heard that it is registered.
      arrived: (binding) => void setImmediate(() => calls.arrived(binding)),
      moved: (from, to) => calls.moved(from, to),
      left: (person) => calls.left(person),
      dismissed: (flow, why) => {
        if (why === 'replaced') calls.replaced(flow)
        door.dismiss(flow, why)
      },
    },
  })
  const trunks = new Trunks(agent, { domain, now })
  const calls: Calls = new Calls({ parts, registrar, trunks, timelines }, (flow) => door.look(flow))
  const transport = new WebSockets({ protocol: 'WS', sentBy: { host: domain, port: null } }, agent.transports)
  agent.transports.add(transport)
  const door = new Door({
    ...{ transport, timers: agent.timers, mostBrowsers },
    hasCalls: (flow) => calls.over(flow),
    isUsed: (flow) => registrar.of(flow) !== null || calls.over(flow),
  })
  const port = await openTransports(agent, settings, {
    isKnown: (address) => trunks.isKnown(address),
    trustOf: (target) => trunks.trustOf(target),
  }).catch(async (error: unknown) => {
    // Whoever tries again finds no port taken by ourselves.
    door.close()
    await agent.close()
    throw error
  })

  return {
    port,
    open: (...asked) => door.open(...asked),
    apply: (wanted) => trunks.apply(wanted),
    trunk: (id) => trunks.get(id)?.status ?? null,
    isRegistered: (person) => registrar.find(person) !== null,
    drop: async (people, reason, withCalls) => {
      const why = reason === 'suspended' ? 'The user was suspended' : 'The credentials of the user were revoked'
      if (withCalls) calls.endOf(people, { how: 'suspended', status: 403, reason: why, by: null })
      for (const person of people) registrar.drop(person, reason)
    },
    hangUp: async (call, reason) => calls.end(call, { how: 'operator', status: 487, reason, by: null }),
    release: async (dialogs) => {
      const quiet = {
        offered: () => ({ status: 488 }),
        acknowledged: () => {},
        info: () => ({ status: 200 }),
        ended: () => {},
      }
      const answers = dialogs
        // A browser's connection went with the process.
        .filter(({ trunk }) => trunk !== null)
        // What `freeze` gave, kept as JSON by the desk.
        .map(({ frozen }) => agent.thaw(frozen as Frozen, quiet).bye())
      return (await Promise.all(answers)).filter((isAnswered) => isAnswered).length
    },
    examine: (id, echo) => {
      const trunk = trunks.get(id)
      return trunk ? examine(trunk, echo, { agent, media }) : nothing()
    },
    calls: () => calls.size,
    close: async (milliseconds, isTaken = false) => {
      await calls.close(milliseconds)
      if (!isTaken) await trunks.close()
      door.close()
      await agent.close()
    },
  }
}
