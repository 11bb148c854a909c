import type { Sql, Tx } from '../db/sql.ts'

export type ChannelKind = 'SMS' | 'DID' | 'WPN'

export type WebhookRow = {
  account_id: string
  id: string
  event: string
  event_name: string
  msgapp_name: string | null
  channel_kind: ChannelKind | null
  channel_id: string | null
  hook_url: string
  to_group: string | null
  time_period: string | null
  enabled: boolean
  disabled_reason: 'paused' | 'gone' | 'failing' | null
  sealed_secret: Buffer
  previous_until: Date | null
  created_at: Date
}

export type NewWebhook = Pick<
  WebhookRow,
  'event' | 'event_name' | 'msgapp_name' | 'channel_kind' | 'channel_id' | 'hook_url' | 'to_group' | 'time_period'
> & { account: string; id: string; match: string | null; quietSeconds: number | null; sealedSecret: Buffer }

/** The webhook and its lane; null when the same subscription is there already. */
export const add = (tx: Tx, w: NewWebhook) => tx.maybe<WebhookRow>`
  with made as (
    insert into webhooks (account_id, id, event, event_name, msgapp_name, channel_kind, channel_id, match_id, hook_url,
      to_group, time_period, quiet_seconds, sealed_secret, created_at, updated_at)
    select ${w.account}, ${w.id}, ${w.event}, ${w.event_name}, ${w.msgapp_name}, ${w.channel_kind}, ${w.channel_id},
      ${w.match}, ${w.hook_url}, ${w.to_group}, ${w.time_period}, ${w.quietSeconds}::integer, ${w.sealedSecret},
      (select app_now()), (select app_now())
    on conflict do nothing
    returning *
  ), lane as (
    insert into webhook_lanes (account_id, webhook_id) select account_id, id from made
  )
  select * from made`

/** The subscription that is there already, locked. */
export const same = (tx: Tx, w: NewWebhook) => tx.maybe<WebhookRow>`
  select * from webhooks
  where account_id = ${w.account} and event_name = ${w.event_name} and md5(hook_url) = md5(${w.hook_url})
    and msgapp_name is not distinct from ${w.msgapp_name} and channel_id is not distinct from ${w.channel_id}::uuid
    and to_group is not distinct from ${w.to_group} and time_period is not distinct from ${w.time_period}
    and deleted_at is null
  for update`

/** The enabled webhooks of an account, of the disabled ones a tenth; each account has few enough to be counted. */
export const countUsed = async (sql: Sql, account: string): Promise<number> =>
  (
    await sql.one<{ used: number }>`
      select (count(*) filter (where enabled) + count(*) filter (where not enabled) / 10)::integer as used
      from webhooks where account_id = ${account} and deleted_at is null`
  ).used

export const list = (sql: Sql, account: string) => sql.many<WebhookRow>`
  select * from webhooks where account_id = ${account} and enabled and deleted_at is null order by created_at, id`

export const ofChannel = (sql: Sql, account: string, kind: ChannelKind, channel: string) => sql.many<WebhookRow>`
  select * from webhooks
  where account_id = ${account} and channel_kind = ${kind} and channel_id = ${channel} and enabled and deleted_at is null
  order by created_at, id`

export type Condition = { failures: number; failing_since: Date | null; succeeded_at: Date | null }

export const one = (sql: Sql, account: string, id: string) => sql.maybe<WebhookRow & Condition>`
  select w.*, l.failures, l.failing_since, l.succeeded_at
  from webhooks w join webhook_lanes l on l.account_id = w.account_id and l.webhook_id = w.id
  where w.account_id = ${account} and w.id = ${id} and w.deleted_at is null`

/** Changes address and state. Whichever of them changes, its receiver starts with a clean slate. */
export const change = async (
  tx: Tx,
  account: string,
  id: string,
  { url, enabled }: { url: string | null; enabled: boolean | null },
) => {
  const row = await tx.maybe<WebhookRow>`
    update webhooks set
      hook_url = coalesce(${url}, hook_url),
      enabled = coalesce(${enabled}, enabled),
      disabled_reason = case ${enabled}::boolean when true then null when false then coalesce(disabled_reason, 'paused')
        else disabled_reason end,
      updated_at = (select app_now())
    where account_id = ${account} and id = ${id} and deleted_at is null
    returning *`
  if (row && (url !== null || enabled === true))
    await tx.run`
      update webhook_lanes set failures = 0, failing_since = null, hold_until = null,
        succeeded_at = case when ${url}::text is null then succeeded_at end
      where account_id = ${account} and webhook_id = ${id}`
  return row
}

export const remove = (tx: Tx, account: string, id: string) => tx.run`
  update webhooks set enabled = false, disabled_reason = coalesce(disabled_reason, 'paused'),
    deleted_at = (select app_now()), updated_at = (select app_now())
  where account_id = ${account} and id = ${id} and deleted_at is null`

/** The secret so far goes on signing for a day. */
export const rotate = (tx: Tx, account: string, id: string, sealed: Buffer) => tx.maybe<{ previous_until: Date }>`
  update webhooks set sealed_previous_secret = sealed_secret, previous_until = (select app_now()) + interval '24 hours',
    sealed_secret = ${sealed}, updated_at = (select app_now())
  where account_id = ${account} and id = ${id} and deleted_at is null
  returning previous_until`

export type Troubled = WebhookRow & Condition & { pending: number }

/** The webhooks of all accounts that are disabled or fail. */
export const troubled = (sql: Sql) => sql.many<Troubled>`
  select w.*, l.failures, l.failing_since, l.succeeded_at, (
    select count(*)::integer from (
      select from webhook_deliveries d
      where d.account_id = w.account_id and d.webhook_id = w.id and d.state = 'pending' limit 10000) p) as pending
  from webhooks w join webhook_lanes l on l.account_id = w.account_id and l.webhook_id = w.id
  where w.deleted_at is null and (l.failures > 0 or not w.enabled)
  order by l.failing_since nulls last, w.created_at limit 200`

export type Totals = {
  enabled: number
  failing: number
  disabled: number
  pending: number
  oldest_seconds: number
  backlog: number
}

/** How things stand with all webhooks. Counts what is pending: ask at most every few seconds. */
export const totals = (sql: Sql) => sql.one<Totals>`
  select w.*, d.pending, d.oldest_seconds, b.backlog from (
    select count(*) filter (where w.enabled)::integer as enabled,
      count(*) filter (where w.enabled and l.failures > 0)::integer as failing,
      count(*) filter (where not w.enabled)::integer as disabled
    from webhooks w join webhook_lanes l on l.account_id = w.account_id and l.webhook_id = w.id
    where w.deleted_at is null
  ) w, (
    select count(*)::integer as pending,
      greatest(0, coalesce(extract(epoch from (select app_now()) - min(created_at)), 0))::double precision as oldest_seconds
    from webhook_deliveries where state = 'pending'
  ) d, (
    select count(*)::integer as backlog from (select from event_backlog limit 100000) e
  ) b`
