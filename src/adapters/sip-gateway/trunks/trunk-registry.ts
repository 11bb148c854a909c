import { isIP } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import type { SipRequest } from '@trunkline/sip/message.ts'
import type { Flow, SipTarget, TlsTrust } from '@trunkline/sip/transport/flow.ts'
import type { UserAgent } from '@trunkline/sip/user-agent/user-agent.ts'
import type { VoiceTrunk } from '../../../ports/voice.ts'
import { Trunk, type TrunkDeps, TrunkLoad } from './trunk.ts'

const withoutMappedPrefix = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '')

/** The running trunks. */
export class TrunkRegistry {
  private readonly agent: UserAgent
  private readonly deps: TrunkDeps
  private running = new Map<string, Trunk>()
  /** By trunk, including removed trunks while their calls continue. */
  private loads = new Map<string, TrunkLoad>()

  constructor(agent: UserAgent, deps: TrunkDeps) {
    this.agent = agent
    this.deps = deps
  }

  /** Applies settings; unchanged trunks keep running. */
  async apply(list: readonly VoiceTrunk[]): Promise<void> {
    const next = new Map<string, Trunk>()
    const gone = new Set(this.running.values())
    for (const settings of list) {
      const known = this.running.get(settings.id)
      const trunk = known && isDeepStrictEqual(known.settings, settings) ? known : this.start(settings, known ?? null)
      next.set(settings.id, trunk)
      gone.delete(trunk)
    }
    this.running = next
    this.loads = new Map([...this.loads].filter(([id, { calls }]) => next.has(id) || calls > 0))
    await Promise.all([...gone].map((trunk) => trunk.stop()))
  }

  get(id: string): Trunk | null {
    return this.running.get(id) ?? null
  }

  isKnown(address: string): boolean {
    const bare = withoutMappedPrefix(address)
    return [...this.running.values()].some((trunk) => trunk.isFrom(bare))
  }

  /**
   * The expected TLS identity of a target within a call: of the trunk with that host, else of the trunk at that
   * address.
   */
  trustOf({ address, serverName }: SipTarget): TlsTrust | null {
    const over = [...this.running.values()].filter(({ settings }) => settings.transport === 'tls')
    const isHost = ({ settings }: Trunk) => settings.host.toLowerCase() === serverName
    const found = (over.find(isHost) ?? over.find((trunk) => trunk.isFrom(address)))?.settings
    if (!found) return null
    // Within calls, carriers name themselves by addresses, which few certificates contain.
    const host = serverName === undefined && !isIP(found.host) ? found.host : null
    return { ca: found.authority, name: found.serverName ?? host }
  }

  /**
   * The trunk of a request; null for an unknown peer. Several accounts at one carrier share addresses: names and port
   * distinguish them.
   */
  identify(request: SipRequest, flow: Flow): Trunk | null {
    const bare = withoutMappedPrefix(flow.address)
    const [first] = [...this.running.values()]
      .filter((trunk) => trunk.isFrom(bare))
      .map((trunk) => ({ trunk, likeness: trunk.matchScore(request, flow) }))
      .toSorted((a, b) => b.likeness - a.likeness)
    return first?.trunk ?? null
  }

  close(): Promise<void> {
    return this.apply([])
  }

  /** Active calls stay counted when settings change. */
  private start(settings: VoiceTrunk, before: Trunk | null): Trunk {
    const load = this.loads.get(settings.id) ?? new TrunkLoad()
    this.loads.set(settings.id, load)
    return new Trunk(settings, this.agent, this.deps, load, before)
  }
}
