import { isIP } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import type { VoiceTrunk } from '../../voice-port.ts'
import type { Agent } from '../codec/agent/agent.ts'
import type { SipRequest } from '../codec/message.ts'
import type { Flow, Target, Trust } from '../codec/transport/flow.ts'
import { Load, Trunk, type TrunkGround } from './trunk.ts'

const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '')

/** The trunks that run. */
export class Trunks {
  private readonly agent: Agent
  private readonly ground: TrunkGround
  private running = new Map<string, Trunk>()
  /** By trunk, those that were taken away included as long as calls of theirs go on. */
  private loads = new Map<string, Load>()

  constructor(agent: Agent, ground: TrunkGround) {
    this.agent = agent
    this.ground = ground
  }

  /** What did not change keeps running. */
  async apply(wanted: readonly VoiceTrunk[]): Promise<void> {
    const next = new Map<string, Trunk>()
    const gone = new Set(this.running.values())
    for (const settings of wanted) {
      const known = this.running.get(settings.id)
      const kept = known && isDeepStrictEqual(known.settings, settings) ? known : this.start(settings, known ?? null)
      next.set(settings.id, kept)
      gone.delete(kept)
    }
    this.running = next
    this.loads = new Map([...this.loads].filter(([id, { calls }]) => next.has(id) || calls > 0))
    await Promise.all([...gone].map((trunk) => trunk.stop()))
  }

  get(id: string): Trunk | null {
    return this.running.get(id) ?? null
  }

  isKnown(address: string): boolean {
    const bare = plain(address)
    return [...this.running.values()].some((trunk) => trunk.isFrom(bare))
  }

  /** What a peer over TLS must show to whom a call leads: what the first trunk says whose host it is, or else at whose address. */
  trustOf({ address, serverName }: Target): Trust | null {
    const over = [...this.running.values()].filter(({ settings }) => settings.transport === 'tls')
    const isHost = ({ settings }: Trunk) => settings.host.toLowerCase() === serverName
    const found = (over.find(isHost) ?? over.find((trunk) => trunk.isFrom(address)))?.settings
    if (!found) return null
    // Within calls carriers name themselves by their addresses, which stand in few certificates.
    const host = serverName === undefined && !isIP(found.host) ? found.host : null
    return { ca: found.authority, name: found.serverName ?? host }
  }

  /** Whose request it is; null for a stranger's. Several accounts at one carrier share its addresses: then the names and the port tell. */
  of(request: SipRequest, flow: Flow): Trunk | null {
    const bare = plain(flow.address)
    const [first] = [...this.running.values()]
      .filter((trunk) => trunk.isFrom(bare))
      .map((trunk) => ({ trunk, likeness: trunk.likeness(request, flow) }))
      .toSorted((a, b) => b.likeness - a.likeness)
    return first?.trunk ?? null
  }

  close(): Promise<void> {
    return this.apply([])
  }

  /** Calls under way count on, under whatever settings. */
  private start(settings: VoiceTrunk, before: Trunk | null): Trunk {
    const load = this.loads.get(settings.id) ?? new Load()
    this.loads.set(settings.id, load)
    return new Trunk(settings, this.agent, this.ground, load, before)
  }
}
