import type { Sql } from '../../platform/db/sql.ts'
import { eventPageSize, maxFollowedWebhooks } from './limits.ts'

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

/** Whether an account has a conversation that a user may see. */
export const hasConversation = async (
  sql: Sql,
  account: string,
  conversation: string,
  { isNarrowed, user }: { readonly isNarrowed: boolean; readonly user: string | null },
): Promise<boolean> =>
  (await sql.maybe`
    select 1 from conversations
    where account_id = ${account} and id = ${conversation}
      and (not ${isNarrowed}::boolean or assignee_id is null or assignee_id = ${user}::uuid)`) !== null

/** Returns those of the accounts whose agents see only own conversations and those without an assignee. */
export const narrowedAccounts = async (sql: Sql, accounts: readonly string[]): Promise<string[]> =>
  (
    await sql.many<{ id: string }>`
      select id from accounts where id = any (${accounts}::uuid[]) and not agents_see_all`
  ).map(({ id }) => id)

/** Numbers of conversations by kind and subject: see the table. */
export const conversationCounts = (sql: Sql, accounts: readonly string[]) =>
  sql.many<{ account_id: string; kind: string; subject: string; n: number }>`
    select account_id, kind, subject, sum(n)::bigint as n from conversation_counts
    where account_id = any (${accounts}::uuid[])
      and kind in ('open', 'snoozed', 'closed', 'waiting', 'open-of', 'waiting-of')
    group by account_id, kind, subject`

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
    readonly response_excerpt?: string
    readonly response_headers?: Record<string, string>
    readonly error?: string
  } | null
  /** Grows with each attempt. */
  version: string
}

/** A text for each webhook that changes with its deliveries: the newest one, the one due next, the count of attempts. */
export const webhookVersions = (sql: Sql, accounts: readonly string[], webhooks: readonly string[]) =>
  sql.many<{ webhook_id: string; version: string }>`
    select w.id as webhook_id, concat_ws(' ', n.event_id, d.next_at, d.event_id, s.hour, s.attempts) as version
    from unnest(${accounts}::uuid[], ${webhooks}::uuid[]) w (account_id, id)
    left join lateral (
      select event_id from webhook_deliveries where account_id = w.account_id and webhook_id = w.id
      order by event_id desc limit 1) n on true
    left join lateral (
      select next_at, event_id from webhook_deliveries
      where account_id = w.account_id and webhook_id = w.id and state = 'pending'
      order by next_at, event_id limit 1) d on true
    left join lateral (
      select hour, delivered + failed as attempts from webhook_stats
      where account_id = w.account_id and webhook_id = w.id order by hour desc limit 1) s on true`

/** The newest deliveries of webhooks, and the retries that are due next. @param counts rows of each kind, by webhook */
export const deliveriesOf = (
  sql: Sql,
  accounts: readonly string[],
  webhooks: readonly string[],
  counts: readonly number[],
) => sql.many<DeliveryRow>`
    select distinct d.account_id, d.webhook_id, d.event_id, e.name as event_name, d.state, d.tries, d.next_at,
      d.attempt, concat_ws(' ', d.state, d.tries, d.attempt ->> 'at') as version
    from unnest(${accounts}::uuid[], ${webhooks}::uuid[], ${counts}::integer[]) w (account_id, id, most)
    cross join lateral (
      (select account_id, webhook_id, event_id, state, tries, next_at, attempts -> -1 as attempt
       from webhook_deliveries where account_id = w.account_id and webhook_id = w.id
       order by event_id desc limit w.most)
      union all
      (select account_id, webhook_id, event_id, state, tries, next_at, attempts -> -1 as attempt
       from webhook_deliveries
       where account_id = w.account_id and webhook_id = w.id and state = 'pending' and tries > 0
       order by next_at limit w.most)) d
    cross join lateral (
      select name from events where account_id = d.account_id and id = d.event_id limit 1) e
    order by d.event_id`
