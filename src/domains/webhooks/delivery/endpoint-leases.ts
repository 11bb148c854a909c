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

  const areHeld = () => performance.now() - heldFrom < seconds * 800

  const extend = async () => {
    triedAt = performance.now()
    const began = triedAt
    const all = [...workers.values()]
    const keys = all.map(({ key }) => key)
    const rows = keys.length > 0 ? await store.extend(db, ownerId, keys, seconds) : []
    heldFrom = began
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
    extendIfDue: async () => {
      if (!areHeld() || performance.now() - triedAt > seconds * 250) await extend()
    },
  }
}
