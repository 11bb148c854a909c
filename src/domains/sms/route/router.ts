import type { InvalidationBus } from '../../../platform/db/invalidation-bus.ts'
import type { Db } from '../../../platform/db/sql.ts'
import { makeNewestRead } from '../../../platform/lib/newest-read.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import { driverOf, enabledCarriers } from '../drivers.ts'
import { maxPersistedDecisionIds } from '../limits.ts'
import * as store from '../store.ts'
import { type Candidate, candidateOf, type Decision, makeRouteTable, type RouteTable } from './route-table.ts'

/** Routes messages, in every process, with or without carriers of its own. */
export type Router = {
  decide: RouteTable['decide']
  /** Whether a decision is of the current routes: every change of a connection makes new decisions. */
  isCurrent: RouteTable['hasMade']
  /** Every connection that messages may use. */
  connections(): readonly Candidate[]
  /** Connections whose carriers may be asked for the state of a part, with their pace. */
  queryable(): ReadonlyMap<string, number | null>
  /** Persists the route decision before a message references it; returns undefined if already persisted. */
  ensurePersisted(decision: Decision): undefined | Promise<void>
  /** Resolves once the table includes the last change known to this process. */
  ready(): Promise<void>
}

export const makeRouter = (db: Db, seal: Seal, changes: InvalidationBus, onError: (error: unknown) => void): Router => {
  let table = makeRouteTable([])
  let connections: readonly Candidate[] = []
  let queryable: ReadonlyMap<string, number | null> = new Map()
  const persistedIds = new Set<string>()

  const { reload } = makeNewestRead(
    () => enabledCarriers(db, seal),
    (enabled) => {
      const routed = enabled.map(({ id, name, kind, settings }) => ({
        ...{ id, name, settings },
        capabilities: driverOf(kind).capabilitiesOf(settings),
      }))
      table = makeRouteTable(routed)
      connections = routed.map((connection) => candidateOf(connection, ''))
      queryable = new Map(routed.flatMap(({ id, capabilities: { queries, pace } }) => (queries ? [[id, pace]] : [])))
    },
  )
  let reading = reload()
  changes.on('connections', () => {
    reading = reload().catch(onError)
  })

  const persist = async ({ id, candidates }: Decision) => {
    // Outside the request's transaction, which may still be rolled back.
    await store.saveDecision(db, id, candidates)
    if (persistedIds.size >= maxPersistedDecisionIds) persistedIds.clear()
    persistedIds.add(id)
  }

  return {
    decide: (destination, isSandbox) => table.decide(destination, isSandbox),
    isCurrent: (decision) => table.hasMade(decision),
    connections: () => connections,
    queryable: () => queryable,
    ensurePersisted: (decision) => (persistedIds.has(decision.id) ? undefined : persist(decision)),
    ready: () => reading,
  }
}
