import type { Services } from '../../../services.ts'
import * as store from './endpoint-lease-store.ts'
import type { EndpointWorker } from './endpoint-worker.ts'

/** Endpoint leases of this process. */
export type EndpointLeases = {
  /** Duration of each lease, from its claim or extension. */
  readonly seconds: number
  /**
   * False when the leases may be about to expire, because the process was stopped for a while or cannot reach the
   * database. Another process may then deliver, so nothing more starts.
   */
  areHeld(): boolean
  /** Counts leases from the begin of the statement that claimed them (monotonic clock, ms): its answer may be late. */
  claimed(began: number): void
  /** Extends the leases when it is time. Workers whose lease went to another process are stopped. */
  extendIfDue(): Promise<void>
}

/** @param workers by webhook; lost ones are removed */
export const makeEndpointLeases = (
  { db, log }: Pick<Services, 'db' | 'log'>,
  ownerId: string,
  workers: Map<string, EndpointWorker>,
  seconds: number,
): EndpointLeases => {
  let triedAt = performance.now()
  let heldFrom = triedAt
  /** Begin of the oldest claim since the last extension began. */
  let claimedFrom = Number.POSITIVE_INFINITY

  const areHeld = () => performance.now() - heldFrom < seconds * 800

  const extend = async () => {
    triedAt = performance.now()
    const began = triedAt
    claimedFrom = Number.POSITIVE_INFINITY
    const all = [...workers.values()]
    const keys = all.map(({ key }) => key)
    const rows = keys.length > 0 ? await store.extend(db, ownerId, keys, seconds) : []
    heldFrom = Math.min(began, claimedFrom)
    const extended = new Set(rows.map((row) => row.webhook_id))
    for (const worker of all) {
      if (extended.has(worker.key.webhook)) worker.run()
      // A worker released meanwhile needs no warning, and another one of ours may have taken its place.
      else if (workers.get(worker.key.webhook) === worker) {
        log.warn({ webhook: worker.key.webhook }, 'webhooks: lease lost to another process')
        worker.revoke()
        workers.delete(worker.key.webhook)
      }
    }
  }

  return {
    seconds,
    areHeld,
    claimed: (began) => {
      claimedFrom = Math.min(claimedFrom, began)
      heldFrom = Math.min(heldFrom, began)
    },
    extendIfDue: async () => {
      if (!areHeld() || performance.now() - triedAt > seconds * 250) await extend()
    },
  }
}
