import type { ChatFailure, ChatReceipt, ChatRemote } from '../../connectors/message-port.ts'
import { makeBatcher } from '../../db/batch.ts'
import type { Db, Tx } from '../../db/sql.ts'
import type { Line } from '../intake.ts'
import { peerOfRemote } from './peer.ts'
import type { Surroundings } from './shown.ts'
import * as store from './store.ts'
import { steps, type Told, tell } from './told.ts'

const keyOf = (row: { channel: string; networkId: string }) => `${row.channel} ${row.networkId}`

const senderOf = (from: ChatRemote | undefined): string | null => (from ? peerOfRemote(from) : null)

/** Of several that came of one message the highest acknowledgement counts, and the first failure. */
const fold = (rows: readonly store.ReceiptRow[]): store.ReceiptRow[] => {
  const folded = new Map<string, store.ReceiptRow>()
  for (const row of rows) {
    // A forged receipt must not hide the one of the recipient.
    const key = `${keyOf(row)} ${row.peer ?? ''}`
    const known = folded.get(key)
    if (!known) folded.set(key, row)
    else {
      const higher = known.level >= row.level ? known : row
      folded.set(key, { ...higher, failure: known.failure ?? row.failure })
    }
  }
  return [...folded.values()]
}

/** Applies those whose message is known. @returns the others */
const apply = async (
  tx: Tx,
  surroundings: Surroundings,
  rows: readonly store.ReceiptRow[],
): Promise<store.ReceiptRow[]> => {
  const found = await store.receive(tx, rows)
  await tell(
    tx,
    surroundings,
    found.flatMap(({ account_id: account, id, was, ack, failed }): Told[] => [
      ...steps(account, id, was, ack),
      ...(failed ? [{ account, message: id, name: 'msgapp.message.failed' } as const] : []),
    ]),
  )
  const known = new Set(found.map(({ channel_id, network_id }) => `${channel_id} ${network_id}`))
  return rows.filter((row) => !known.has(keyOf(row)))
}

export type Receipts = {
  receipt(line: Line, receipt: ChatReceipt): Promise<void>
  failure(line: Line, failure: ChatFailure): Promise<void>
}

/**
 * Takes in what networks tell of messages that went out, many to a transaction. It may come before the answer to the sending
 * itself is written down: then it is kept, and applied with that answer. Both sides hold a lock of the channel while they
 * look, so that neither misses the other; and both take it before any message, in a transaction that holds none yet.
 */
export const makeReceipts = (db: Db, surroundings: Surroundings): Receipts => {
  const batcher = makeBatcher<store.ReceiptRow, true>(async (given) => {
    const unknown = await db.begin(async (tx) => {
      const named = given.filter(({ ours }) => ours !== null)
      if (named.length > 0) await store.recognise(tx, named)
      return apply(tx, surroundings, fold(given))
    })
    if (unknown.length > 0)
      await db.begin(async (tx) => {
        await store.alone(tx, [...new Set(unknown.map(({ channel }) => channel))])
        const early = await apply(tx, surroundings, unknown)
        if (early.length > 0) await store.keepEarly(tx, early)
      })
    return given.map(() => true)
  })
  return {
    receipt: async ({ account, channel }, { id, ours = null, level, at, from }) => {
      await batcher.add({ account, channel, networkId: id, ours, level, at, failure: null, peer: senderOf(from) })
    },
    failure: async ({ account, channel }, { id, ours = null, code, reason, at, from }) => {
      const failure = { code, reason: reason.slice(0, 500) }
      await batcher.add({ account, channel, networkId: id, ours, level: 0, at, failure, peer: senderOf(from) })
    },
  }
}
