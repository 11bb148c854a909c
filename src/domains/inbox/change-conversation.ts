import type { Sql, Tx } from '../../platform/db/sql.ts'
import { bitOf } from '../../platform/http/capability.ts'
import { refuse } from '../../platform/http/problem.ts'
import { maskOfRole, type Role } from '../../platform/http/role.ts'
import { iso } from '../../platform/lib/clock.ts'
import { parse, print, uuid } from '../../platform/lib/id.ts'
import { type ConversationEvent, publishConversations } from './conversation-events.ts'
import type { ConversationRow, Status } from './conversation-row.ts'
import * as store from './conversation-store.ts'
import { refusals } from './refusals.ts'

/** Wanted changes of a conversation; absent fields stay. Ids have no prefix. */
export type ChangeRequest = {
  readonly status?: Status | undefined
  readonly assignee?: string | null | undefined
  readonly priority?: number | undefined
  readonly tags?: readonly string[] | undefined
  readonly snoozedUntil?: Date | null | undefined
  readonly snoozedTillReply?: boolean | undefined
  /** Since when an opened conversation waits: only to undo a change. */
  readonly waitingSince?: Date | null | undefined
}

type ChangeBody = {
  readonly status?: Status
  readonly assignee_uuid?: string | null
  readonly priority?: number
  readonly snoozed_until?: string | null
  readonly snoozed_till_reply?: boolean
}

const active = (sql: Sql, account: string, id: string) => sql.maybe<{ role: Role; status: string }>`
  select role, status from users where account_id = ${account} and id = ${id}`

/**
 * Reads the wanted change of a request.
 * @throws Problem 400 for a time in the past, 422 for an assignee who may not answer
 */
export const readChange = async (sql: Sql, account: string, now: number, body: ChangeBody): Promise<ChangeRequest> => {
  const { assignee_uuid: printed, snoozed_until: until } = body
  const snoozedUntil = until === undefined || until === null ? until : new Date(until)
  if (snoozedUntil && snoozedUntil.getTime() <= now) throw refusals.snoozeInThePast()
  let assignee: string | null | undefined = printed === undefined ? undefined : null
  if (printed !== undefined && printed !== null) {
    assignee = parse('USR', printed) ?? refuse(refusals.unknownUser(printed))
    const user = (await active(sql, account, assignee)) ?? refuse(refusals.unknownUser(printed))
    const may = user.status === 'ACTIVE' && (maskOfRole(user.role) & bitOf('inbox')) !== 0
    if (!may) throw refusals.assigneeNotActive(printed)
  }
  return {
    status: body.status,
    assignee,
    priority: body.priority,
    snoozedUntil,
    snoozedTillReply: body.snoozed_till_reply,
  }
}

/**
 * Returns a conversation after a change. A time or reply to snooze until means the status `snoozed`.
 * @throws Problem 400 for the status `snoozed` without an end
 */
export const changed = (row: ConversationRow, change: ChangeRequest, now: Date): ConversationRow => {
  const { snoozedUntil, snoozedTillReply } = change
  const isSnooze = snoozedUntil instanceof Date || snoozedTillReply === true
  const status = change.status ?? (isSnooze ? 'snoozed' : row.status)
  const isSnoozed = status === 'snoozed'
  const until = isSnoozed ? (snoozedUntil === undefined ? row.snoozed_until : snoozedUntil) : null
  const tillReply = isSnoozed ? (snoozedTillReply ?? row.snoozed_till_reply) : false
  if (isSnoozed && until === null && !tillReply) throw refusals.snoozeWithoutEnd()
  return {
    ...row,
    status,
    snoozed_until: until,
    snoozed_till_reply: tillReply,
    closed_at: status === 'closed' ? (row.closed_at ?? now) : null,
    // A closed conversation waits for nothing.
    waiting_since: status === 'closed' ? null : (change.waitingSince ?? row.waiting_since),
    assignee_id: change.assignee === undefined ? row.assignee_id : change.assignee,
    priority: change.priority ?? row.priority,
    tags: change.tags === undefined ? row.tags : [...change.tags],
  }
}

const shown = {
  status: (row: ConversationRow) => row.status,
  assignee_uuid: ({ assignee_id }: ConversationRow) => (assignee_id === null ? null : print('USR', assignee_id)),
  priority: ({ priority }: ConversationRow) => String(priority),
  tags: ({ tags }: ConversationRow) => tags.map((tag) => print('TAG', tag)).join(','),
  snoozed_until: ({ snoozed_until: until }: ConversationRow) => (until === null ? null : iso(until)),
  snoozed_till_reply: ({ snoozed_till_reply: tillReply }: ConversationRow) => String(tillReply),
}

type ChangedField = { readonly field: string; readonly from: string | null; readonly to: string | null }

/** Returns the fields that differ between two states. */
export const fieldsChanged = (before: ConversationRow, after: ConversationRow): ChangedField[] =>
  Object.entries(shown).flatMap(([field, of]) => {
    const [from, to] = [of(before), of(after)]
    return from === to ? [] : [{ field, from, to }]
  })

/** Returns the events of a change. */
const eventsOf = (before: ConversationRow, row: ConversationRow, by: string | null): ConversationEvent[] => [
  { name: 'conversation.updated', row, by },
  ...(before.assignee_id === row.assignee_id
    ? []
    : [
        {
          name: 'conversation.assigned' as const,
          row,
          by,
          more: before.assignee_id === null ? {} : { previous_assignee_uuid: print('USR', before.assignee_id) },
        },
      ]),
  ...(before.status !== 'closed' && row.status === 'closed' ? [{ name: 'conversation.closed' as const, row, by }] : []),
]

/**
 * Changes locked conversations, with an item for each changed field, and publishes their events. Conversations that a
 * change leaves as they are get neither.
 * @param by the user; null for a key or the platform
 * @param isBulk true for many conversations of one request: their events are paced
 * @returns the conversations in their new state, in the given order
 */
export const changeConversations = async (
  tx: Tx,
  rows: readonly ConversationRow[],
  request: ChangeRequest | ((row: ConversationRow) => ChangeRequest),
  by: string | null,
  isBulk = false,
): Promise<ConversationRow[]> => {
  const [first] = rows
  if (!first) return []
  const { now } = await tx.one<{ now: Date }>`select app_now() as now`
  const changes: store.NewChange[] = []
  const events: ConversationEvent[] = []
  const after: ConversationRow[] = []
  for (const row of rows) {
    const draft = changed(row, typeof request === 'function' ? request(row) : request, now)
    const fields = fieldsChanged(row, draft)
    if (fields.length === 0) {
      after.push(row)
      continue
    }
    const stored = await store.change(tx, draft)
    after.push(stored)
    for (const change of fields) changes.push({ id: uuid(), conversation: row.id, user: by, change })
    events.push(...eventsOf(row, stored, by))
  }
  if (changes.length > 0) await store.addChanges(tx, first.account_id, changes)
  await publishConversations(tx, first.account_id, events, isBulk)
  return after
}
