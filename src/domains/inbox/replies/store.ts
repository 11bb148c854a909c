import type { Sql, Tx } from '../../../platform/db/sql.ts'

export type ReplyRow = {
  id: string
  /** Null: shared. */
  user_id: string | null
  shortcut: string
  title: string
  text: string
  updated_by: string | null
  updated_at: Date
}

/** Shared replies, and those of one owner. */
export const list = (sql: Sql, account: string, owner: string) => sql.many<ReplyRow>`
  select id, user_id, shortcut, title, text, updated_by, updated_at from canned_replies
  where account_id = ${account} and (user_id is null or user_id = ${owner})
  order by shortcut, user_id nulls first, id`

/** Locks a reply that an owner may see. */
export const lock = (tx: Tx, account: string, owner: string, id: string) => tx.maybe<ReplyRow>`
  select id, user_id, shortcut, title, text, updated_by, updated_at from canned_replies
  where account_id = ${account} and id = ${id} and (user_id is null or user_id = ${owner}) for update`

/** Serialises changes of the replies of an account: their number, and their shortcuts. */
export const lockAccount = (tx: Tx, account: string) => tx.run`
  select pg_advisory_xact_lock(hashtextextended('inbox settings ' || ${account}, 0))`

/** Number of shared replies, or of those of an owner. @param user null: shared */
export const count = async (tx: Tx, account: string, user: string | null): Promise<number> =>
  (
    await tx.one<{ n: number }>`
      select count(*)::integer as n from canned_replies
      where account_id = ${account} and user_id is not distinct from ${user}::uuid`
  ).n

/** Whether another reply of the same scope has a shortcut. */
export const isTaken = async (
  tx: Tx,
  account: string,
  { user_id, shortcut, id }: Pick<ReplyRow, 'user_id' | 'shortcut' | 'id'>,
): Promise<boolean> =>
  (await tx.maybe`
    select from canned_replies
    where account_id = ${account} and coalesce(user_id, '00000000-0000-0000-0000-000000000000')
        = coalesce(${user_id}::uuid, '00000000-0000-0000-0000-000000000000')
      and shortcut = ${shortcut} and id <> ${id}`) !== null

type NewReply = Omit<ReplyRow, 'updated_at'>

export const create = (tx: Tx, account: string, r: NewReply) => tx.one<ReplyRow>`
  insert into canned_replies (account_id, id, user_id, shortcut, title, text, updated_by, updated_at)
  values (${account}, ${r.id}, ${r.user_id}, ${r.shortcut}, ${r.title}, ${r.text}, ${r.updated_by}, (select app_now()))
  returning id, user_id, shortcut, title, text, updated_by, updated_at`

export const change = (tx: Tx, account: string, r: NewReply) => tx.one<ReplyRow>`
  update canned_replies set user_id = ${r.user_id}, shortcut = ${r.shortcut}, title = ${r.title}, text = ${r.text},
    updated_by = ${r.updated_by}, updated_at = (select app_now())
  where account_id = ${account} and id = ${r.id}
  returning id, user_id, shortcut, title, text, updated_by, updated_at`

export const remove = (tx: Tx, account: string, id: string) => tx.run`
  delete from canned_replies where account_id = ${account} and id = ${id}`

export type PersonRow = { first_name: string | null; last_name: string | null; name: string; counterpart: string }

/** Names of the counterpart of a conversation. */
export const personOf = (sql: Sql, account: string, conversation: string) => sql.maybe<PersonRow>`
  select c.first_name, c.last_name, v.name, v.counterpart
  from conversations v left join contacts c on c.account_id = v.account_id and c.id = v.contact_id
  where v.account_id = ${account} and v.id = ${conversation}`

/** Number of a channel: of SMS, or of the messaging app. */
export const numberOf = async (sql: Sql, account: string, channel: string): Promise<string | null> =>
  (
    await sql.maybe<{ number: string }>`
      select phone_number as number from sms_channels where account_id = ${account} and id = ${channel}
      union all
      select phone_number from msgapp_channels where account_id = ${account} and id = ${channel} and deleted_at is null`
  )?.number ?? null

/** First name of a user. */
export const agentName = async (sql: Sql, account: string, user: string | null): Promise<string> =>
  (
    await sql.maybe<{ name: string }>`
      select first_name as name from users where account_id = ${account} and id = ${user}::uuid`
  )?.name ?? ''
