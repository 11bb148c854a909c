import type { MediaEngine } from '../../port.ts'
import type { VoiceDesk, VoicePerson } from '../../voice-port.ts'
import type { Agent } from '../codec/agent/agent.ts'
import type { Flow } from '../codec/transport/flow.ts'

/** What the parts of the gateway share. */
export type Parts = {
  readonly desk: VoiceDesk
  readonly media: MediaEngine
  readonly agent: Agent
  /** Unix milliseconds. */
  now(): number
  /** Host of the addresses that browsers see. */
  readonly domain: string
  /** What nobody can be told of: a bug of ours, or a desk that could not write. */
  fault(error: unknown): void
}

export const isBrowser = ({ protocol }: Flow): boolean => protocol === 'WS' || protocol === 'WSS'

/** The key of a person in a table. */
export const keyOf = ({ account, user }: VoicePerson): string => `${account} ${user}`

/** How long a browser whose connection broke may take to come back, ms: its calls go on meanwhile. */
export const returnMs = 30_000
