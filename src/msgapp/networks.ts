import type { Logger } from 'pino'
import { enabledConnections } from '../connections/ops.ts'
import type { LinkState } from '../connectors/port.ts'
import type { Changes } from '../db/changes.ts'
import type { Db } from '../db/sql.ts'
import { tick } from '../jobs/tick.ts'
import { uuid } from '../lib/id.ts'
import type { Seal } from '../lib/secret.ts'
import type { Acts } from './acts.ts'
import { chatKinds, driverOf } from './drivers.ts'
import type { Intake } from './intake.ts'
import { type Owned, ownConnection } from './owner.ts'
import * as store from './store.ts'

/** The connections to chat networks that this process runs: each is run by one process at a time, by its lease. */
export type Networks = {
  /** The link of a connection, if it runs here. */
  state(connection: string): LinkState | null
  /** The link of every connection that runs here, by name. */
  states(): { name: string; state: LinkState }[]
  /** Waits until every channel of a connection stands somehow, so many seconds at most. */
  settled(connection: string, seconds: number): Promise<LinkState | null>
  /** Tries a connection, for operators. */
  test(connection: string): Promise<{ working: boolean; message: string }>
  start(how: { acts: Acts; intake: Intake }): Promise<void>
  close(): Promise<void>
}

/** Milliseconds between two looks at what is to run; each prolongs our leases. */
const lookEvery = 2_500

type Given = { db: Db; seal: Seal; changes: Changes; log: Logger; home: string }

export const makeNetworks = ({ db, seal, changes, log, home }: Given): Networks => {
  const owner = uuid()
  const running = new Map<string, { name: string; revision: string; owned: Owned }>()
  let how: { acts: Acts; intake: Intake } | null = null
  let ticks: { end(): Promise<void> }[] = []
  const noted = (error: unknown) => log.error({ err: error }, 'the chat connections could not be looked at')

  const ending = new Set<Promise<void>>()
  const end = async (id: string, reason: string | null) => {
    const one = running.get(id)
    running.delete(id)
    if (one) log.debug({ connection: id, reason: reason ?? 'another process runs it' }, 'networks: connection ended')
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
      const owned =
        known?.owned ?? ownConnection({ db, seal, log, acts, intake, owner, home, connection, driver, until })
      if (!known) log.debug({ connection: connection.id, kind: connection.kind }, 'networks: connection started')
      running.set(connection.id, { name: connection.name, revision: connection.revision, owned })
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
    states: () => [...running.values()].map(({ name, owned }) => ({ name, state: owned.state() })),
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
