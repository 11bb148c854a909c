import { canonicalNumber } from '@trunkline/phone/number-forms.ts'
import type { Tx } from '../../platform/db/sql.ts'
import { print, uuid } from '../../platform/lib/id.ts'
import { applyItems } from './apply-items.ts'
import * as applyStore from './apply-store.ts'
import { publishConversations } from './conversation-events.ts'
import type { ConversationRow } from './conversation-row.ts'
import * as store from './conversation-store.ts'
import { groupCounterpart, loadItems, refsOf, type Thread } from './item-sources.ts'
import { takenIn } from './limits.ts'
import { contactOfNumber, groupName } from './names.ts'
import { nameHashesOf } from './words.ts'

/** Returns the thread of a number, in any of its forms, or of a group. */
export const threadOf = (number: string | null, group: string | null): Thread =>
  group === null
    ? { counterpart: canonicalNumber(number ?? ''), group }
    : { counterpart: groupCounterpart(group), group }

/**
 * Begins a conversation, with the last messages and calls of the counterpart, or returns the one that exists.
 * @param by the user; null for a key
 * @param given the number as the user gave it
 */
export const beginConversation = async (
  tx: Tx,
  account: string,
  thread: Thread,
  by: string | null,
  given: string | null = null,
): Promise<{ row: ConversationRow; isNew: boolean }> => {
  const { counterpart, group } = thread
  const [known] = await applyStore.lockByCounterpart(tx, account, [counterpart])
  if (known) return { row: known, isNew: false }
  const contact = group === null ? await contactOfNumber(tx, account, counterpart) : null
  const now = await applyStore.now(tx)
  const [id, change] = [uuid(), uuid()]
  const name = group === null ? (contact?.name ?? counterpart) : await groupName(tx, account, group)
  const inserted = await applyStore.insertConversations(tx, [
    {
      ...{ account_id: account, id, counterpart, group_id: group, contact_id: contact?.id ?? null, name },
      number: given === counterpart ? null : given,
      ...{ status: 'open', assignee_id: null, priority: 0, tags: [], snoozed_until: null, snoozed_till_reply: false },
      ...{ last_at: now, last_item: change, last_kind: 'change', last_direction: null, last_text: '' },
      ...{ last_channel: null, last_inbound: null, waiting_since: null, first_reply_at: null, closed_at: null },
      ...{ items_before: null, version: 1, created_at: now },
    },
  ])
  if (inserted.length > 0) {
    const begun = { id: change, conversation: id, user: by, change: { field: 'status', from: null, to: 'open' } }
    await store.addChanges(tx, account, [begun])
    const words = nameHashesOf(account, name, group === null ? counterpart : null)
    await applyStore.putWords(tx, account, [{ id, conversation: id, kind: 'name', words }])
    await takeIn(tx, account, thread)
  }
  const [row] = await applyStore.lockByCounterpart(tx, account, [counterpart])
  if (!row) throw new Error(`no conversation ${print('CNV', id)} after its insertion`)
  if (inserted.length > 0) await publishConversations(tx, account, [{ name: 'conversation.created', row, by }])
  return { row, isNew: inserted.length > 0 }
}

/** Takes the last messages and calls of a counterpart into its conversation, as history: none of them is new. */
const takeIn = async (tx: Tx, account: string, thread: Thread): Promise<void> => {
  const refs = await refsOf(tx, account, thread, null, takenIn.first)
  const items = await loadItems(tx, account, refs)
  await applyItems(
    tx,
    account,
    items.map((item) => ({ ...item, counterpart: thread.counterpart, former: null })),
    'history',
  )
  const oldest = refs.at(-1)
  if (refs.length >= takenIn.first && oldest)
    await applyStore.setItemsBefore(tx, account, thread.counterpart, oldest.id)
}
