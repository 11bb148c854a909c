import type { Sql, Tx } from '../db/sql.ts'

// SQL of what webhooks were told: to look at it, to tell it again, to forget it.

export type Attempt = {
  at: string
  response_status?: number
  latency_ms: number
  response_excerpt?: string
  error?: string
}

export type LogRow = {
  webhook_id: string
  event_id: string
  state: 'pending' | 'delivered' | 'failed'
  next_at: Date | null
  attempts: Attempt[]
  created_at: Date
  body: string
}

/** Written out, so that those of a state are found in its index, however few among however many they are. */
const inState = {
  any: '',
  pending: "and d.state = 'pending'",
  failed: "and d.state = 'failed'",
  delivered: "and d.state = 'delivered'",
} as const

/** @param page.before an event's id: only what is older */
export const page = (
  sql: Sql,
  account: string,
  webhook: string,
  { state, before, limit }: { state: keyof typeof inState; before: string | null; limit: number },
) =>
  sql.raw<LogRow>(
    `select d.webhook_id, d.event_id, d.state, d.next_at, d.attempts, d.created_at, e.payload::text as body
    from webhook_deliveries d join events e on e.account_id = d.account_id and e.id = d.event_id
    where d.account_id = $1 and d.webhook_id = $2 and d.event_id < $3 ${inState[state]}
    order by d.event_id desc limit $4`,
    [account, webhook, before ?? 'ffffffff-ffff-ffff-ffff-ffffffffffff', limit],
  )

/** Makes a delivery pending again, from the start of its schedule. What was told of it stays. */
export const again = (tx: Tx, account: string, webhook: string, event: string) => tx.maybe<LogRow>`
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
  /** The last event of the page before. */
  after: string
}

/** Looks at the next events of an account and makes those due again that belong to the replay. @returns the last one that
 *  was looked at; null when there are no more */
export const replay = (tx: Tx, r: Replay, limit: number) => tx.one<{ last: string | null }>`
  with page as materialized (
    select * from events where account_id = ${r.account} and id > ${r.after} order by id limit ${limit}
  ), told as (
    insert into webhook_deliveries (account_id, webhook_id, event_id, conversation, next_at, created_at)
    select e.account_id, w.id, e.id, e.conversation, e.created_at, e.created_at
    from page e join webhooks w on w.account_id = e.account_id and w.id = ${r.webhook} and w.event = e.name
    where w.enabled and w.deleted_at is null and e.webhook_id is null
      and e.created_at >= ${r.since}::timestamptz and e.created_at < ${r.until}::timestamptz
      and (w.match_id is null or w.match_id = e.channel_id)
      and (w.to_group is null or w.to_group = e.payload ->> 'group_uuid')
      and (e.name <> 'msgapp.conversation.new' or e.payload ->> 'previous_message_at' is null
        or (e.payload ->> 'previous_message_at')::timestamptz <= e.created_at - make_interval(secs => w.quiet_seconds))
    on conflict (account_id, webhook_id, event_id) do update
      set state = 'pending', tries = 0, next_at = excluded.next_at
      where webhook_deliveries.state = 'failed' or (${r.all} and webhook_deliveries.state = 'delivered')
  )
  select (select id from page where created_at < ${r.until}::timestamptz order by id desc limit 1) as last`

const each = 100

/** Where a walk over all webhooks, or all accounts, has come to. */
export type Place = { account: string; id: string }

/** Forgets old deliveries of the next 100 webhooks, 100 of each. Those that are pending stay a week longer.
 *  @returns how many went, and the last webhook */
export const forgetDeliveries = (tx: Tx, days: number, after: Place) => tx.one<{
  gone: number
  account: string | null
  id: string | null
}>`
  with hook as materialized (
    select account_id, id from webhooks where (account_id, id) > (${after.account}::uuid, ${after.id}::uuid)
    order by account_id, id limit ${each}::integer
  ), gone as (
    delete from webhook_deliveries d using hook h cross join lateral (
      select o.event_id, o.state, o.created_at from webhook_deliveries o
      where o.account_id = h.account_id and o.webhook_id = h.id order by o.event_id limit ${each}::integer
    ) o
    where d.account_id = h.account_id and d.webhook_id = h.id and d.event_id = o.event_id
      and o.created_at < (select app_now()) - make_interval(days => ${days}::integer)
        - case when o.state = 'pending' then interval '7 days' else interval '0' end
    returning 1
  )
  select (select count(*)::integer from gone) as gone, l.account_id as account, l.id
  from (select 1) one left join (select * from hook order by account_id desc, id desc limit 1) l on true`

/** Forgets old events of the next 100 accounts, 100 of each: a week after the deliveries, which send them.
 *  @returns how many went, and the last account */
export const forgetEvents = (tx: Tx, days: number, after: string) => tx.one<{ gone: number; account: string | null }>`
  with owner as materialized (
    select id from accounts where id > ${after}::uuid order by id limit ${each}::integer
  ), gone as (
    delete from events e using owner a cross join lateral (
      select o.id, o.created_at from events o where o.account_id = a.id order by o.id limit ${each}::integer
    ) o
    where e.account_id = a.id and e.id = o.id
      and o.created_at < (select app_now()) - make_interval(days => ${days}::integer + 8)
    returning 1
  )
  select (select count(*)::integer from gone) as gone, (select max(id::text) from owner)::uuid as account`

/** Forgets webhooks that were deleted and of which nothing else is left. */
export const forgetWebhooks = (tx: Tx, days: number) => tx.run`
  with gone as (
    delete from webhooks w
    where w.deleted_at < (select app_now()) - make_interval(days => ${days}::integer)
      and not exists (select from webhook_deliveries d where d.account_id = w.account_id and d.webhook_id = w.id)
    returning account_id, id
  )
  delete from webhook_lanes l using gone g where l.account_id = g.account_id and l.webhook_id = g.id`
