import type { Sql } from '../../platform/db/sql.ts'
import { comparedDeliveries, eventPageSize, maxFollowedWebhooks } from './limits.ts'

export type EventRow = { account_id: string; id: string; name: string; payload: string }

/**
 * Events of several accounts, each after an id, without those that were read before and those made for one webhook. At
 * most 500 of each account, in the order of their ids.
 */
export const eventsOf = (
  sql: Sql,
  accounts: readonly string[],
  floors: readonly string[],
  known: readonly string[],
) => sql.many<EventRow>`
  select e.account_id, e.id, e.name, e.payload
  from unnest(${accounts}::uuid[], ${floors}::uuid[]) w (account_id, floor)
  cross join lateral (
    select account_id, id, name, payload::text as payload from events
    where account_id = w.account_id and id > w.floor and webhook_id is null and id <> all (${known}::uuid[])
    order by id limit ${eventPageSize}::integer) e
  order by e.account_id, e.id`

/** Ids of the events of an account after an id. */
export const idsAfter = async (sql: Sql, account: string, floor: string): Promise<string[]> =>
  (
    await sql.many<{ id: string }>`
      select id from events where account_id = ${account} and id > ${floor}::uuid order by id limit 20000`
  ).map(({ id }) => id)

export const balances = (sql: Sql, accounts: readonly string[]) => sql.many<{ account_id: string; balance: string }>`
  select account_id, balance from balances where account_id = any (${accounts}::uuid[])`

/** A digest of the users of each account, which changes with any of them. */
export const teams = (sql: Sql, accounts: readonly string[]) => sql.many<{ account_id: string; digest: string }>`
  select a.id as account_id, md5(coalesce(u.text, '')) as digest
  from unnest(${accounts}::uuid[]) a (id)
  left join lateral (
    select string_agg(concat_ws('|', id, first_name, last_name, status, role, person_id), ',' order by id) as text
    from (select * from users where account_id = a.id order by id limit 1000) members) u on true`

export const hasWebhook = async (sql: Sql, account: string, webhook: string): Promise<boolean> =>
  (await sql.maybe`
    select 1 from webhooks where account_id = ${account} and id = ${webhook} and deleted_at is null`) !== null

/** The webhooks of an account, the oldest first. */
export const webhooksOf = async (sql: Sql, account: string): Promise<string[]> =>
  (
    await sql.many<{ id: string }>`
      select id from webhooks where account_id = ${account} and deleted_at is null
      order by id limit ${maxFollowedWebhooks}::integer`
  ).map(({ id }) => id)

export type DeliveryRow = {
  account_id: string
  webhook_id: string
  event_id: string
  event_name: string
  state: 'pending' | 'delivered' | 'failed'
  tries: number
  next_at: Date | null
  /** The last attempt. */
  attempt: {
    readonly at: string
    readonly response_status?: number
    readonly latency_ms: number
    readonly error?: string
  } | null
  /** Grows with each attempt. */
  version: string
}

/** The newest deliveries of webhooks, and the retries that are due next. */
export const deliveriesOf = (sql: Sql, accounts: readonly string[], webhooks: readonly string[]) =>
  sql.many<DeliveryRow>`
    select distinct d.account_id, d.webhook_id, d.event_id, e.name as event_name, d.state, d.tries, d.next_at,
      d.attempt, concat_ws(' ', d.state, d.tries, d.attempt ->> 'at') as version
    from unnest(${accounts}::uuid[], ${webhooks}::uuid[]) w (account_id, id)
    cross join lateral (
      (select account_id, webhook_id, event_id, state, tries, next_at, attempts -> -1 as attempt
       from webhook_deliveries where account_id = w.account_id and webhook_id = w.id
       order by event_id desc limit ${comparedDeliveries}::integer)
      union all
      (select account_id, webhook_id, event_id, state, tries, next_at, attempts -> -1 as attempt
       from webhook_deliveries
       where account_id = w.account_id and webhook_id = w.id and state = 'pending' and tries > 0
       order by next_at limit ${comparedDeliveries}::integer)) d
    cross join lateral (
      select name from events where account_id = d.account_id and id = d.event_id limit 1) e
    order by d.event_id`
