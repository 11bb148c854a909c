import type { Tx } from '../../../platform/db/sql.ts'

// SQL of the delivery log: list, redeliver, replay, delete.

export type Attempt = {
  at: string
  response_status?: number
  latency_ms: number
  /** Unix seconds of the `webhook-timestamp` header. */
  timestamp?: number
  response_excerpt?: string
  response_headers?: Record<string, string>
  error?: string
}

export type DeliveryLogRow = {
  webhook_id: string
  event_id: string
  state: 'pending' | 'delivered' | 'failed'
  next_at: Date | null
  attempts: Attempt[]
  created_at: Date
  body: string
}

/** Makes a delivery pending again, from the start of its schedule. Its attempts stay in the log. */
export const redeliver = (tx: Tx, account: string, webhook: string, event: string) => tx.maybe<DeliveryLogRow>`
  update webhook_deliveries d set state = 'pending', tries = 0, next_at = (select app_now())
  from events e
  where d.account_id = ${account} and d.webhook_id = ${webhook} and d.event_id = ${event}
    and e.account_id = d.account_id and e.id = d.event_id
  returning d.webhook_id, d.event_id, d.state, d.next_at, d.attempts, d.created_at, e.payload::text as body`

export type Replay = {
  account: string
  webhook: string
  since: string
  until: string
  all: boolean
  /** Last event of the previous page. */
  after: string
  /** Row of `webhook_replays`; absent in jobs of earlier versions. */
  replay?: string
}

/**
 * Reads the next page of an account's events, and makes due again those that belong to the replay.
 * @returns the last event read; null after the last page
 */
export const replayPage = (tx: Tx, r: Replay, limit: number) => tx.one<{
  last: string | null
  /** Deliveries made due. */
  sent: number
  /** Time of the newest event on the page. */
  reached: Date | null
}>`
  with page as materialized (
    select * from events where account_id = ${r.account} and id > ${r.after} order by id limit ${limit}
  ), told as (
    insert into webhook_deliveries (account_id, webhook_id, event_id, conversation, next_at, created_at)
    select e.account_id, w.id, e.id, e.conversation, e.created_at, e.created_at
    from page e join webhooks w on w.account_id = e.account_id and w.id = ${r.webhook} and w.event = e.name
    where w.enabled and w.deleted_at is null and e.webhook_id is null
      and e.created_at >= ${r.since}::timestamptz and e.created_at < ${r.until}::timestamptz
      and (${r.all} or e.created_at >= w.created_at)
      and (w.match_id is null or w.match_id = e.channel_id)
      and (w.to_group is null or w.to_group = e.payload ->> 'group_uuid')
      and (e.name <> 'msgapp.conversation.new' or e.payload ->> 'previous_message_at' is null
        or (e.payload ->> 'previous_message_at')::timestamptz <= e.created_at - make_interval(secs => w.quiet_seconds))
    on conflict (account_id, webhook_id, event_id) do update
      set state = 'pending', tries = 0, next_at = excluded.next_at
      where webhook_deliveries.state = 'failed' or (${r.all} and webhook_deliveries.state = 'delivered')
    returning 1
  )
  select (select count(*)::integer from told) as sent, (select max(created_at) from page) as reached,
    (select id from page where created_at < ${r.until}::timestamptz order by id desc limit 1) as last`

const rowsPerOwner = 100

/** Position of a walk over all webhooks or accounts. */
export type WalkPosition = { account: string; id: string }

/**
 * Deletes old deliveries of the next 100 webhooks, 100 of each. Pending ones stay a week longer.
 * @returns the number deleted, and the last webhook
 */
export const deleteOldDeliveries = (tx: Tx, days: number, after: WalkPosition) => tx.one<{
  gone: number
  account: string | null
  id: string | null
}>`
  with hook as materialized (
    select account_id, id from webhooks where (account_id, id) > (${after.account}::uuid, ${after.id}::uuid)
    order by account_id, id limit ${rowsPerOwner}::integer
  ), gone as (
    delete from webhook_deliveries d using hook h cross join lateral (
      select o.event_id, o.state, o.created_at from webhook_deliveries o
      where o.account_id = h.account_id and o.webhook_id = h.id order by o.event_id limit ${rowsPerOwner}::integer
    ) o
    where d.account_id = h.account_id and d.webhook_id = h.id and d.event_id = o.event_id
      and o.created_at < (select app_now()) - make_interval(days => ${days}::integer)
        - case when o.state = 'pending' then interval '7 days' else interval '0' end
    returning 1
  )
  select (select count(*)::integer from gone) as gone, l.account_id as account, l.id
  from (select 1) one left join (select * from hook order by account_id desc, id desc limit 1) l on true`

/**
 * Deletes old events of the next 100 accounts, 100 of each, a week after their deliveries.
 * @returns the number deleted, and the last account
 */
export const deleteOldEvents = (tx: Tx, days: number, after: string) => tx.one<{
  gone: number
  account: string | null
}>`
  with owner as materialized (
    select id from accounts where id > ${after}::uuid order by id limit ${rowsPerOwner}::integer
  ), gone as (
    delete from events e using owner a cross join lateral (
      select o.id, o.created_at from events o where o.account_id = a.id order by o.id limit ${rowsPerOwner}::integer
    ) o
    where e.account_id = a.id and e.id = o.id
      and o.created_at < (select app_now()) - make_interval(days => ${days}::integer + 8)
    returning 1
  )
  select (select count(*)::integer from gone) as gone, (select max(id::text) from owner)::uuid as account`

/** Purges deleted webhooks that have no deliveries left. */
export const purgeWebhooks = (tx: Tx, days: number) => tx.run`
  with gone as (
    delete from webhooks w
    where w.deleted_at < (select app_now()) - make_interval(days => ${days}::integer)
      and not exists (select from webhook_deliveries d where d.account_id = w.account_id and d.webhook_id = w.id)
    returning account_id, id
  ), replays as (
    delete from webhook_replays r using gone g where r.account_id = g.account_id and r.webhook_id = g.id
  )
  delete from webhook_endpoint_leases l using gone g where l.account_id = g.account_id and l.webhook_id = g.id`
