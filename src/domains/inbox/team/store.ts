import type { Sql, Tx } from '../../../platform/db/sql.ts'

export type Availability = 'available' | 'away'

/** Stores the availability of an active user. @returns since when it is so; null if there is no such user */
export const setAvailability = async (
  tx: Tx,
  account: string,
  user: string,
  state: Availability,
): Promise<Date | null> =>
  (
    await tx.maybe<{ since: Date }>`
      update users set availability = ${state}, availability_since =
        case when availability = ${state} and availability_since is not null then availability_since else (select app_now()) end
      where account_id = ${account} and id = ${user} and status = 'ACTIVE'
      returning availability_since as since`
  )?.since ?? null

export type MemberRow = {
  id: string
  first_name: string
  last_name: string
  availability: Availability
  availability_since: Date | null
  call_id: string | null
  open: number
  waiting: number
}

/** Members who take conversations, with their numbers from the counters. */
export const members = (sql: Sql, account: string, roles: readonly string[], limit: number) => sql.many<MemberRow>`
  select u.id, u.first_name, u.last_name, u.availability, u.availability_since, c.id as call_id,
    coalesce(n.open, 0)::integer as open, coalesce(n.waiting, 0)::integer as waiting
  from (
    select * from users where account_id = ${account} and status = 'ACTIVE' and role = any (${roles}::text[])
    order by created_at, id limit ${limit}::integer) u
  left join lateral (
    select id from calls
    where account_id = ${account} and user_id = u.id and ended_at is null order by created_at desc, id desc limit 1) c on true
  left join lateral (
    select sum(n) filter (where kind = 'open-of') as open, sum(n) filter (where kind = 'waiting-of') as waiting
    from conversation_counts where account_id = ${account} and kind in ('open-of', 'waiting-of') and subject = u.id) n
    on true
  order by u.created_at, u.id`

/** Open conversations that wait, and since when the first one does. */
export const waiting = (sql: Sql, account: string) => sql.one<{ n: number; seconds: number }>`
  select (select coalesce(sum(n), 0)::integer from conversation_counts
      where account_id = ${account} and kind = 'waiting' and subject = '00000000-0000-0000-0000-000000000000') as n,
    coalesce((
      select greatest(extract(epoch from (select app_now()) - waiting_since), 0)::integer from conversations
      where account_id = ${account} and waiting_since is not null and status = 'open'
      order by waiting_since, id limit 1), 0) as seconds`

/** Conversations closed since 00:00 UTC, and the median of the first replies since then. */
export const today = (sql: Sql, account: string) => sql.one<{ closed: number; median: number | null }>`
  with start as (select date_trunc('day', (select app_now()) at time zone 'UTC') at time zone 'UTC' as at)
  select (
      select count(*)::integer from conversations
      where account_id = ${account} and closed_at >= (select at from start) and closed_at is not null) as closed,
    (
      select percentile_cont(0.5) within group (order by first_reply_seconds) from conversations
      where account_id = ${account} and first_reply_at >= (select at from start) and first_reply_seconds is not null
    )::integer as median`
