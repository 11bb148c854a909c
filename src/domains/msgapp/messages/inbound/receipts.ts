import { makeBatcher } from '../../../../platform/db/batcher.ts'
import type { Db, Tx } from '../../../../platform/db/sql.ts'
import type { ChatFailure, ChatParty, ChatReceipt } from '../../../../ports/chat-message.ts'
import type { ChannelRef } from '../../inbound-handlers.ts'
import { ackEvents, type MessageEvent, publishEvents } from '../message-events.ts'
import type { ViewContextLoader } from '../message-presenter.ts'
import { peerOfRemote } from '../peer.ts'
import * as store from '../store.ts'

const keyOf = (row: { channel: string; networkId: string }) => `${row.channel} ${row.networkId}`

const senderOf = (from: ChatParty | undefined): string | null => (from ? peerOfRemote(from) : null)

/** If a message has several receipts, the highest acknowledgement counts, and the first failure. */
const mergeReceipts = (rows: readonly store.ReceiptRow[]): store.ReceiptRow[] => {
  const folded = new Map<string, store.ReceiptRow>()
  for (const row of rows) {
    // A forged receipt must not hide the recipient's.
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

/**
 * Applies receipts whose message is known.
 * @returns the others
 */
const applyKnown = async (
  tx: Tx,
  loadViewContext: ViewContextLoader,
  rows: readonly store.ReceiptRow[],
): Promise<store.ReceiptRow[]> => {
  const found = await store.applyReceipts(tx, rows)
  await publishEvents(
    tx,
    loadViewContext,
    found.flatMap(({ account_id: account, id, was, ack, failed }): MessageEvent[] => [
      ...ackEvents(account, id, was, ack),
      ...(failed ? [{ account, message: id, name: 'msgapp.message.failed' } as const] : []),
    ]),
  )
  const known = new Set(found.map(({ channel_id, network_id }) => `${channel_id} ${network_id}`))
  return rows.filter((row) => !known.has(keyOf(row)))
}

export type ReceiptHandlers = {
  receipt(channelRef: ChannelRef, receipt: ChatReceipt): Promise<void>
  failure(channelRef: ChannelRef, failure: ChatFailure): Promise<void>
}

/**
 * Handles receipts and failures of sent messages, many to a transaction. A receipt may arrive before the answer to
 * the send is stored. It is then stored as an early receipt, and applied with that answer. Both sides hold a lock of
 * the channel while they check, so that neither misses the other. Both take it before any message lock, in a
 * transaction that holds none yet.
 */
export const makeReceiptHandlers = (db: Db, loadViewContext: ViewContextLoader): ReceiptHandlers => {
  const batcher = makeBatcher<store.ReceiptRow, true>(
    async (batch) => {
      const unknown = await db.begin(async (tx) => {
        const named = batch.filter(({ ours }) => ours !== null)
        if (named.length > 0) await store.storeNetworkIds(tx, named)
        return applyKnown(tx, loadViewContext, mergeReceipts(batch))
      })
      if (unknown.length > 0)
        await db.begin(async (tx) => {
          await store.lockChannelsExclusive(tx, [...new Set(unknown.map(({ channel }) => channel))])
          const early = await applyKnown(tx, loadViewContext, unknown)
          if (early.length > 0) await store.storeEarly(tx, early)
        })
      return batch.map(() => true)
    },
    { spacingMs: 5 },
  )
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
