import type { Tx } from '../../platform/db/sql.ts'
import { fullName } from '../../platform/lib/full-name.ts'
import { parse, print, uuid } from '../../platform/lib/id.ts'
import { contactsByNumber } from '../contacts/ops.ts'
import { type Notice, requestNotices } from '../push/ops.ts'
import * as store from './apply-store.ts'
import { publishConversations } from './conversation-events.ts'
import type { ConversationRow } from './conversation-row.ts'
import { conversationOf, foldItems } from './fold-items.ts'
import { type ItemRef, loadItems, type NewItem, refsOf } from './item-sources.ts'
import { openHistoryMs, takenIn } from './limits.ts'
import { contactOfNumber } from './names.ts'
import { hashesOf, nameHashesOf } from './words.ts'

/** `history`: items of long ago, which begin closed conversations and publish nothing. */
export type ApplyMode = 'live' | 'history'

/** A conversation with the items that were new to it. */
export type AppliedConversation = {
  readonly row: ConversationRow
  readonly isNew: boolean
  readonly items: readonly NewItem[]
}

const isNumber = (counterpart: string): boolean => counterpart.startsWith('+')

/** Finds the names and contacts of counterparts. */
const identify = async (tx: Tx, account: string, items: ReadonlyMap<string, readonly NewItem[]>) => {
  const numbers = [...items.keys()].filter(isNumber)
  const contacts = await contactsByNumber(
    tx,
    numbers.map((number) => ({ account, number })),
  )
  return (counterpart: string) => {
    const contact = contacts.get(`${account} ${counterpart}`)
    const contactName = contact ? fullName(contact) : ''
    const pushname = items.get(counterpart)?.findLast(({ name }) => name !== null)?.name
    const name = contactName || pushname || store.hiddenName(counterpart)
    return { contact_id: contact ? parse('CON', contact.uuid) : null, name }
  }
}

/** Continues a conversation under the number that its network revealed: with its contact, and found by its digits. */
const revealNumber = async (tx: Tx, account: string, former: string, number: string): Promise<void> => {
  const renamed = await store.renameCounterpart(tx, account, former, number)
  if (renamed === null) return
  const { id } = renamed
  const contact = await contactOfNumber(tx, account, number)
  const name = contact?.name ?? renamed.name
  if (contact) await store.setContact(tx, account, { id, contact: contact.id, name })
  await store.putWords(tx, account, [
    { id, conversation: id, kind: 'name', words: nameHashesOf(account, name, number) },
  ])
}

/** A conversation of the history is closed, unless somebody waited for an answer until lately. */
const asHistory = (row: ConversationRow, now: Date): ConversationRow =>
  row.last_direction === 'inbound' && now.getTime() - row.last_at.getTime() < openHistoryMs
    ? row
    : { ...row, status: 'closed', closed_at: row.last_at, waiting_since: null }

/** Inserts the conversations of counterparts that have none, with their last messages and calls. */
const begin = async (
  tx: Tx,
  account: string,
  begun: ReadonlyMap<string, readonly NewItem[]>,
  mode: ApplyMode,
): Promise<{ rows: ConversationRow[]; items: Map<string, NewItem[]> }> => {
  const incomplete = new Map<string, string>()
  const earlier = new Map<string, ItemRef[]>()
  for (const [counterpart, own] of begun) {
    const refs = await refsOf(tx, account, { counterpart, group: own[0]?.group ?? null }, null, takenIn.first)
    const oldest = refs.at(-1)
    if (refs.length >= takenIn.first && oldest) incomplete.set(counterpart, oldest.id)
    const known = new Set(own.map(({ id }) => id))
    earlier.set(
      counterpart,
      refs.filter(({ id }) => !known.has(id)),
    )
  }
  const loaded = new Map((await loadItems(tx, account, [...earlier.values()].flat())).map((item) => [item.id, item]))
  const items = new Map(
    [...begun].map(([counterpart, own]) => {
      const others = (earlier.get(counterpart) ?? []).flatMap(({ id }) => loaded.get(id) ?? [])
      const all = [...own, ...others.map((item) => ({ ...item, counterpart }))]
      return [counterpart, all.sort((a, b) => (a.id < b.id ? -1 : 1))]
    }),
  )
  const who = await identify(tx, account, items)
  const now = await store.now(tx)
  const rows = [...items].map(([counterpart, own]): ConversationRow => {
    const created = { account_id: account, id: uuid(), created_at: now, ...who(counterpart) }
    const row = { ...conversationOf(created, own), counterpart, items_before: incomplete.get(counterpart) ?? null }
    return mode === 'history' ? asHistory(row, now) : row
  })
  // A fixed order prevents deadlocks of two transactions that begin the same conversations.
  rows.sort((a, b) => (a.counterpart < b.counterpart ? -1 : 1))
  const inserted = new Set((await store.insertConversations(tx, rows)).map(({ id }) => id))
  return { rows: rows.filter(({ id }) => inserted.has(id)), items }
}

/** Takes the assignee off a conversation that was opened while the assignee does not take conversations. */
const withoutAbsent = async (tx: Tx, account: string, rows: readonly ConversationRow[]): Promise<Set<string>> => {
  const assignees = [...new Set(rows.flatMap(({ assignee_id }) => assignee_id ?? []))]
  if (assignees.length === 0) return new Set()
  const available = await store.availableUsers(tx, account, assignees)
  return new Set(rows.flatMap(({ id, assignee_id }) => (assignee_id && !available.has(assignee_id) ? [id] : [])))
}

const wordsOfItems = (account: string, places: readonly store.ItemPlace[]): store.WordRow[] =>
  places.flatMap(({ conversation, item }) => {
    if (item.kind !== 'sms' && item.kind !== 'msgapp') return []
    const words = hashesOf(account, item.text)
    return words.length > 0 ? [{ id: item.id, conversation, kind: 'text' as const, words }] : []
  })

const wordsOfNames = (account: string, rows: readonly ConversationRow[]): store.WordRow[] =>
  rows.map(({ id, name, counterpart }) => ({
    id,
    conversation: id,
    kind: 'name',
    words: nameHashesOf(account, name, isNumber(counterpart) ? counterpart : null),
  }))

/**
 * Takes messages and calls into their conversations, in the transaction of the caller. Repeated items change nothing.
 * The lock order is: conversations by id, then items (docs/locks.md).
 * @param by the user who caused it; null for the platform
 * @returns the conversations that have new items
 */
export const applyItems = async (
  tx: Tx,
  account: string,
  batch: readonly NewItem[],
  mode: ApplyMode = 'live',
  by: string | null = null,
): Promise<AppliedConversation[]> => {
  const numbers = new Map(batch.flatMap(({ former, counterpart }) => (former === null ? [] : [[former, counterpart]])))
  const renamed = numbers.size > 0 ? await store.counterpartsAmong(tx, account, [...numbers.keys()]) : []
  for (const former of renamed) await revealNumber(tx, account, former, numbers.get(former) ?? former)
  const byCounterpart = Map.groupBy(batch, ({ counterpart }) => counterpart)
  let known = await store.lockByCounterpart(tx, account, [...byCounterpart.keys()])
  const knownNames = new Set(known.map(({ counterpart }) => counterpart))
  const begun = new Map(
    [...byCounterpart].filter(
      ([counterpart, items]) => !knownNames.has(counterpart) && items.some(({ begins }) => begins),
    ),
  )
  const created = begun.size > 0 ? await begin(tx, account, begun, mode) : { rows: [], items: new Map() }
  // Another transaction may have begun the same conversation at the same time.
  if (created.rows.length < begun.size) {
    const own = new Set(created.rows.map(({ id }) => id))
    const all = await store.lockByCounterpart(tx, account, [...byCounterpart.keys()])
    known = all.filter(({ id }) => !own.has(id))
  }
  const places: store.ItemPlace[] = [
    ...created.rows.flatMap(({ id, counterpart }) =>
      (created.items.get(counterpart) ?? []).map((item: NewItem) => ({ conversation: id, item })),
    ),
    ...known.flatMap(({ id, counterpart }) =>
      (byCounterpart.get(counterpart) ?? []).map((item) => ({ conversation: id, item })),
    ),
  ].sort((a, b) => (a.conversation + a.item.id < b.conversation + b.item.id ? -1 : 1))
  if (places.length === 0) return []
  const fresh = new Set((await store.insertItems(tx, account, places)).map(({ id }) => id))
  const freshPlaces = places.filter(({ item }) => fresh.has(item.id))
  const answered = freshPlaces.filter(({ item }) => item.direction === 'inbound' && item.user !== null)
  if (answered.length > 0) await store.readAnswered(tx, account, answered)
  const newItems = Map.groupBy(freshPlaces, ({ conversation }) => conversation)
  const itemsOf = (id: string) => newItems.get(id)?.map(({ item }) => item) ?? []
  const changed = await changeKnown(
    tx,
    account,
    known.filter(({ id }) => newItems.has(id)),
    itemsOf,
    mode,
  )
  await store.putWords(tx, account, [...wordsOfItems(account, freshPlaces), ...wordsOfNames(account, created.rows)])
  const applied = [
    ...created.rows.map((row) => ({ row, isNew: true, items: itemsOf(row.id) })),
    ...changed.map(({ after: row }) => ({ row, isNew: false, items: itemsOf(row.id) })),
  ]
  if (mode === 'live') await requestNotices(tx, account, applied.flatMap(noticeOf))
  if (mode === 'live')
    await publishConversations(tx, account, [
      ...created.rows.map((row) => ({ name: 'conversation.created' as const, row, by })),
      ...changed.flatMap(({ before, after }) => [
        { name: 'conversation.updated' as const, row: after, by },
        ...(before.assignee_id === after.assignee_id
          ? []
          : [
              {
                name: 'conversation.assigned' as const,
                row: after,
                by,
                more: before.assignee_id === null ? {} : { previous_assignee_uuid: print('USR', before.assignee_id) },
              },
            ]),
      ]),
    ])
  return applied
}

/** The notice of a new message, or of a call that no person took. */
const noticeOf = ({ row, items }: AppliedConversation): Notice[] => {
  const item = items.findLast(({ opens }) => opens)
  if (!item || row.waiting_since === null) return []
  const isCall = item.kind === 'call' || item.kind === 'msgapp-call'
  return [{ kind: isCall ? 'missed_call' : 'message', subject: row.id, item: item.id, users: null }]
}

/** Stores what new items change in existing conversations. */
const changeKnown = async (
  tx: Tx,
  account: string,
  rows: readonly ConversationRow[],
  itemsOf: (conversation: string) => readonly NewItem[],
  mode: ApplyMode,
): Promise<{ before: ConversationRow; after: ConversationRow }[]> => {
  if (rows.length === 0) return []
  const isLate = (row: ConversationRow) => itemsOf(row.id).some(({ id, opens }) => opens && id < row.last_item)
  const late = rows.filter(isLate).map(({ id }) => id)
  const replies = new Map(
    (late.length > 0 ? await store.lastReplies(tx, account, late) : []).map((row) => [row.conversation_id, row.id]),
  )
  const folded = rows.map((before) => {
    // History neither opens a conversation nor waits for an answer.
    const items = itemsOf(before.id).map((item) => (mode === 'live' ? item : { ...item, opens: false, answers: false }))
    const { row, isOpened } = foldItems(before, items, replies.get(before.id) ?? null)
    return { before, after: { ...row, version: before.version + 1 }, isOpened }
  })
  const absent = await withoutAbsent(
    tx,
    account,
    folded.filter(({ isOpened }) => isOpened).map(({ after }) => after),
  )
  const changed = folded.map(({ before, after }) => ({
    before,
    after: absent.has(after.id) ? { ...after, assignee_id: null } : after,
  }))
  await store.updateConversations(
    tx,
    changed.map(({ after }) => after),
  )
  return changed
}
