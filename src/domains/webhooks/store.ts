import type { Sql, Tx } from '../../platform/db/sql.ts'
import { maxCountedRows, maxFailingShown, maxOldestChecked } from './limits.ts'

export type ChannelKind = 'SMS' | 'DID' | 'WPN'

export type WebhookRow = {
  account_id: string
  id: string
  event: string
  event_name: string
  msgapp_name: string | null
  channel_kind: ChannelKind | null
  channel_id: string | null
  /** The channel that events carry: the SMS channel for SMS events, the virtual number for call events. */
  match_id: string | null
  hook_url: string
  to_group: string | null
  time_period: string | null
  enabled: boolean
  disabled_reason: 'paused' | 'gone' | 'failing' | null
  /** Kept when the webhook is enabled again. */
  disabled_at: Date | null
  sealed_secret: Buffer
  sealed_previous_secret: Buffer | null
  previous_until: Date | null
  /** Headers that its calls send (request-headers.ts); null: none. */
  sealed_headers: Buffer | null
  header_names: readonly string[]
  created_at: Date
}

/** Headers that the calls of a webhook send. */
export type SealedHeaders = { sealed: Buffer; names: readonly string[] }

/** Signing secret, and the previous one during a rotation. */
export type SealedSecret = { sealed: Buffer; sealedPrevious: Buffer | null; previousUntil: Date | null }

export type NewWebhook = Pick<
  WebhookRow,
  'event' | 'event_name' | 'msgapp_name' | 'channel_kind' | 'channel_id' | 'hook_url' | 'to_group' | 'time_period'
> & {
  account: string
  id: string
  match: string | null
  quietSeconds: number | null
  secret: SealedSecret
  headers: SealedHeaders | null
}

/** Adds the webhook and its lease row; null if the same subscription exists. */
export const add = (tx: Tx, w: NewWebhook) => tx.maybe<WebhookRow>`
  with made as (
    insert into webhooks (account_id, id, event, event_name, msgapp_name, channel_kind, channel_id, match_id, hook_url,
      to_group, time_period, quiet_seconds, sealed_secret, sealed_previous_secret, previous_until, sealed_headers, header_names,
      created_at, updated_at)
    select ${w.account}, ${w.id}, ${w.event}, ${w.event_name}, ${w.msgapp_name}, ${w.channel_kind}, ${w.channel_id},
      ${w.match}, ${w.hook_url}, ${w.to_group}, ${w.time_period}, ${w.quietSeconds}::integer, ${w.secret.sealed},
      ${w.secret.sealedPrevious}, ${w.secret.previousUntil}, ${w.headers?.sealed ?? null},
      ${w.headers?.names ?? []}::text[], (select app_now()), (select app_now())
    on conflict do nothing
    returning *
  ), lane as (
    insert into webhook_endpoint_leases (account_id, webhook_id) select account_id, id from made
  )
  select * from made`

/** Returns the existing same subscription, locked. */
export const findSame = (tx: Tx, w: NewWebhook) => tx.maybe<WebhookRow>`
  select * from webhooks
  where account_id = ${w.account} and event_name = ${w.event_name} and md5(hook_url) = md5(${w.hook_url})
    and msgapp_name is not distinct from ${w.msgapp_name} and channel_id is not distinct from ${w.channel_id}::uuid
    and to_group is not distinct from ${w.to_group} and time_period is not distinct from ${w.time_period}
    and deleted_at is null
  for update`

/** Channels and groups of an event's enabled webhooks, newest first. */
export const listening = (sql: Sql, account: string, event: string) => sql.many<{
  match_id: string | null
  to_group: string | null
}>`
  select match_id, to_group from webhooks
  where account_id = ${account} and event = ${event} and enabled and deleted_at is null order by id desc limit 100`

/** Counts enabled webhooks, and a tenth of the disabled ones. An account has few enough to count. */
export const countUsed = async (sql: Sql, account: string): Promise<number> =>
  (
    await sql.one<{ used: number }>`
      select (count(*) filter (where enabled) + count(*) filter (where not enabled) / 10)::integer as used
      from webhooks where account_id = ${account} and deleted_at is null`
  ).used

/** @param enabled null: any */
export const list = (sql: Sql, account: string, enabled: boolean | null) => sql.many<WebhookRow & HealthRow>`
  select w.*, l.failures, l.failing_since, l.succeeded_at
  from webhooks w join webhook_endpoint_leases l on l.account_id = w.account_id and l.webhook_id = w.id
  where w.account_id = ${account} and w.deleted_at is null and (${enabled}::boolean is null or w.enabled = ${enabled})
  order by w.created_at, w.id`

/** Locks a webhook. */
export const lock = (tx: Tx, account: string, id: string) => tx.many<WebhookRow>`
  select * from webhooks where account_id = ${account} and id = ${id} and deleted_at is null for update`

/** Locks the webhooks with this address, in lock order (docs/locks.md). */
export const lockByAddress = (tx: Tx, account: string, url: string) => tx.many<WebhookRow>`
  select * from webhooks where account_id = ${account} and hook_url = ${url} and deleted_at is null
  order by id for update`

/** Webhooks with this address, newest first. @param event null: any */
export const listByAddress = (
  sql: Sql,
  account: string,
  url: string,
  { event, limit }: { event: string | null; limit: number },
) => sql.many<WebhookRow>`
  select * from webhooks
  where account_id = ${account} and hook_url = ${url} and deleted_at is null
    and (${event}::text is null or event = ${event})
  order by id desc limit ${limit}`

export const listByChannel = (sql: Sql, account: string, kind: ChannelKind, channel: string) => sql.many<WebhookRow>`
  select * from webhooks
  where account_id = ${account} and channel_kind = ${kind} and channel_id = ${channel} and enabled and deleted_at is null
  order by created_at, id`

export type HealthRow = { failures: number; failing_since: Date | null; succeeded_at: Date | null }

export const find = (sql: Sql, account: string, id: string) => sql.maybe<WebhookRow & HealthRow>`
  select w.*, l.failures, l.failing_since, l.succeeded_at
  from webhooks w join webhook_endpoint_leases l on l.account_id = w.account_id and l.webhook_id = w.id
  where w.account_id = ${account} and w.id = ${id} and w.deleted_at is null`

/**
 * Changes address, state and headers. A change resets the receiver's health.
 * @param change.headers null removes them; absent: unchanged
 */
export const change = async (
  tx: Tx,
  account: string,
  id: string,
  { url, enabled, headers }: { url: string | null; enabled: boolean | null; headers?: SealedHeaders | null },
) => {
  const setsHeaders = headers !== undefined
  const row = await tx.maybe<WebhookRow>`
    update webhooks set
      hook_url = coalesce(${url}, hook_url),
      sealed_headers = case when ${setsHeaders} then ${headers?.sealed ?? null}::bytea else sealed_headers end,
      header_names = case when ${setsHeaders} then ${headers?.names ?? []}::text[] else header_names end,
      enabled = coalesce(${enabled}, enabled),
      disabled_reason = case ${enabled}::boolean when true then null when false then coalesce(disabled_reason, 'paused')
        else disabled_reason end,
      disabled_at = case when ${enabled} = false and enabled then (select app_now()) else disabled_at end,
      updated_at = (select app_now())
    where account_id = ${account} and id = ${id} and deleted_at is null
    returning *`
  if (row && (url !== null || enabled === true || setsHeaders))
    await tx.run`
      update webhook_endpoint_leases set failures = 0, failing_since = null, hold_until = null,
        succeeded_at = case when ${url}::text is null then succeeded_at end
      where account_id = ${account} and webhook_id = ${id}`
  return row
}

/** @returns how many were enabled */
export const disableAll = (tx: Tx, account: string) => tx.run`
  update webhooks set enabled = false, disabled_reason = 'paused', disabled_at = (select app_now()),
    updated_at = (select app_now())
  where account_id = ${account} and enabled and deleted_at is null`

export const remove = (tx: Tx, account: string, id: string) => tx.run`
  update webhooks set enabled = false, disabled_reason = coalesce(disabled_reason, 'paused'),
    deleted_at = (select app_now()), updated_at = (select app_now())
  where account_id = ${account} and id = ${id} and deleted_at is null`

/** Deletes the webhooks that share the address and channel of these, but are for other events. @returns them */
export const removeOthers = (tx: Tx, account: string, remaining: readonly WebhookRow[]) => tx.many<WebhookRow>`
  update webhooks set enabled = false, disabled_reason = coalesce(disabled_reason, 'paused'),
    deleted_at = (select app_now()), updated_at = (select app_now())
  where account_id = ${account} and hook_url = ${remaining[0]?.hook_url ?? ''} and deleted_at is null
    and (channel_id is null or channel_id = any(${remaining.flatMap((w) => w.channel_id ?? [])}::uuid[]))
    and id <> all(${remaining.map((w) => w.id)}::uuid[])
  returning *`

/** Replaces the secret. The previous one also signs for a day. */
export const rotateSecret = (tx: Tx, account: string, id: string, sealed: Buffer) => tx.maybe<{ previous_until: Date }>`
  update webhooks set sealed_previous_secret = sealed_secret, previous_until = (select app_now()) + interval '24 hours',
    sealed_secret = ${sealed}, updated_at = (select app_now())
  where account_id = ${account} and id = ${id} and deleted_at is null
  returning previous_until`

export type FailingWebhookRow = WebhookRow & HealthRow & { pending: number }

/** Disabled and failing webhooks of all accounts: the failing ones first. */
export const findFailing = (sql: Sql) => sql.many<FailingWebhookRow>`
  select w.*, l.failures, l.failing_since, l.succeeded_at, (
    select count(*)::integer from (
      select from webhook_deliveries d
      where d.account_id = w.account_id and d.webhook_id = w.id and d.state = 'pending' limit 10000) p) as pending
  from (
    (select account_id, webhook_id as id from webhook_endpoint_leases where failures > 0
     order by failing_since, account_id, webhook_id limit ${maxFailingShown}::integer)
    union
    (select account_id, id from webhooks where not enabled and deleted_at is null
     order by created_at, account_id, id limit ${maxFailingShown}::integer)
  ) u
  join webhooks w on w.account_id = u.account_id and w.id = u.id
  join webhook_endpoint_leases l on l.account_id = w.account_id and l.webhook_id = w.id
  where w.deleted_at is null
  order by l.failing_since nulls last, w.created_at limit ${maxFailingShown}::integer`

export type Totals = {
  enabled: number
  failing: number
  disabled: number
  pending: number
  oldest_seconds: number
  backlog: number
}

/**
 * Totals over all webhooks: each counts up to 100,000 rows of a partial index. The oldest pending delivery is that of
 * each webhook in turn, because the index leads with the webhook.
 */
export const totals = (sql: Sql) => sql.one<Totals>`
  with recursive first as (
    (select account_id, webhook_id, created_at from webhook_deliveries where state = 'pending'
     order by account_id, webhook_id, event_id limit 1)
    union all
    select d.account_id, d.webhook_id, d.created_at from first f cross join lateral (
      select account_id, webhook_id, created_at from webhook_deliveries
      where state = 'pending' and (account_id, webhook_id) > (f.account_id, f.webhook_id)
      order by account_id, webhook_id, event_id limit 1) d
  )
  select
    (select count(*)::integer from (
      select from webhooks where enabled and deleted_at is null order by account_id, event limit ${maxCountedRows}::integer) e
    ) as enabled,
    (select count(*)::integer from (
      select w.id from webhook_endpoint_leases l cross join lateral (
        select id from webhooks
        where account_id = l.account_id and id = l.webhook_id and enabled and deleted_at is null limit 1) w
      where l.failures > 0 order by l.failing_since limit ${maxCountedRows}::integer) f) as failing,
    (select count(*)::integer from (
      select from webhooks where not enabled and deleted_at is null order by created_at limit ${maxCountedRows}::integer) d
    ) as disabled,
    (select count(*)::integer from (
      select from webhook_deliveries where state = 'pending'
      order by account_id, webhook_id, event_id limit ${maxCountedRows}::integer) p) as pending,
    greatest(0, coalesce(extract(epoch from (select app_now()) - (
      select min(created_at) from (select created_at from first limit ${maxOldestChecked}::integer) o)), 0))::double precision
      as oldest_seconds,
    (select count(*)::integer from (select from event_backlog limit ${maxCountedRows}::integer) b) as backlog`
