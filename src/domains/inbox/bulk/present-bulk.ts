import { iso } from '../../../platform/lib/clock.ts'
import { print } from '../../../platform/lib/id.ts'
import { undoSeconds } from '../limits.ts'
import type { BulkRow } from './store.ts'

/** Maps a bulk change to its form in the API and in events. */
export const presentBulk = (row: BulkRow) => ({
  job_uuid: print('JOB', row.id),
  state: row.state,
  total: row.total,
  done: row.done,
  changed: row.changed,
  ...(row.undo_of === null
    ? { undo_until: iso(row.created_at.getTime() + undoSeconds * 1_000) }
    : { undo_of: print('JOB', row.undo_of) }),
  created_at: iso(row.created_at),
})
