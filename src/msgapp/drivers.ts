import { plainSettings } from '../connections/ops.ts'
import type { ChatAbilities, ChatAbility, ChatDriver, ChatPlatform, ChatProof } from '../connectors/chat-port.ts'
import { sandboxDriver } from '../connectors/sandbox/driver.ts'
import { whatsappCloudDriver } from '../connectors/whatsapp-cloud/driver.ts'
import { whatsappWebDriver } from '../connectors/whatsapp-web/driver.ts'
import { xmppDriver } from '../connectors/xmpp/driver.ts'
import type { Sql } from '../db/sql.ts'
import { Problem } from '../http/problem.ts'

/** The networks that there are. Settings were checked against the schema of their kind (connections/kinds.ts). */
const drivers = {
  sandbox: sandboxDriver,
  xmpp: xmppDriver,
  'whatsapp-cloud': whatsappCloudDriver,
  'whatsapp-web': whatsappWebDriver,
} satisfies { [platform in ChatPlatform]: ChatDriver<unknown> }

export type ChatKind = keyof typeof drivers

// Object.keys forgets the names' types.
export const chatKinds = Object.keys(drivers) as ChatKind[]

/** The driver of a network. */
export const driverOf = (kind: ChatKind): ChatDriver<unknown> => drivers[kind]

/** What the network of a kind proves about the numbers that it connects; nothing where there is no driver. */
export const proofOf = (kind: string): ChatProof => {
  const known = chatKinds.find((one) => one === kind)
  return known ? drivers[known].provesPossession : 'none'
}

/** What the network behind a connection can do, and how many checks a minute it bears of each number. */
export type Able = {
  /** Null where there is no driver for it: then it can do nothing. */
  readonly abilities: ChatAbilities | null
  readonly checksPerMinute: number
  can(ability: ChatAbility): boolean
  /** Refuses what it cannot do, before anything is asked of it. @throws the 406 Problem, with why */
  demand(ability: ChatAbility): void
}

const unable: Able = {
  abilities: null,
  checksPerMinute: 0,
  can: () => false,
  demand: () => {
    throw new Problem('notSupported', 'There is no way to the network of this channel here')
  },
}

/** What can be done over a connection, which may depend on its settings. */
export const ableOf = async (sql: Sql, connection: string): Promise<Able> => {
  const found = await plainSettings(sql, chatKinds, connection)
  if (!found) return unable
  const { kind, settings } = found
  const { abilitiesOf, notes, checksPerMinute } = driverOf(kind)
  const abilities = abilitiesOf(settings)
  const can = (ability: ChatAbility) => abilities[ability] !== 'no'
  return {
    abilities,
    checksPerMinute: can('check') ? checksPerMinute : 0,
    can,
    demand: (ability) => {
      if (!can(ability)) throw new Problem('notSupported', `${kind} cannot do this: ${notes[ability] ?? ability}`)
    },
  }
}
