import type { Parts } from '../parts.ts'
import type { Lane } from './lane.ts'
import * as store from './lanes.ts'

/** How long the lanes of a process are its own. */
export type Leases = {
  /** Of each lane, from when it was taken or prolonged. */
  readonly seconds: number
  /** False once their end may be near, because the process was stopped for a while or cannot reach the database: then another
   *  one may deliver, and nothing more is begun. */
  areHeld(): boolean
  /** Prolongs them when it is time; lanes that are another's by now are lost. */
  keep(): Promise<void>
}

/** @param lanes by their webhooks; those that are lost are taken away */
export const makeLeases = (
  { db, log }: Pick<Parts, 'db' | 'log'>,
  worker: string,
  lanes: Map<string, Lane>,
  seconds: number,
): Leases => {
  let triedAt = performance.now()
  let heldFrom = triedAt

  const areHeld = () => performance.now() - heldFrom < seconds * 800

  const extend = async () => {
    triedAt = performance.now()
    const began = triedAt
    const all = [...lanes.values()]
    const keys = all.map(({ key }) => key)
    const rows = keys.length > 0 ? await store.extend(db, worker, keys, seconds) : []
    heldFrom = began
    const kept = new Set(rows.map((row) => row.webhook_id))
    for (const lane of all) {
      if (kept.has(lane.key.webhook)) lane.run()
      // One that was given back meanwhile is no news, and by now another of ours may be in its place.
      else if (lanes.get(lane.key.webhook) === lane) {
        log.warn({ webhook: lane.key.webhook }, 'another process delivers for a webhook now')
        lane.lose()
        lanes.delete(lane.key.webhook)
      }
    }
  }

  return {
    seconds,
    areHeld,
    keep: async () => {
      if (!areHeld() || performance.now() - triedAt > seconds * 250) await extend()
    },
  }
}
