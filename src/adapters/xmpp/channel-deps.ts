import type { Wire } from '@trunkline/xmpp/wire.ts'
import type { ChatChannel, ChatDeps } from '../../ports/chat.ts'
import type { Addresses } from './addresses.ts'
import type { Administration, ExistenceChecker } from './number-checks.ts'
import type { PersistedState } from './persisted-state.ts'
import type { DiscoveredServices } from './service-discovery.ts'

/** Dependencies of one channel on a connection. */
export type ChannelDeps = {
  readonly line: ChatChannel
  readonly tools: ChatDeps
  readonly wire: Wire
  readonly addresses: Addresses
  readonly state: PersistedState
  /** One link carries all numbers: the server stores nothing for us, and we send our presence ourselves. */
  readonly isComponent: boolean
  readonly administration: Administration | null
  /** How the connection's server answers for missing accounts. */
  readonly existence: ExistenceChecker
  services(wire: Wire): Promise<DiscoveredServices>
}
