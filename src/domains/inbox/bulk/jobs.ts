import type { Db, Tx } from '../../../platform/db/sql.ts'
import { type JobKind, Snooze } from '../../../platform/jobs/job-kind.ts'
import type { Schedule } from '../../../platform/jobs/schedule.ts'
import { print } from '../../../platform/lib/id.ts'
import { record } from '../../events/ops.ts'
import { type Access, maySee } from '../access.ts'
import { type ChangeRequest, changeConversations } from '../change-conversation.ts'
import { listConversations } from '../conversation-list.ts'
import type { ConversationRow } from '../conversation-row.ts'
import {
  bulkBatchSize,
  bulkPageSize,
  bulkRetentionHours,
  maxBulkConversations,
  maxConversationTags,
} from '../limits.ts'
import { keyReader } from '../presenter.ts'
import { presentBulk } from './present-bulk.ts'
import * as store from './store.ts'

export const bulkKind = 'inbox.bulk'

export type BulkPayload = { readonly job: string }

const accessOf = ({ account_id: account, user_id, is_narrowed }: store.BulkRow): Access => ({
  ...{ account, user: user_id ?? keyReader, userId: user_id, isNarrowed: is_narrowed },
})

const publish = (tx: Tx, row: store.BulkRow) =>
  record(tx, [
    {
      account: row.account_id,
      name: 'conversation.bulk',
      channel: null,
      conversation: `bulk ${row.id}`,
      payload: {
        uuid: print('JOB', row.id),
        ...presentBulk(row),
        ...(row.user_id === null ? {} : { by_user_uuid: print('USR', row.user_id) }),
      },
    },
  ])

const dateOf = (text: string | null): Date | null => (text === null ? null : new Date(text))

const snapshotOf = (row: ConversationRow): store.Snapshot => ({
  status: row.status,
  assignee_id: row.assignee_id,
  priority: row.priority,
  tags: row.tags,
  snoozed_until: row.snoozed_until?.toISOString() ?? null,
  snoozed_till_reply: row.snoozed_till_reply,
  waiting_since: row.waiting_since?.toISOString() ?? null,
})

/** Finds the next page of conversations. */
const findSome = async (tx: Tx, row: store.BulkRow): Promise<void> => {
  const { filter } = row
  if (filter === null) return
  const found = { ...filter, since: dateOf(filter.since), until: dateOf(filter.until) }
  const limit = Math.min(bulkPageSize, maxBulkConversations - row.total)
  const { rows, next } = await listConversations(tx, accessOf(row), found, row.position, limit)
  const added = await store.addRows(
    tx,
    row,
    rows.map(({ id }) => id),
  )
  await store.setPosition(tx, row, row.total + added >= maxBulkConversations ? null : next)
}

/** Returns the snooze of a change; nothing where a snoozed conversation would have no end. */
const snoozeOf = ({ status, snoozedUntil, snoozedTillReply }: store.BulkEdit, row: ConversationRow): ChangeRequest => {
  const until = snoozedUntil === undefined ? row.snoozed_until : dateOf(snoozedUntil)
  const hasEnd = until !== null || (snoozedTillReply ?? row.snoozed_till_reply)
  if ((status ?? row.status) === 'snoozed' && !hasEnd) return {}
  return {
    ...(snoozedUntil === undefined ? {} : { snoozedUntil: until }),
    ...(snoozedTillReply === undefined ? {} : { snoozedTillReply }),
  }
}

/** Returns what a change means for one conversation. */
const changeOf = (edit: store.BulkEdit, known: ReadonlySet<string>) => {
  const { addTags = [], removeTags = [], snoozedUntil: _until, snoozedTillReply: _tillReply, ...rest } = edit
  const added = addTags.filter((tag) => known.has(tag))
  const hasTags = added.length > 0 || removeTags.length > 0
  const tagsOf = ({ tags }: ConversationRow) =>
    [...tags.filter((tag) => !removeTags.includes(tag)), ...added.filter((tag) => !tags.includes(tag))].slice(
      0,
      Math.max(maxConversationTags, tags.length),
    )
  return (row: ConversationRow): ChangeRequest => ({
    ...rest,
    ...snoozeOf(edit, row),
    ...(hasTags ? { tags: tagsOf(row) } : {}),
  })
}

/** Returns the previous value of each field that still has the value of the change. */
const restored = (
  row: ConversationRow,
  { before, after }: { before: store.Snapshot; after: store.Snapshot },
  known: ReadonlySet<string>,
): ChangeRequest => {
  const now = snapshotOf(row)
  const isSame = (name: keyof store.Snapshot) => JSON.stringify(now[name]) === JSON.stringify(after[name])
  const isState = (['status', 'snoozed_until', 'snoozed_till_reply'] as const).every(isSame)
  const added = after.tags.filter((tag) => !before.tags.includes(tag))
  const removed = before.tags.filter((tag) => !after.tags.includes(tag) && known.has(tag))
  const tags = [...row.tags.filter((tag) => !added.includes(tag)), ...removed.filter((tag) => !row.tags.includes(tag))]
  return {
    tags,
    ...(isState
      ? {
          status: before.status,
          ...(before.status === 'snoozed'
            ? { snoozedUntil: dateOf(before.snoozed_until), snoozedTillReply: before.snoozed_till_reply }
            : {}),
          waitingSince: dateOf(before.waiting_since),
        }
      : {}),
    ...(isSame('assignee_id') ? { assignee: before.assignee_id } : {}),
    ...(isSame('priority') ? { priority: before.priority } : {}),
  }
}

/** Changes the next conversations. @returns the change as it is then; null if none was left */
const changeSome = async (tx: Tx, row: store.BulkRow): Promise<store.BulkRow | null> => {
  const waiting = await store.waitingRows(tx, row.account_id, row.id, bulkBatchSize)
  if (waiting.length === 0) return null
  const states = new Map(waiting.map((one) => [one.conversation_id, one]))
  const tags = row.undo_of === null ? (row.change.addTags ?? []) : waiting.flatMap(({ before }) => before?.tags ?? [])
  const locked = await store.lockConversations(tx, row.account_id, [...states.keys()])
  const known = tags.length > 0 ? await store.lockTags(tx, row.account_id, [...new Set(tags)]) : new Set<string>()
  const access = accessOf(row)
  const rows = locked.filter((one) => maySee(access, one))
  const changeRequest = changeOf(row.change, known)
  const change = (one: ConversationRow): ChangeRequest => {
    if (row.undo_of === null) return changeRequest(one)
    const { before, after } = states.get(one.id) ?? {}
    return before && after ? restored(one, { before, after }, known) : {}
  }
  const changed = new Map(
    (await changeConversations(tx, rows, change, row.user_id, true)).map((one) => [one.id, one] as const),
  )
  const before = new Map(rows.map((one) => [one.id, one]))
  return await store.setDone(
    tx,
    row,
    waiting.map(({ conversation_id: id }) => {
      const [old, fresh] = [before.get(id), changed.get(id)]
      const isChanged = old && fresh && old.version !== fresh.version
      return {
        conversation_id: id,
        before: isChanged ? snapshotOf(old) : null,
        after: isChanged ? snapshotOf(fresh) : null,
      }
    }),
  )
}

/** One transaction of a change. @returns true while there is more */
const step = async (tx: Tx, account: string, job: string): Promise<boolean> => {
  const row = await store.lock(tx, account, job)
  if (row?.state !== 'running') return false
  if (!row.is_found) {
    await findSome(tx, row)
    return true
  }
  const after = await changeSome(tx, row)
  if (after) await publish(tx, after)
  if (after && after.done < after.total) return true
  await publish(tx, await store.setState(tx, row, 'completed'))
  return false
}

/**
 * Runs changes of many conversations. Those of one account run one after the other, so that an undoing follows its
 * change. Each transaction stores what it did: after a crash the rest follows, and nothing happens twice.
 */
export const bulkJob = ({ db }: { readonly db: Db }): JobKind => {
  const kind: JobKind<BulkPayload, void> = {
    kind: bulkKind,
    concurrency: 2,
    leaseSeconds: 30,
    maxAttempts: 20,
    fair: true,
    run: async ({ account, payload }, signal) => {
      while (await db.begin((tx) => step(tx, account ?? '', payload.job)))
        if (signal.aborted) throw new Snooze('the worker stops', 0)
    },
    onDiscard: async (tx, { account, payload }) => {
      const row = await store.lock(tx, account ?? '', payload.job)
      if (row?.state === 'running') await publish(tx, await store.setState(tx, row, 'failed'))
    },
  }
  // All jobs of this kind are added by the routes.
  return kind as JobKind
}

/** Deletes changes that ended long ago. */
export const purgeBulkChanges: Schedule = {
  name: 'inbox-bulk-changes',
  every: 600,
  run: async (tx) => void (await store.purge(tx, bulkRetentionHours)),
}
