import { sandboxDriver } from '../../../adapters/sandbox/sandbox-driver.ts'
import { whatsappCloudDriver } from '../../../adapters/whatsapp-cloud/driver.ts'
import { whatsappWebDriver } from '../../../adapters/whatsapp-web/driver.ts'
import { xmppDriver } from '../../../adapters/xmpp/xmpp-driver.ts'
import type { Sql } from '../../../platform/db/sql.ts'
import type { ChatCapabilities, ChatCapability, ChatDriver, ChatPlatform, ChatProof } from '../../../ports/chat.ts'
import { publicSettings } from '../../connections/ops.ts'
import { refusals } from '../refusals.ts'

/** Drivers by network. Settings were validated against the schema of their kind (connections/connection-kinds.ts). */
const drivers = {
  sandbox: sandboxDriver,
  xmpp: xmppDriver,
  'whatsapp-cloud': whatsappCloudDriver,
  'whatsapp-web': whatsappWebDriver,
} satisfies { [platform in ChatPlatform]: ChatDriver<unknown> }

export type ChatKind = keyof typeof drivers

// Object.keys loses the key types.
export const chatKinds = Object.keys(drivers) as ChatKind[]

/** Returns the driver of a network. */
export const driverOf = (kind: ChatKind): ChatDriver<unknown> => drivers[kind]

/** Returns the proof of possession that a network of this kind gives about its numbers; none without a driver. */
export const proofOf = (kind: string): ChatProof => {
  const known = chatKinds.find((one) => one === kind)
  return known ? drivers[known].provesPossession : 'none'
}

/** Abilities of the network behind a connection, and its rate limit in checks a minute per number. */
export type ConnectionAbilities = {
  /** Null without a driver: then nothing is supported. */
  readonly abilities: ChatCapabilities | null
  readonly checksPerMinute: number
  /** Hours after an inbound message in which the network accepts free text; null: always. */
  readonly freeTextHours: number | null
  can(ability: ChatCapability): boolean
  /**
   * Checks an ability before any request to the network.
   * @throws the 406 Problem with the reason
   */
  require(ability: ChatCapability): void
}

const noAbilities: ConnectionAbilities = {
  abilities: null,
  checksPerMinute: 0,
  freeTextHours: null,
  can: () => false,
  require: () => {
    throw refusals.noDriver()
  },
}

/** Returns the abilities of a connection, which may depend on its settings. */
export const abilitiesOf = async (sql: Sql, connection: string): Promise<ConnectionAbilities> => {
  const found = await publicSettings(sql, chatKinds, connection)
  if (!found) return noAbilities
  const { kind, settings } = found
  const { capabilitiesOf, notes, checksPerMinute, freeTextHours = null } = driverOf(kind)
  const abilities = capabilitiesOf(settings)
  const can = (ability: ChatCapability) => abilities[ability] !== 'no'
  return {
    abilities,
    checksPerMinute: can('check') ? checksPerMinute : 0,
    freeTextHours,
    can,
    require: (ability) => {
      if (!can(ability)) throw refusals.notSupported(kind, notes[ability] ?? ability)
    },
  }
}
