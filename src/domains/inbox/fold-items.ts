import type { ConversationRow } from './conversation-row.ts'
import type { NewItem } from './item-sources.ts'
import { lastTextLength } from './limits.ts'

/** Returns the beginning of a text, without half a character at its end. */
export const shortText = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= lastTextLength ? line : line.slice(0, lastTextLength).replace(/[\ud800-\udbff]$/, '')
}

const lastOf = (item: NewItem) => ({
  last_at: item.at,
  last_item: item.id,
  last_kind: item.kind,
  last_direction: item.direction,
  last_text: shortText(item.text),
  last_channel: item.channel,
})

const laterOf = (one: string | null, other: string): string => (one === null || one < other ? other : one)

/** A conversation after new items, and whether it was opened. */
export type FoldResult = { row: ConversationRow; isOpened: boolean }

const opened = (row: ConversationRow, item: NewItem): ConversationRow => ({
  ...row,
  ...(row.status === 'open'
    ? {}
    : { status: 'open', snoozed_until: null, snoozed_till_reply: false, closed_at: null, first_reply_at: null }),
  waiting_since: row.waiting_since !== null && row.waiting_since < item.at ? row.waiting_since : item.at,
})

/**
 * Returns the state of a conversation after new items, which are in the order of their ids. Late items fall into place:
 * they change neither the last item nor what a later reply ended.
 * @param lastReply id of the newest reply of a person; null for none
 */
export const foldItems = (before: ConversationRow, items: readonly NewItem[], lastReply: string | null): FoldResult => {
  let row = before
  let isOpened = false
  for (const item of items) {
    if (item.id > row.last_item || row.last_kind === 'change') row = { ...row, ...lastOf(item) }
    if (item.direction === 'inbound')
      row = { ...row, last_inbound: laterOf(row.last_inbound, item.id), number: item.number ?? null }
    if (item.opens && (lastReply === null || lastReply < item.id)) {
      isOpened ||= row.status !== 'open'
      row = opened(row, item)
    }
    const isReply = item.answers || (item.direction === 'outbound' && item.user !== null)
    if (isReply && (row.last_inbound === null || row.last_inbound <= item.id))
      row = { ...row, waiting_since: null, first_reply_at: row.first_reply_at ?? item.at }
  }
  return { row, isOpened }
}

/** Returns a new conversation with its items, of which there is at least one, in the order of their ids. */
export const conversationOf = (
  created: Pick<ConversationRow, 'account_id' | 'id' | 'contact_id' | 'name' | 'created_at'>,
  items: readonly NewItem[],
): ConversationRow => {
  const [first] = items
  if (!first) throw new Error('a conversation without items')
  const blank: ConversationRow = {
    ...created,
    counterpart: first.counterpart,
    number: first.number ?? null,
    group_id: first.group,
    status: 'open',
    assignee_id: null,
    priority: 0,
    tags: [],
    snoozed_until: null,
    snoozed_till_reply: false,
    ...lastOf(first),
    last_inbound: null,
    waiting_since: null,
    first_reply_at: null,
    closed_at: null,
    items_before: null,
    version: 1,
  }
  return foldItems(blank, items, null).row
}
