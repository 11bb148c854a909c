import type { Db, Sql, Tx } from '../../db/sql.ts'

export type Refused = {
  account: string
  id: string
  channel: string
  what: string
  /** JSON. */
  content: string
  digest: Buffer
  reason: string
}

/** @returns false when it was set aside before */
export const add = async (tx: Tx, r: Refused): Promise<boolean> =>
  (await tx.run`
    insert into msgapp_set_aside (account_id, id, channel_id, what, content, digest, reason, created_at)
    values (${r.account}, ${r.id}, ${r.channel}, ${r.what}, ${r.content}, ${r.digest}, ${r.reason}, app_now())
    on conflict (channel_id, digest) do nothing`) === 1

/** Whether so much is set aside of a channel. */
export const isFull = async (tx: Tx, channel: string, most: number): Promise<boolean> =>
  (await tx.maybe`select from msgapp_set_aside where channel_id = ${channel} offset ${most - 1} limit 1`) !== null

/** How much is set aside, by network. */
export const countAll = (db: Db) => db.many<{ platform: string; count: number }>`
  select c.platform, count(*)::integer as count from msgapp_set_aside a
  join msgapp_channels c on c.account_id = a.account_id and c.id = a.channel_id
  group by c.platform`

/** Forgets what nobody looked after for 90 days, a few at a time. */
export const forgetOld = (tx: Tx) => tx.run`
  delete from msgapp_set_aside where (account_id, id) in (
    select account_id, id from msgapp_set_aside where created_at < app_now() - interval '90 days'
    order by created_at limit 5000)`

/** With the channel that it came in for, which may have been deleted since. */
export type Row = Pick<Refused, 'id' | 'what' | 'content' | 'reason'> & {
  account_id: string
  channel_id: string
  created_at: Date
  connection_id: string
  platform: string
  phone_number: string
}

/** The oldest first, after one of them; so much of what each is. */
export const list = (sql: Sql, after: string | null, limit: number, characters: number) => sql.many<Row>`
  select a.account_id, a.id, a.channel_id, a.what, left(a.content, ${characters}) as content, a.reason, a.created_at, c.connection_id, c.platform, c.phone_number
  from msgapp_set_aside a join msgapp_channels c on c.account_id = a.account_id and c.id = a.channel_id
  where a.id > coalesce(${after}::uuid, '00000000-0000-0000-0000-000000000000') order by a.id limit ${limit}`

export const find = (sql: Sql, id: string) => sql.maybe<Row>`
  select a.account_id, a.id, a.channel_id, a.what, a.content, a.reason, a.created_at, c.connection_id, c.platform, c.phone_number
  from msgapp_set_aside a join msgapp_channels c on c.account_id = a.account_id and c.id = a.channel_id
  where a.id = ${id}`

export const remove = (sql: Sql, account: string, id: string) => sql.run`
  delete from msgapp_set_aside where account_id = ${account} and id = ${id}`
