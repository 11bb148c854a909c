import type { Flow } from '@trunkline/sip/transport/flow.ts'
import type { LocalTransport } from '@trunkline/sip/transport/local-transport.ts'
import type { UserAgent } from '@trunkline/sip/user-agent/user-agent.ts'
import type { MediaEngine } from '../../ports/media.ts'
import type { VoiceCallControl, VoiceUser } from '../../ports/voice.ts'

/** Shared components of the gateway. */
export type GatewayDeps = {
  readonly callControl: VoiceCallControl
  readonly media: MediaEngine
  readonly agent: UserAgent
  /** Carries the calls to our own programs. */
  readonly local: LocalTransport
  /** Unix milliseconds. */
  now(): number
  /** Host in the addresses that browsers see. */
  readonly domain: string
  /** Errors that no caller receives: internal bugs and persistence failures. */
  onError(error: unknown): void
}

/** Whether a call comes from ourselves: it is to a number of the account that runs a program. */
export const isLocal = ({ protocol }: Flow): boolean => protocol === 'LOCAL'

export const isBrowser = ({ protocol }: Flow): boolean => protocol === 'WS' || protocol === 'WSS'

/** The key of a person in a map. */
export const personKey = ({ account, user }: VoiceUser): string => `${account} ${user}`
