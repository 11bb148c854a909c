import type { Logger } from 'pino'
import type { InvalidationBus } from '../../../platform/db/invalidation-bus.ts'
import type { Db } from '../../../platform/db/sql.ts'
import type { WakeUps } from '../../../platform/db/wake-ups.ts'
import type { Metrics } from '../../../platform/http/metrics.ts'
import { tick } from '../../../platform/jobs/tick.ts'
import { uuid } from '../../../platform/lib/id.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import { makeSerialQueue } from '../../../platform/lib/serial-queue.ts'
import type { LinkState } from '../../../ports/sms.ts'
import { enabledConnections } from '../../connections/ops.ts'
import { makeChatMetrics } from '../chat-metrics.ts'
import type { InboundHandlers } from '../inbound-handlers.ts'
import { connectionLeaseSeconds, reconcileIntervalMs } from '../limits.ts'
import type { Operations } from '../operations/operation.ts'
import * as store from '../store.ts'
import { type ConnectionRunner, runConnection } from './connection-runner.ts'
import { chatKinds, driverOf } from './drivers.ts'

/** Chat connections of this process. Each connection is run by the one process that holds its lease. */
export type ConnectionManager = {
  /** State of a connection, if it runs here. */
  state(connection: string): LinkState | null
  /** State of every connection that runs here. */
  states(): { id: string; name: string; state: LinkState }[]
  /** Waits until every channel of a connection has a status, at most the given seconds. */
  waitUntilSettled(connection: string, seconds: number): Promise<LinkState | null>
  /** Tests a connection, for operators. */
  test(connection: string): Promise<{ working: boolean; message: string }>
  start(how: { acts: Operations; intake: InboundHandlers }): Promise<void>
  close(): Promise<void>
}

type Deps = {
  db: Db
  seal: Seal
  changes: InvalidationBus
  wakeUps: WakeUps
  log: Logger
  metrics: Metrics
  home: string
  sandboxAccounts: { has(account: string): boolean }
}

export const makeConnectionManager = ({
  db,
  seal,
  changes,
  wakeUps,
  log,
  metrics,
  home,
  sandboxAccounts,
}: Deps): ConnectionManager => {
  const measured = makeChatMetrics(metrics)
  const owner = uuid()
  const common = { db, seal, wakeUps, log, owner, home, sandboxAccounts, metrics: measured }
  const running = new Map<string, { name: string; revision: string; owned: ConnectionRunner }>()
  let handlers: { acts: Operations; intake: InboundHandlers } | null = null
  let ticks: { end(): Promise<void> }[] = []
  const logFailure = (error: unknown) => log.error({ err: error }, 'msgapp: reconciling connections failed')

  const ending = new Set<Promise<void>>()
  const end = async (id: string, reason: string | null) => {
    const one = running.get(id)
    running.delete(id)
    if (one) log.debug({ connection: id, reason: reason ?? 'another process runs it' }, 'networks: connection ended')
    const ended = one?.owned.end(reason) ?? Promise.resolve()
    ending.add(ended)
    await ended.finally(() => ending.delete(ended))
  }

  const reconcile = async () => {
    if (!handlers) return
    const enabled = await enabledConnections(db, seal, ...chatKinds)
    const askedAt = performance.now()
    const leased =
      enabled.length > 0
        ? await store.lease(
            db,
            owner,
            enabled.map(({ id }) => id),
          )
        : new Set<string>()
    const until = askedAt + connectionLeaseSeconds * 1_000
    for (const [id, { revision, owned }] of running) {
      const one = enabled.find((connection) => connection.id === id)
      if (one && leased.has(id)) owned.extendLease(until)
      if (!one) {
        await end(id, 'the connection is disabled')
        await store.release(db, owner, id)
      } else if (!leased.has(id)) await end(id, null)
      else if (one.revision !== revision) await end(id, 'the connection was changed')
    }
    // Two sessions of one process must not conflict on a network.
    await Promise.all(ending)
    for (const connection of enabled) {
      if (!handlers || !leased.has(connection.id)) continue
      const known = running.get(connection.id)
      const { acts, intake } = handlers
      const driver = driverOf(connection.kind)
      const begin = async () => {
        const connector = await driver.load()
        return runConnection({ ...common, acts, intake, connection, driver, connector, until })
      }
      const owned = known?.owned ?? (await begin())
      if (!known) log.debug({ connection: connection.id, kind: connection.kind }, 'networks: connection started')
      running.set(connection.id, { name: connection.name, revision: connection.revision, owned })
      void owned.reconcile()
    }
  }

  // Reconciliations run one at a time.
  const queue = makeSerialQueue()
  const reconcileNext = () => queue(reconcile).catch(logFailure)
  const reconciled = () => queue(() => {})
  changes.on('connections', () => void reconcileNext())
  changes.on('msgapp', () => {
    for (const { owned } of running.values()) void owned.reconcile()
  })

  /** Ends connections whose lease expired, after the process was stopped or cut off from the database. */
  const endLapsed = async () => {
    for (const [id, { owned }] of running) if (!owned.isHeld()) await end(id, null)
  }

  const state = (connection: string) => running.get(connection)?.owned.state() ?? null

  const settled = async (connection: string, seconds: number) => {
    await reconciled()
    for (const end = performance.now() + seconds * 1_000; performance.now() < end; ) {
      const one = running.get(connection)
      if (one?.owned.isSettled()) break
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    return state(connection)
  }

  return {
    state,
    states: () => [...running].map(([id, { name, owned }]) => ({ id, name, state: owned.state() })),
    waitUntilSettled: settled,
    test: async (connection) => {
      const link = await settled(connection, 10)
      if (!link) return { working: false, message: 'the connection ended meanwhile' }
      return { working: link.state === 'up', message: link.lastError ?? link.state }
    },
    start: async (given) => {
      handlers = given
      ticks = [tick(reconcileIntervalMs, reconcileNext, logFailure), tick(1_000, endLapsed, logFailure)]
      await reconcileNext()
    },
    close: async () => {
      handlers = null
      for (const one of ticks) await one.end()
      await reconciled()
      await Promise.all(
        [...running.keys()].map(async (id) => {
          await end(id, 'the platform stops')
          await store.release(db, owner, id).catch(logFailure)
        }),
      )
    },
  }
}

/**
 * Releases all leases, for a start that knows that no other process lives: connections need not wait for their
 * expiry.
 */
export const releaseConnectionLeases = (db: Db): Promise<number> => store.releaseAll(db)
