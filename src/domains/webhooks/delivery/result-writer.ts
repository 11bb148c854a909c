import { setTimeout as pause } from 'node:timers/promises'
import { makeBatcher } from '../../../platform/db/batcher.ts'
import { isUnavailable } from '../../../platform/db/sql.ts'
import type { Services } from '../../../services.ts'
import * as settled from './attempt-store.ts'
import type { EndpointWorker } from './endpoint-worker.ts'
import type { WorkerReport } from './worker-context.ts'

type Deps = Pick<Services, 'db' | 'changes' | 'log'>

/** Stores the results of deliveries, those of many webhooks in one statement. */
export const makeResultWriter = ({ db, changes, log }: Deps, ownerId: string) => {
  const reportAll = async (reports: readonly (WorkerReport & { worker: EndpointWorker })[]) => {
    const made = reports.flatMap((report) => report.changes)
    // The last report of a webhook wins.
    const healths = [...new Map(reports.flatMap(({ health }) => (health ? [[health.webhook, health]] : []))).values()]
    const others = reports.filter(({ recovered, disabled }) => recovered || disabled)
    if (healths.length === 0 && others.length === 0) return void (await settled.storeResults(db, ownerId, made, false))
    await db.begin(async (tx) => {
      await settled.storeResults(tx, ownerId, made, true)
      let isAnyDisabled = false
      for (const { worker, recovered, disabled } of others) {
        if (recovered) await settled.recover(tx, ownerId, worker.key, recovered.conversation)
        if (!disabled || (await settled.disable(tx, worker.key, worker.endpoint.url, disabled)) === 0) continue
        isAnyDisabled = true
        const { account, webhook } = worker.key
        tx.afterCommit(() => log.warn({ account, webhook, reason: disabled }, 'webhooks: endpoint disabled'))
      }
      // Lock order: docs/locks.md.
      if (healths.length > 0) await settled.storeHealth(tx, ownerId, healths)
      if (isAnyDisabled) await changes.invalidate(tx, 'webhooks')
    })
  }

  const batch = makeBatcher<WorkerReport & { worker: EndpointWorker }, true>(
    async (reports) => {
      await reportAll(reports)
      return reports.map(() => true as const)
    },
    // No caller waits for the result.
    { maxRows: 256, spacingMs: 10, restAfterRows: 1 },
  )

  return {
    /** Reports waiting or being stored. */
    depth: batch.depth,
    /** Resolves once the report is stored, or once the lease is lost; waits out an outage of the database. */
    write: async (worker: EndpointWorker, report: WorkerReport): Promise<void> => {
      while (!worker.isRevoked) {
        try {
          await batch.add({ ...report, worker })
          return
        } catch (error) {
          const isAway = isUnavailable(error)
          if (!isAway) log.error({ err: error, webhook: worker.key.webhook }, 'webhooks: storing results failed')
          await pause(1_000)
          // A report that can never be stored is dropped, and its deliveries are made again, at most once a second.
          if (!isAway) return
        }
      }
    },
  }
}
