import { makeConditions } from '../../../platform/db/conditions.ts'
import { type ListPage, makeListQuery } from '../../../platform/db/list-query.ts'
import type { Db, Sql, Tx } from '../../../platform/db/sql.ts'

export type DeadLetter = {
  account: string
  id: string
  channel: string
  what: string
  /** JSON. */
  content: string
  digest: Buffer
  reason: string
}

/** @returns false if the dead letter exists already */
export const add = async (tx: Tx, r: DeadLetter): Promise<boolean> =>
  (await tx.run`
    insert into msgapp_dead_letters (account_id, id, channel_id, what, content, digest, reason, created_at)
    values (${r.account}, ${r.id}, ${r.channel}, ${r.what}, ${r.content}, ${r.digest}, ${r.reason}, app_now())
    on conflict (channel_id, digest) do nothing`) === 1

/** Whether a channel has reached its dead-letter limit. */
export const isFull = async (tx: Tx, channel: string, most: number): Promise<boolean> =>
  (
    await tx.one<{ count: number }>`
      select count(*)::integer as count
      from (select from msgapp_dead_letters where channel_id = ${channel} limit ${most}) counted`
  ).count >= most

/** Counts dead letters by network, up to 100,000. */
export const countAll = (db: Db) => db.many<{ platform: string; count: number }>`
  select c.platform, count(*)::integer as count
  from (select account_id, channel_id from msgapp_dead_letters order by id limit 100000) a
  join msgapp_channels c on c.account_id = a.account_id and c.id = a.channel_id
  group by c.platform`

/** Deletes dead letters older than 90 days, a few at a time. */
export const purgeOld = (tx: Tx) => tx.run`
  delete from msgapp_dead_letters where (account_id, id) in (
    select account_id, id from msgapp_dead_letters where created_at < app_now() - interval '90 days'
    order by created_at limit 5000)`

/** A dead letter with the channel it arrived on, which may have been deleted since. */
export type DeadLetterRow = Pick<DeadLetter, 'id' | 'what' | 'content' | 'reason'> & {
  account_id: string
  channel_id: string
  created_at: Date
  connection_id: string
  platform: string
  phone_number: string
}

/** Lists dead letters, oldest first; contents are truncated. */
export const list = (sql: Sql, at: ListPage, characters: number) => {
  const { text, values } = makeListQuery(
    { table: 'msgapp_dead_letters', key: [{ name: 'id', type: 'uuid' }], isNewestFirst: false },
    makeConditions(),
  ).page('*', at)
  return sql.raw<DeadLetterRow>(
    `select a.account_id, a.id, a.channel_id, a.what, left(a.content, ${characters}) as content, a.reason, a.created_at,
       c.connection_id, c.platform, c.phone_number
     from (${text}) a cross join lateral (
       select * from msgapp_channels c where c.account_id = a.account_id and c.id = a.channel_id limit 1) c
     order by a.id`,
    values,
  )
}

export const find = (sql: Sql, id: string) => sql.maybe<DeadLetterRow>`
  select a.account_id, a.id, a.channel_id, a.what, a.content, a.reason, a.created_at, c.connection_id, c.platform, c.phone_number
  from msgapp_dead_letters a join msgapp_channels c on c.account_id = a.account_id and c.id = a.channel_id
  where a.id = ${id}`

export const remove = (sql: Sql, account: string, id: string) => sql.run`
  delete from msgapp_dead_letters where account_id = ${account} and id = ${id}`
