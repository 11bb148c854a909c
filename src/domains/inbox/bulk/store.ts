import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { ConversationFilter } from '../conversation-list.ts'
import type { ConversationRow, Status } from '../conversation-row.ts'
import { purgedChanges } from '../limits.ts'

/** Change of many conversations. Ids have no prefix; times are ISO 8601. */
export type BulkEdit = {
  readonly status?: Status
  readonly assignee?: string | null
  readonly priority?: number
  readonly snoozedUntil?: string | null
  readonly snoozedTillReply?: boolean
  readonly addTags?: readonly string[]
  readonly removeTags?: readonly string[]
}

/** Filters as they are stored: times are ISO 8601. */
export type StoredFilter = Omit<ConversationFilter, 'since' | 'until'> & {
  readonly since: string | null
  readonly until: string | null
}

export type BulkRow = {
  account_id: string
  id: string
  user_id: string | null
  is_narrowed: boolean
  change: BulkEdit
  filter: StoredFilter | null
  position: string[] | null
  is_found: boolean
  state: 'running' | 'completed' | 'failed' | 'undone'
  total: number
  done: number
  changed: number
  undo_of: string | null
  created_at: Date
}

export const create = (
  tx: Tx,
  b: Pick<BulkRow, 'account_id' | 'id' | 'user_id' | 'is_narrowed' | 'change' | 'filter' | 'undo_of'>,
) => tx.run`
  insert into bulk_changes (account_id, id, user_id, is_narrowed, change, filter, is_found, undo_of, created_at)
  values (${b.account_id}, ${b.id}, ${b.user_id}, ${b.is_narrowed}, ${b.change}, ${b.filter}, ${b.filter === null},
    ${b.undo_of}, (select app_now()))`

export const find = (sql: Sql, account: string, id: string) =>
  sql.maybe<BulkRow>`select * from bulk_changes where account_id = ${account} and id = ${id}`

export const lock = (tx: Tx, account: string, id: string) =>
  tx.maybe<BulkRow>`select * from bulk_changes where account_id = ${account} and id = ${id} for update`

/** Adds conversations to a change. @returns the number of those that it did not have */
export const addRows = async (
  tx: Tx,
  { account_id, id }: Pick<BulkRow, 'account_id' | 'id'>,
  ids: readonly string[],
): Promise<number> => {
  const added = await tx.run`
    insert into bulk_change_rows (account_id, job_id, conversation_id)
    select ${account_id}, ${id}, c from unnest(${ids}::uuid[]) c on conflict do nothing`
  await tx.run`update bulk_changes set total = total + ${added}::integer where account_id = ${account_id} and id = ${id}`
  return added
}

/** Adds the conversations that another change concerned, with their states before and after it. */
export const addChangedRows = async (tx: Tx, account: string, id: string, other: string): Promise<void> => {
  const added = await tx.run`
    insert into bulk_change_rows (account_id, job_id, conversation_id, before, after)
    select account_id, ${id}, conversation_id, before, after from bulk_change_rows
    where account_id = ${account} and job_id = ${other} and before is not null`
  await tx.run`update bulk_changes set total = ${added}::integer where account_id = ${account} and id = ${id}`
}

/** Stores how far the conversations of a change were found. */
export const setPosition = (
  tx: Tx,
  { account_id, id }: Pick<BulkRow, 'account_id' | 'id'>,
  position: readonly string[] | null,
) => tx.run`
  update bulk_changes set position = ${position}::text[], is_found = ${position === null}
  where account_id = ${account_id} and id = ${id}`

/** Fields of a conversation that a change concerns. */
export type Snapshot = {
  readonly status: Status
  readonly assignee_id: string | null
  readonly priority: number
  readonly tags: readonly string[]
  readonly snoozed_until: string | null
  readonly snoozed_till_reply: boolean
  readonly waiting_since: string | null
}

export type WaitingRow = { conversation_id: string; before: Snapshot | null; after: Snapshot | null }

/** The next conversations that a change has not examined. */
export const waitingRows = (tx: Tx, account: string, job: string, limit: number) => tx.many<WaitingRow>`
  select conversation_id, before, after from bulk_change_rows
  where account_id = ${account} and job_id = ${job} and not is_done order by conversation_id limit ${limit}::integer`

export const lockConversations = (tx: Tx, account: string, ids: readonly string[]) => tx.many<ConversationRow>`
  select * from conversations where account_id = ${account} and id = any (${ids}::uuid[]) order by id for update`

/** Stores the states of examined conversations. @param rows with nulls where nothing changed */
export const setDone = async (
  tx: Tx,
  { account_id, id }: Pick<BulkRow, 'account_id' | 'id'>,
  rows: readonly WaitingRow[],
): Promise<BulkRow> => {
  await tx.run`
    update bulk_change_rows r set is_done = true, before = g.before::jsonb, after = g.after::jsonb
    from unnest(${rows.map((r) => r.conversation_id)}::uuid[],
      ${rows.map((r) => (r.before ? JSON.stringify(r.before) : null))}::text[],
      ${rows.map((r) => (r.after ? JSON.stringify(r.after) : null))}::text[]) g (conversation_id, before, after)
    where r.account_id = ${account_id} and r.job_id = ${id} and r.conversation_id = g.conversation_id`
  const changed = rows.filter(({ before }) => before !== null).length
  return await tx.one<BulkRow>`
    update bulk_changes set done = done + ${rows.length}::integer, changed = changed + ${changed}::integer
    where account_id = ${account_id} and id = ${id} returning *`
}

export const setState = (
  tx: Tx,
  { account_id, id }: Pick<BulkRow, 'account_id' | 'id'>,
  state: BulkRow['state'],
) => tx.one<BulkRow>`
  update bulk_changes set state = ${state} where account_id = ${account_id} and id = ${id} returning *`

/** Which of these conversations exist, with their assignees. */
export const assigneesOf = (sql: Sql, account: string, ids: readonly string[]) =>
  sql.many<
    Pick<ConversationRow, 'id' | 'assignee_id'>
  >`select id, assignee_id from conversations where account_id = ${account} and id = any (${ids}::uuid[])`

/** Tags among these that exist; they are locked against deletion. */
export const lockTags = async (tx: Tx, account: string, ids: readonly string[]): Promise<Set<string>> =>
  new Set(
    (
      await tx.many<{ id: string }>`
        select id from inbox_tags where account_id = ${account} and id = any (${ids}::uuid[]) order by id for share`
    ).map(({ id }) => id),
  )

/** Deletes the oldest changes that are older than some hours. @returns the number of deleted changes */
export const purge = async (tx: Tx, hours: number): Promise<number> => {
  const old = await tx.many<{ account_id: string; id: string }>`
    delete from bulk_changes where (account_id, id) in (
      select account_id, id from (
        select account_id, id, sum(total) over (order by created_at, id) - total as before from (
          select account_id, id, total, created_at from bulk_changes
          where created_at < app_now() - make_interval(hours => ${hours}::integer)
          order by created_at limit ${purgedChanges.most}::integer) oldest) summed
      where before < ${purgedChanges.conversations}::bigint)
    returning account_id, id`
  await tx.run`
    delete from bulk_change_rows r using unnest(
      ${old.map(({ account_id }) => account_id)}::uuid[], ${old.map(({ id }) => id)}::uuid[]) o (account_id, id)
    where r.account_id = o.account_id and r.job_id = o.id`
  return old.length
}

/** Seconds since a change was requested, by the platform's clock. */
export const ageOf = async (sql: Sql, { created_at }: Pick<BulkRow, 'created_at'>): Promise<number> =>
  (
    await sql.one<{ age: number }>`
    select extract(epoch from (select app_now()) - ${created_at}::timestamptz)::double precision as age`
  ).age
