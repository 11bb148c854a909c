import { setTimeout as pause } from 'node:timers/promises'
import { makeBatcher } from '../db/batch.ts'
import { isUnavailable } from '../db/sql.ts'
import type { Parts } from '../parts.ts'
import type { Report } from './ground.ts'
import type { Lane } from './lane.ts'
import * as settled from './settle.ts'

type Given = Pick<Parts, 'db' | 'changes' | 'log'>

/** Writes down what became of deliveries, those of many webhooks by one statement. */
export const makeWriter = ({ db, changes, log }: Given, worker: string) => {
  const reportAll = async (reports: readonly (Report & { lane: Lane })[]) => {
    const made = reports.flatMap((report) => report.changes)
    // Of several of one webhook the last is what holds.
    const healths = [...new Map(reports.flatMap(({ health }) => (health ? [[health.webhook, health]] : []))).values()]
    const others = reports.filter(({ recovered, disabled }) => recovered || disabled)
    if (healths.length === 0 && others.length === 0) return void (await settled.deliveries(db, worker, made, false))
    await db.begin(async (tx) => {
      await settled.deliveries(tx, worker, made, true)
      let isAnyDisabled = false
      for (const { lane, recovered, disabled } of others) {
        if (recovered) await settled.recover(tx, worker, lane.key, recovered.conversation)
        if (!disabled || (await settled.disable(tx, lane.key, lane.hook.url, disabled)) === 0) continue
        isAnyDisabled = true
        const { account, webhook } = lane.key
        tx.afterCommit(() => log.warn({ account, webhook, reason: disabled }, 'a webhook was disabled'))
      }
      // Webhooks, lanes, what is announced: everybody who locks several of them does so in this order.
      if (healths.length > 0) await settled.healths(tx, worker, healths)
      if (isAnyDisabled) await changes.announce(tx, 'webhooks')
    })
  }

  const batch = makeBatcher<Report & { lane: Lane }, true>(
    async (reports) => {
      await reportAll(reports)
      return reports.map(() => true as const)
    },
    // Nobody waits for it.
    { most: 256, spacing: 10 },
  )

  return {
    /** Reports that wait or are on their way. */
    depth: batch.depth,
    /** Resolves once it is written down, or once the lane is lost; an outage of the database is waited for. */
    write: async (lane: Lane, report: Report): Promise<void> => {
      while (!lane.isLost) {
        try {
          await batch.add({ ...report, lane })
          return
        } catch (error) {
          const isAway = isUnavailable(error)
          if (!isAway) log.error({ err: error, webhook: lane.key.webhook }, 'a delivery could not be written down')
          await pause(1_000)
          // What cannot be written at all is made again, and not too often.
          if (!isAway) return
        }
      }
    },
  }
}
