import type { Tx } from '../../../platform/db/sql.ts'
import { readBatchPayload } from '../batch.ts'
import { cancelUnsubmitted } from '../cancellation.ts'
import { forceIndexPlans } from '../state-transition-store.ts'
import { splitBatches } from '../submit/batch-store.ts'
import { batchKind } from '../submit/message-slots.ts'
import * as store from './store.ts'

/**
 * Cancels and refunds the messages of a sending that no worker has claimed. The caller invalidates `sendings`, so that
 * workers end the claimed ones in the same way, unless a submit has begun.
 * @param sending its row, locked
 * @returns the number of messages that are canceled already
 */
export const cancelSending = async (tx: Tx, sending: store.SendingIds): Promise<number> => {
  const { account_id: account } = sending
  await forceIndexPlans(tx)
  await store.setState(tx, sending, 'canceled')
  const jobs = await store.lockJobs(tx, sending)
  const batches = jobs.filter(({ kind }) => kind === batchKind)
  await store.deleteJobs(
    tx,
    batches.map(({ id }) => id),
  )
  const own = jobs.filter(({ kind }) => kind !== batchKind).map(({ id }) => id)
  const ids = new Set([...batches.flatMap(({ payload }) => [...readBatchPayload(payload).keys()]), ...own])
  const canceled = await cancelUnsubmitted(
    tx,
    [...ids].map((id) => ({ account, id })),
    own,
  )
  const ended = new Set(canceled)
  await store.deleteJobs(
    tx,
    own.filter((id) => ended.has(id)),
  )
  // Messages whose submit had begun are sent to the end.
  await splitBatches(tx, batches)
  return canceled.length
}
