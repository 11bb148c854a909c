import type { Sql } from '../../../platform/db/sql.ts'

// SQL of the engine: endpoint leases and due deliveries. An endpoint lease is a row of `webhook_endpoint_leases`; only the
// process that holds it delivers for that webhook.

export type EndpointKey = { readonly account: string; readonly webhook: string }

const accounts = (keys: readonly EndpointKey[]) => keys.map(({ account }) => account)
const webhooks = (keys: readonly EndpointKey[]) => keys.map(({ webhook }) => webhook)

/** Sorts leases into their lock order (docs/locks.md). */
export const inLockOrder = <Key extends EndpointKey>(keys: readonly Key[]): Key[] =>
  keys.toSorted((one, other) => (one.webhook < other.webhook ? -1 : 1))

type DueRow = { account_id: string; webhook_id: string; failures: number; due_in: null }
type NextRow = { account_id: null; webhook_id: null; failures: null; due_in: number }

/**
 * Finds webhooks with due deliveries that no other process has leased.
 * @returns also the seconds until the next delivery is due
 */
export const findDue = async (
  sql: Sql,
  ownerId: string,
  most: number,
): Promise<{ due: DueRow[]; seconds: number | null }> => {
  const rows = await sql.many<DueRow | NextRow>`
    select account_id, webhook_id, failures, due_in from webhooks_due(${ownerId}, ${most})`
  return {
    due: rows.filter((row) => row.webhook_id !== null),
    seconds: rows.find((row) => row.webhook_id === null)?.due_in ?? null,
  }
}

/** A failed delivery whose retry holds up its conversation. `seconds` until the retry; at most 0 if it is due. */
export type BlockedHead = { conversation: string; event: string; seconds: number }

export type LeasedEndpointRow = {
  account_id: string
  webhook_id: string
  failures: number
  failing_since: Date | null
  succeeded_at: Date | null
  enabled: boolean
  event_name: string
  msgapp_name: string | null
  hook_url: string
  sealed_secret: Buffer
  /** Null once the previous secret no longer signs. */
  sealed_previous_secret: Buffer | null
  previous_until: Date | null
  sealed_headers: Buffer | null
  /** Newest first: the oldest of a conversation counts. */
  heads: BlockedHead[]
}

/**
 * Claims leases that are free or already ours, for the given seconds. Heads that are due count too: events that were
 * recorded before they became due are loaded before them.
 */
export const claim = (
  sql: Sql,
  ownerId: string,
  endpoints: readonly EndpointKey[],
  seconds: number,
) => sql.many<LeasedEndpointRow>`
  with free as (
    select l.account_id, l.webhook_id from webhook_endpoint_leases l
    join unnest(${accounts(endpoints)}::uuid[], ${webhooks(endpoints)}::uuid[]) w (account_id, webhook_id)
      on l.account_id = w.account_id and l.webhook_id = w.webhook_id
    where l.owner = ${ownerId} or ((l.owner is null or l.leased_until < clock_timestamp())
      and (l.hold_until is null or l.hold_until <= (select app_now())))
    for update of l skip locked
  ), claimed as (
    update webhook_endpoint_leases l set owner = ${ownerId},
      leased_until = clock_timestamp() + make_interval(secs => ${seconds}::double precision)
    from free f where l.account_id = f.account_id and l.webhook_id = f.webhook_id
    returning l.*
  )
  select c.account_id, c.webhook_id, c.failures, c.failing_since, c.succeeded_at,
    w.enabled and w.deleted_at is null as enabled, w.event_name, w.msgapp_name, w.hook_url, w.sealed_secret, w.sealed_headers,
    case when w.previous_until > (select app_now()) then w.sealed_previous_secret end as sealed_previous_secret, w.previous_until,
    coalesce((
      select json_agg(json_build_object('conversation', d.conversation, 'event', d.event_id,
        'seconds', extract(epoch from d.next_at - (select app_now()))) order by d.event_id desc)
      from webhook_deliveries d
      where d.account_id = c.account_id and d.webhook_id = c.webhook_id and d.state = 'pending'
        and d.tries between 1 and 2 and d.conversation is not null
    ), '[]') as heads
  from claimed c join webhooks w on w.account_id = c.account_id and w.id = c.webhook_id`

/**
 * Extends leases to the given seconds.
 * @returns the webhooks whose leases are still ours
 */
export const extend = (sql: Sql, ownerId: string, endpoints: readonly EndpointKey[], seconds: number) => {
  const keys = inLockOrder(endpoints)
  return sql.many<{
    webhook_id: string
  }>`
  update webhook_endpoint_leases l set leased_until = clock_timestamp() + make_interval(secs => ${seconds}::double precision)
  from unnest(${accounts(keys)}::uuid[], ${webhooks(keys)}::uuid[]) w (account_id, webhook_id)
  where l.account_id = w.account_id and l.webhook_id = w.webhook_id and l.owner = ${ownerId}
  returning l.webhook_id`
}

/** Releases leases. */
export const release = (sql: Sql, ownerId: string, endpoints: readonly EndpointKey[]) => {
  const keys = inLockOrder(endpoints)
  return sql.run`
  update webhook_endpoint_leases l set owner = null, leased_until = null
  from unnest(${accounts(keys)}::uuid[], ${webhooks(keys)}::uuid[]) w (account_id, webhook_id)
  where l.account_id = w.account_id and l.webhook_id = w.webhook_id and l.owner = ${ownerId}`
}

/** Releases the leases of a process that is known to be dead. */
export const releaseAll = (sql: Sql) => sql.run`
  update webhook_endpoint_leases set owner = null, leased_until = null where owner is not null`

export type DeliveryRow = {
  webhook_id: string
  event_id: string
  conversation: string | null
  tries: number
  body: string
}

export type LoadRequest = EndpointKey & { readonly most: number; readonly inHand: readonly string[] }

/**
 * Loads due deliveries of these webhooks, oldest first, except those in memory. See
 * migrations/baseline/08_webhooks.sql.
 */
export const load = (sql: Sql, endpoints: readonly LoadRequest[]) => sql.many<DeliveryRow>`
  select webhook_id, event_id, conversation, tries, body from webhooks_load(
    ${accounts(endpoints)}::uuid[], ${webhooks(endpoints)}::uuid[],
    ${endpoints.map(({ most, inHand }) => most + inHand.length)}::integer[],
    ${endpoints.flatMap(({ webhook, inHand }) => inHand.map(() => webhook))}::uuid[],
    ${endpoints.flatMap(({ inHand }) => inHand)}::uuid[])`

/** Finds what to attempt at a receiver that is down: the retry that is due, or else the oldest untried delivery. */
export const findProbes = (sql: Sql, endpoints: readonly EndpointKey[]) => sql.many<DeliveryRow>`
  select d.webhook_id, d.event_id, d.conversation, d.tries, e.payload::text as body
  from unnest(${accounts(endpoints)}::uuid[], ${webhooks(endpoints)}::uuid[]) w (account_id, webhook_id)
  cross join lateral (
    (select event_id, 0 as place from webhook_deliveries
     where account_id = w.account_id and webhook_id = w.webhook_id and state = 'pending' and tries > 0
       and next_at <= (select app_now()) order by next_at limit 1)
    union all
    (select event_id, 1 from webhook_deliveries
     where account_id = w.account_id and webhook_id = w.webhook_id and state = 'pending' and tries = 0
       and next_at <= (select app_now()) order by next_at, event_id limit 1)
    order by place limit 1
  ) due
  join webhook_deliveries d on d.account_id = w.account_id and d.webhook_id = w.webhook_id and d.event_id = due.event_id
  cross join lateral (select payload from events where account_id = d.account_id and id = d.event_id offset 0) e`

/** Finds the conversation's oldest failed delivery that waits, older than `before`. */
export const findOldestFailed = (sql: Sql, { account, webhook }: EndpointKey, conversation: string, before: string) =>
  sql.maybe<DeliveryRow>`
    select d.webhook_id, d.event_id, d.conversation, d.tries, e.payload::text as body
    from webhook_deliveries d join events e on e.account_id = d.account_id and e.id = d.event_id
    where d.account_id = ${account} and d.webhook_id = ${webhook} and d.state = 'pending' and d.tries > 0
      and d.conversation = ${conversation} and d.event_id < ${before}
    order by d.event_id limit 1`

/** Fails pending deliveries of a disabled webhook, at most 1,000 at a time. No-op once the webhook is enabled again. */
export const failPending = (sql: Sql, { account, webhook }: EndpointKey) => sql.run`
  update webhook_deliveries d set state = 'failed', next_at = null, attempts = d.attempts
    || jsonb_build_object('at', (select app_now()), 'latency_ms', 0, 'error', 'the webhook is disabled')
  from (
    select event_id from webhook_deliveries
    where account_id = ${account} and webhook_id = ${webhook} and state = 'pending'
      and exists (select from webhooks w
        where w.account_id = ${account} and w.id = ${webhook} and (not w.enabled or w.deleted_at is not null))
    limit 1000
  ) p
  where d.account_id = ${account} and d.webhook_id = ${webhook} and d.event_id = p.event_id
    -- It may have been delivered while this statement waited for its row.
    and d.state = 'pending'`
