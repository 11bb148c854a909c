import type { SmsReceipt } from '../connectors/port.ts'
import { type Batcher, makeBatcher } from '../db/batch.ts'
import type { Db } from '../db/sql.ts'
import { enqueueAll } from '../jobs/queue.ts'
import * as states from './states.ts'

/** A receipt with the connection that it came over. */
export type CarrierReceipt = SmsReceipt & { connection: string }

/** What a receipt makes of a part (SMPP 3.4, 5.2.28). */
const statusOf: Record<SmsReceipt['state'], string> = {
  DELIVERED: 'delivered',
  EXPIRED: 'expired',
  DELETED: 'undelivered',
  UNDELIVERABLE: 'undelivered',
  REJECTED: 'rejected',
  ENROUTE: 'enroute',
  ACCEPTED: 'accepted',
  UNKNOWN: 'unknown',
}

const isFinal = (state: SmsReceipt['state']) => !['ENROUTE', 'ACCEPTED', 'UNKNOWN'].includes(state)

/** Of several receipts for one part the last final one counts, else the last. */
const latest = (found: states.PartState[], receipts: readonly CarrierReceipt[]): states.PartChange[] => {
  const changes = new Map<string, states.PartChange & { final: boolean }>()
  for (const { n, account_id, message_id, part } of found) {
    const receipt = receipts[n]
    if (!receipt) continue
    const key = `${message_id} ${part}`
    const final = isFinal(receipt.state)
    if (changes.get(key)?.final && !final) continue
    const status = statusOf[receipt.state]
    changes.set(key, { account: account_id, message: message_id, part, status, error: receipt.error, final })
  }
  return [...changes.values()]
}

const apply = async (db: Db, receipts: readonly CarrierReceipt[], keepUnknown: boolean): Promise<boolean[]> =>
  db.begin(async (tx) => {
    const found = await states.partsOf(tx, receipts)
    const known = new Set(found.map(({ n }) => n))
    if (found.length > 0) {
      const messages = [...new Map(found.map((part) => [part.message_id, part])).values()].map(
        ({ account_id, message_id }) => ({
          account: account_id,
          id: message_id,
        }),
      )
      await states.lock(tx, messages)
      await states.changeParts(tx, latest(found, receipts))
      await states.fold(tx, messages)
    }
    const early = receipts.filter((_, n) => !known.has(n))
    if (keepUnknown && early.length > 0) {
      const runAt = new Date(Date.now() + 1000)
      await enqueueAll(
        tx,
        'sms.receipt',
        early.map((payload) => ({ payload: { ...payload }, runAt })),
      )
    }
    return receipts.map((_, n) => known.has(n))
  })

/** Takes receipts in, many to a transaction. One whose part is not known yet waits in the queue: submit and receipt race. */
export const makeReceipts = (db: Db): Batcher<CarrierReceipt, boolean> =>
  makeBatcher((receipts) => apply(db, receipts, true))

/** Applies one receipt that came early; false when its part is still not known. */
export const applyReceipt = async (db: Db, receipt: CarrierReceipt): Promise<boolean> =>
  (await apply(db, [receipt], false))[0] ?? false
