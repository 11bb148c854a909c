import type { Db, Tx } from '../db/sql.ts'

export type EventRow = {
  account: string
  id: string
  name: string
  channel: string | null
  conversation: string | null
  /** What subscribers may have asked to hear of alone. */
  group: string | null
  previousAt: string | null
  /** Of an event made for one webhook. */
  webhook: string | null
  /** JSON. */
  payload: string
}

export type Fanned = { account_id: string; webhook_id: string }

/**
 * Writes events, in the order given, and a delivery for each webhook that wants to hear of them at this moment.
 * @returns the webhooks that have something to tell
 */
export const insert = (tx: Tx, events: readonly EventRow[]) => tx.many<Fanned>`
  with given as materialized (
    select *, (select app_now()) as now from unnest(
      ${events.map((e) => e.account)}::uuid[], ${events.map((e) => e.id)}::uuid[], ${events.map((e) => e.name)}::text[],
      ${events.map((e) => e.channel)}::uuid[], ${events.map((e) => e.conversation)}::text[],
      ${events.map((e) => e.group)}::text[], ${events.map((e) => e.previousAt)}::timestamptz[],
      ${events.map((e) => e.webhook)}::uuid[], ${events.map((e) => e.payload)}::text[]
    ) g (account_id, id, name, channel_id, conversation, to_group, previous_at, webhook_id, payload)
  ), event as (
    insert into events (account_id, id, name, channel_id, conversation, payload, webhook_id, created_at)
    select account_id, id, name, channel_id, conversation, payload::json, webhook_id, now from given
  ), delivery as (
    insert into webhook_deliveries (account_id, webhook_id, event_id, conversation, next_at, created_at)
    select g.account_id, w.id, g.id, g.conversation, g.now, g.now
    from given g join webhooks w on w.account_id = g.account_id and w.event = g.name and w.enabled and w.deleted_at is null
    where (w.match_id is null or w.match_id = g.channel_id or g.webhook_id is not null)
      and (g.webhook_id is null or g.webhook_id = w.id)
      and (w.to_group is null or w.to_group = g.to_group or g.webhook_id is not null)
      and (g.name <> 'msgapp.conversation.new' or g.previous_at is null
        or g.previous_at <= g.now - make_interval(secs => w.quiet_seconds))
    returning account_id, webhook_id
  )
  select distinct account_id, webhook_id from delivery`

/** An SMS channel of an account that can receive, or null. */
export const smsChannel = (db: Db, account: string) => db.maybe<{ id: string; phone_number: string }>`
  select id, phone_number from sms_channels where account_id = ${account} and enabled and supports_sms_in
  order by id limit 1`
