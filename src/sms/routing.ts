import { enabledConnections } from '../connections/ops.ts'
import type { Changes } from '../db/changes.ts'
import type { Db } from '../db/sql.ts'
import type { Seal } from '../lib/secret.ts'
import { type Candidate, candidateOf, type Decision, makeTable, type Table } from './route.ts'
import * as store from './store.ts'

/** Which way texts go, known in every process, whether or not it runs carriers. */
export type Routing = {
  decide: Table
  /** Every connection that texts may go over. */
  connections(): readonly Candidate[]
  /** Sees to it that the decision is kept before a message names it: at once when it is. */
  kept(decision: Decision): undefined | Promise<void>
  /** Resolves once the table is as new as the last change that this process knows of. */
  ready(): Promise<void>
}

/** Decisions that a process remembers to have kept. */
const limit = 10_000

export const makeRouting = (db: Db, seal: Seal, changes: Changes, onError: (error: unknown) => void): Routing => {
  let table = makeTable([])
  let connections: readonly Candidate[] = []
  let turn = 0
  const keptIds = new Set<string>()

  const read = async () => {
    const mine = ++turn
    const enabled = await enabledConnections(db, seal, 'smpp')
    if (mine !== turn) return // a newer change is being read
    table = makeTable(enabled)
    connections = enabled.map((connection) => candidateOf(connection, ''))
  }

  let reading = read()
  changes.on('connections', () => {
    reading = read().catch(onError)
  })

  const keep = async ({ id, candidates }: Decision) => {
    // By itself, not in the request's transaction: that may still be rolled back.
    await store.keepDecision(db, id, candidates)
    if (keptIds.size >= limit) keptIds.clear()
    keptIds.add(id)
  }

  return {
    decide: (destination, isSandbox) => table(destination, isSandbox),
    connections: () => connections,
    kept: (decision) => (keptIds.has(decision.id) ? undefined : keep(decision)),
    ready: () => reading,
  }
}
