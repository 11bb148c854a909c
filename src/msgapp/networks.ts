import type { Logger } from 'pino'
import { enabledConnections } from '../connections/ops.ts'
import type { ChatAbility, ChatDriver, ChatPlatform } from '../connectors/chat-port.ts'
import type { LinkState } from '../connectors/port.ts'
import { sandboxDriver } from '../connectors/sandbox/driver.ts'
import { whatsappCloudDriver } from '../connectors/whatsapp-cloud/driver.ts'
import { xmppDriver } from '../connectors/xmpp/driver.ts'
import type { Changes } from '../db/changes.ts'
import type { Db } from '../db/sql.ts'
import { Problem } from '../http/problem.ts'
import { tick } from '../jobs/tick.ts'
import { uuid } from '../lib/id.ts'
import type { Seal } from '../lib/secret.ts'
import type { Acts } from './acts.ts'
import type { Intake } from './intake.ts'
import { type Owned, ownConnection } from './owner.ts'
import * as store from './store.ts'

/** The networks that there are. Settings were checked against the schema of their kind (connections/kinds.ts). */
const drivers = { sandbox: sandboxDriver, xmpp: xmppDriver, 'whatsapp-cloud': whatsappCloudDriver } satisfies {
  [platform in ChatPlatform]?: ChatDriver<unknown>
}

export type ChatKind = keyof typeof drivers

// Object.keys forgets the names' types.
export const chatKinds = Object.keys(drivers) as ChatKind[]

/** The driver of a network. @throws Error for a platform that there is none for */
export const driverOf = (platform: string): ChatDriver<unknown> => {
  const found: [string, ChatDriver<unknown>] | undefined = Object.entries(drivers).find(([name]) => name === platform)
  if (!found) throw new Error(`there is no driver for ${platform}`)
  return found[1]
}

/** Refuses what a network cannot do, before anything is asked of it. @throws the 406 Problem, with why */
export const demand = (platform: string, ability: ChatAbility): void => {
  if (!(platform in drivers)) throw new Problem('notSupported', `There is no way to ${platform} here`)
  const { abilities, notes } = driverOf(platform)
  if (abilities[ability] === 'no')
    throw new Problem('notSupported', `${platform} cannot do this: ${notes[ability] ?? ability}`)
}

/** How many checks a minute a network bears of each number; 0 when it cannot check at all. */
export const checksOf = (platform: string): number => {
  const can = platform in drivers && driverOf(platform).abilities.check !== 'no'
  return can ? driverOf(platform).checksPerMinute : 0
}

/** Whether a network has an address book of its own. */
export const canKeepContacts = (platform: string): boolean =>
  platform in drivers && driverOf(platform).abilities.contacts !== 'no'

/** The connections to chat networks that this process runs: each is run by one process at a time, by its lease. */
export type Networks = {
  /** The link of a connection, if it runs here. */
  state(connection: string): LinkState | null
  /** Waits until every channel of a connection stands somehow, so many seconds at most. */
  settled(connection: string, seconds: number): Promise<LinkState | null>
  /** Tries a connection, for operators. */
  test(connection: string): Promise<{ working: boolean; message: string }>
  start(how: { acts: Acts; intake: Intake }): Promise<void>
  close(): Promise<void>
}

/** Milliseconds between two looks at what is to run; each prolongs our leases. */
const lookEvery = 2_500

type Given = { db: Db; seal: Seal; changes: Changes; log: Logger }

export const makeNetworks = ({ db, seal, changes, log }: Given): Networks => {
  const owner = uuid()
  const running = new Map<string, { revision: string; owned: Owned }>()
  let how: { acts: Acts; intake: Intake } | null = null
  let ticks: { end(): Promise<void> }[] = []
  const noted = (error: unknown) => log.error({ err: error }, 'the chat connections could not be looked at')

  const ending = new Set<Promise<void>>()
  const end = async (id: string, reason: string | null) => {
    const one = running.get(id)
    running.delete(id)
    const ended = one?.owned.end(reason) ?? Promise.resolve()
    ending.add(ended)
    await ended.finally(() => ending.delete(ended))
  }

  const look = async () => {
    if (!how) return
    const wanted = await enabledConnections(db, seal, ...chatKinds)
    const asked = performance.now()
    const ours =
      wanted.length > 0
        ? await store.lease(
            db,
            owner,
            wanted.map(({ id }) => id),
          )
        : new Set<string>()
    const until = asked + store.leaseSeconds * 1_000
    for (const [id, { revision, owned }] of running) {
      const one = wanted.find((connection) => connection.id === id)
      if (one && ours.has(id)) owned.prolong(until)
      if (!one) {
        await end(id, 'the connection is disabled')
        await store.release(db, owner, id)
      } else if (!ours.has(id)) await end(id, null)
      else if (one.revision !== revision) await end(id, 'the connection was changed')
    }
    // A network must not meet itself.
    await Promise.all(ending)
    for (const connection of wanted) {
      if (!how || !ours.has(connection.id)) continue
      const known = running.get(connection.id)
      const { acts, intake } = how
      const driver = driverOf(connection.kind)
      const owned = known?.owned ?? ownConnection({ db, seal, log, acts, intake, owner, connection, driver, until })
      running.set(connection.id, { revision: connection.revision, owned })
      void owned.reconcile()
    }
  }

  // One look after the other.
  let turn = Promise.resolve()
  const lookAgain = () => {
    turn = turn.then(look).catch(noted)
    return turn
  }
  changes.on('connections', () => void lookAgain())
  changes.on('msgapp', () => {
    for (const { owned } of running.values()) void owned.reconcile()
  })

  /** A process that was stopped, or cut off from the database, beyond its leases lets go by itself. */
  const lapse = async () => {
    for (const [id, { owned }] of running) if (!owned.isHeld()) await end(id, null)
  }

  const state = (connection: string) => running.get(connection)?.owned.state() ?? null

  const settled = async (connection: string, seconds: number) => {
    await turn
    for (const end = performance.now() + seconds * 1_000; performance.now() < end; ) {
      const one = running.get(connection)
      if (one?.owned.isSettled()) break
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    return state(connection)
  }

  return {
    state,
    settled,
    test: async (connection) => {
      const link = await settled(connection, 10)
      if (!link) return { working: false, message: 'another process runs it, or none with the role worker' }
      return { working: link.state === 'up', message: link.lastError ?? link.state }
    },
    start: async (given) => {
      how = given
      ticks = [tick(lookEvery, lookAgain, noted), tick(1_000, lapse, noted)]
      await lookAgain()
    },
    close: async () => {
      how = null
      for (const one of ticks) await one.end()
      await turn
      await Promise.all(
        [...running.keys()].map(async (id) => {
          await end(id, 'the platform stops')
          await store.release(db, owner, id).catch(noted)
        }),
      )
    },
  }
}

/** For a start that knows that no other process lives: connections need not wait for the end of its leases. */
export const releaseNetworks = (db: Db): Promise<number> => store.releaseAll(db)
