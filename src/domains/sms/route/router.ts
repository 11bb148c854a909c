import type { InvalidationBus } from '../../../platform/db/invalidation-bus.ts'
import type { Db } from '../../../platform/db/sql.ts'
import { makeNewestRead } from '../../../platform/lib/newest-read.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import { enabledConnections } from '../../connections/ops.ts'
import { maxPersistedDecisionIds } from '../limits.ts'
import * as store from '../store.ts'
import { type Candidate, candidateOf, type Decision, makeRouteTable, type RouteTable } from './route-table.ts'

/** Routes messages, in every process, with or without carriers of its own. */
export type Router = {
  decide: RouteTable
  /** Every connection that messages may use. */
  connections(): readonly Candidate[]
  /** Persists the route decision before a message references it; returns undefined if already persisted. */
  ensurePersisted(decision: Decision): undefined | Promise<void>
  /** Resolves once the table includes the last change known to this process. */
  ready(): Promise<void>
}

export const makeRouter = (db: Db, seal: Seal, changes: InvalidationBus, onError: (error: unknown) => void): Router => {
  let table = makeRouteTable([])
  let connections: readonly Candidate[] = []
  const persistedIds = new Set<string>()

  const { reload } = makeNewestRead(
    () => enabledConnections(db, seal, 'smpp'),
    (enabled) => {
      table = makeRouteTable(enabled)
      connections = enabled.map((connection) => candidateOf(connection, ''))
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
    decide: (destination, isSandbox) => table(destination, isSandbox),
    connections: () => connections,
    ensurePersisted: (decision) => (persistedIds.has(decision.id) ? undefined : persist(decision)),
    ready: () => reading,
  }
}
