import type { Db } from '../../../platform/db/sql.ts'
import { applyItems } from '../apply-items.ts'
import * as applyStore from '../apply-store.ts'
import type { ConversationRow } from '../conversation-row.ts'
import * as store from '../conversation-store.ts'
import { loadItems, refsOf } from '../item-sources.ts'
import { takenIn } from '../limits.ts'

/**
 * Takes older messages and calls into a conversation that lacks some. Two that do so at once do it one after the other.
 * @returns false if nothing was missing any more
 */
export const takeInOlder = (db: Db, { account_id: account, id }: Pick<ConversationRow, 'account_id' | 'id'>) =>
  db.begin(async (tx): Promise<boolean> => {
    const row = await store.lock(tx, account, id)
    if (!row || row.items_before === null) return false
    const { counterpart, group_id: group, items_before: before } = row
    const refs = await refsOf(tx, account, { counterpart, group }, before, takenIn.page)
    const items = await loadItems(tx, account, refs)
    await applyItems(
      tx,
      account,
      items.map((item) => ({ ...item, counterpart, former: null })),
      'history',
    )
    const oldest = refs.length >= takenIn.page ? refs.at(-1) : undefined
    await applyStore.setItemsBefore(tx, account, counterpart, oldest?.id ?? null)
    return true
  })
