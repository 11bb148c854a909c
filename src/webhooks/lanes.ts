import type { Sql } from '../db/sql.ts'

// SQL of the engine: who delivers for a webhook, and what. A lane is a webhook's row in `webhook_lanes`; the process that
// has it on lease is the only one that delivers for that webhook.

export type LaneKey = { readonly account: string; readonly webhook: string }

const accounts = (keys: readonly LaneKey[]) => keys.map(({ account }) => account)
const webhooks = (keys: readonly LaneKey[]) => keys.map(({ webhook }) => webhook)

/** In the order in which several lanes are locked. */
export const inOrder = <Key extends LaneKey>(keys: readonly Key[]): Key[] =>
  keys.toSorted((one, other) => (one.webhook < other.webhook ? -1 : 1))

/** Webhooks for which something is due and that nobody else delivers for. */
export const due = (sql: Sql, worker: string, most: number) =>
  sql.many<{
    account_id: string
    webhook_id: string
    failures: number
  }>`select account_id, webhook_id, failures from webhooks_due(${worker}, ${most})`

/** A delivery whose next try holds up those behind it. */
export type Head = { conversation: string; event: string; seconds: number }

export type LaneRow = {
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
  /** Null once it no longer signs. */
  sealed_previous_secret: Buffer | null
  previous_until: Date | null
  heads: Head[]
}

/** Takes lanes that are free, or ours, for so many seconds. */
export const claim = (sql: Sql, worker: string, lanes: readonly LaneKey[], seconds: number) => sql.many<LaneRow>`
  with free as (
    select l.account_id, l.webhook_id from webhook_lanes l
    join unnest(${accounts(lanes)}::uuid[], ${webhooks(lanes)}::uuid[]) w (account_id, webhook_id)
      on l.account_id = w.account_id and l.webhook_id = w.webhook_id
    where l.owner = ${worker} or ((l.owner is null or l.leased_until < clock_timestamp())
      and (l.hold_until is null or l.hold_until <= (select app_now())))
    for update of l skip locked
  ), claimed as (
    update webhook_lanes l set owner = ${worker},
      leased_until = clock_timestamp() + make_interval(secs => ${seconds}::double precision)
    from free f where l.account_id = f.account_id and l.webhook_id = f.webhook_id
    returning l.*
  )
  select c.account_id, c.webhook_id, c.failures, c.failing_since, c.succeeded_at,
    w.enabled and w.deleted_at is null as enabled, w.event_name, w.msgapp_name, w.hook_url, w.sealed_secret,
    case when w.previous_until > (select app_now()) then w.sealed_previous_secret end as sealed_previous_secret, w.previous_until,
    coalesce((
      select json_agg(json_build_object('conversation', d.conversation, 'event', d.event_id,
        'seconds', extract(epoch from d.next_at - (select app_now()))))
      from webhook_deliveries d
      where d.account_id = c.account_id and d.webhook_id = c.webhook_id and d.state = 'pending'
        and d.tries between 1 and 2 and d.conversation is not null and d.next_at > (select app_now())
    ), '[]') as heads
  from claimed c join webhooks w on w.account_id = c.account_id and w.id = c.webhook_id`

/** Prolongs leases to so many seconds. @returns the webhooks whose lanes are still ours */
export const extend = (sql: Sql, worker: string, lanes: readonly LaneKey[], seconds: number) => {
  const keys = inOrder(lanes)
  return sql.many<{
    webhook_id: string
  }>`
  update webhook_lanes l set leased_until = clock_timestamp() + make_interval(secs => ${seconds}::double precision)
  from unnest(${accounts(keys)}::uuid[], ${webhooks(keys)}::uuid[]) w (account_id, webhook_id)
  where l.account_id = w.account_id and l.webhook_id = w.webhook_id and l.owner = ${worker}
  returning l.webhook_id`
}

/** Gives lanes back. */
export const release = (sql: Sql, worker: string, lanes: readonly LaneKey[]) => {
  const keys = inOrder(lanes)
  return sql.run`
  update webhook_lanes l set owner = null, leased_until = null
  from unnest(${accounts(keys)}::uuid[], ${webhooks(keys)}::uuid[]) w (account_id, webhook_id)
  where l.account_id = w.account_id and l.webhook_id = w.webhook_id and l.owner = ${worker}`
}

/** Gives back the lanes of a process that is known to be dead. */
export const releaseAll = (sql: Sql) => sql.run`
  update webhook_lanes set owner = null, leased_until = null where owner is not null`

export type DeliveryRow = {
  webhook_id: string
  event_id: string
  conversation: string | null
  tries: number
  body: string
}

export type Hungry = LaneKey & { readonly most: number; readonly inHand: readonly string[] }

/** What is due in these lanes, oldest first, but for what is in hand: see migrations/0019_webhook_writing.sql. */
export const load = (sql: Sql, lanes: readonly Hungry[]) => sql.many<DeliveryRow>`
  select webhook_id, event_id, conversation, tries, body from webhooks_load(
    ${accounts(lanes)}::uuid[], ${webhooks(lanes)}::uuid[],
    ${lanes.map(({ most, inHand }) => most + inHand.length)}::integer[],
    ${lanes.flatMap(({ webhook, inHand }) => inHand.map(() => webhook))}::uuid[],
    ${lanes.flatMap(({ inHand }) => inHand)}::uuid[])`

/** What to try at a receiver that is down: the retry that is due, or else the oldest delivery that was never tried. */
export const probes = (sql: Sql, lanes: readonly LaneKey[]) => sql.many<DeliveryRow>`
  select d.webhook_id, d.event_id, d.conversation, d.tries, e.payload::text as body
  from unnest(${accounts(lanes)}::uuid[], ${webhooks(lanes)}::uuid[]) w (account_id, webhook_id)
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

/** The oldest of a conversation that failed and waits, before one that is to be tried. */
export const elder = (sql: Sql, { account, webhook }: LaneKey, conversation: string, before: string) =>
  sql.maybe<DeliveryRow>`
    select d.webhook_id, d.event_id, d.conversation, d.tries, e.payload::text as body
    from webhook_deliveries d join events e on e.account_id = d.account_id and e.id = d.event_id
    where d.account_id = ${account} and d.webhook_id = ${webhook} and d.state = 'pending' and d.tries > 0
      and d.conversation = ${conversation} and d.event_id < ${before}
    order by d.event_id limit 1`

/** Ends what a webhook that is disabled has pending, a few at a time; once it is enabled again, nothing. */
export const abandon = (sql: Sql, { account, webhook }: LaneKey) => sql.run`
  update webhook_deliveries d set state = 'failed', next_at = null, attempts = d.attempts
    || jsonb_build_object('at', (select app_now()), 'latency_ms', 0, 'error', 'the webhook is disabled')
  from (
    select event_id from webhook_deliveries
    where account_id = ${account} and webhook_id = ${webhook} and state = 'pending'
      and exists (select from webhooks w
        where w.account_id = ${account} and w.id = ${webhook} and (not w.enabled or w.deleted_at is not null))
    limit 1000
  ) p
  where d.account_id = ${account} and d.webhook_id = ${webhook} and d.event_id = p.event_id`
