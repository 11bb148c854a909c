import { joinJson, type Sql, type Tx } from '../../platform/db/sql.ts'

export type EventRow = {
  account: string
  id: string
  name: string
  channel: string | null
  conversation: string | null
  /** Group by which subscribers may filter. */
  group: string | null
  previousAt: string | null
  /** Webhook of a test event; null for all other events. */
  webhook: string | null
  /** JSON. */
  payload: string
}

/** `webhook_id` is null for an account whose deliveries are made later, at its fan-out rate. */
export type FanOutRow = { account_id: string; webhook_id: string | null }

/**
 * Inserts events in the given order, with a delivery for each current subscriber: see migrations/baseline/08_webhooks.sql.
 * @param isBulk true if deliveries are made later, at the account's fan-out rate
 * @returns the webhooks with deliveries
 */
export const insert = (tx: Tx, events: readonly EventRow[], isBulk: boolean) => tx.many<FanOutRow>`
  select account_id, webhook_id from events_record(
    ${events.map((e) => e.account)}::uuid[], ${events.map((e) => e.id)}::uuid[], ${events.map((e) => e.name)}::text[],
    ${events.map((e) => e.channel)}::uuid[], ${events.map((e) => e.conversation)}::text[],
    ${events.map((e) => e.group)}::text[], ${events.map((e) => e.previousAt)}::timestamptz[],
    ${events.map((e) => e.webhook)}::uuid[], string_to_array(${joinJson(events.map((e) => e.payload))}, chr(31)),
    ${isBulk})`

/** Number of events of an account that `newest` searches. */
const searchedEvents = 10_000

/**
 * Returns the newest event of a name as JSON, if its subject still exists. Test events of webhooks are skipped.
 * @param channel null: any
 * @param group printed id; null: any or none
 */
export const newest = async (
  sql: Sql,
  account: string,
  { name, channel, group }: { name: string; channel: string | null; group: string | null },
): Promise<string | null> =>
  (
    await sql.maybe<{ payload: string }>`
      select e.payload::text as payload from (
        select id, name, channel_id, webhook_id, payload from events where account_id = ${account}
        order by id desc limit ${searchedEvents}
      ) e
      cross join lateral (
        select e.payload ->> 'uuid' as printed, e.payload -> 'contact' ->> 'uuid' as contact) p
      where e.name = ${name} and e.webhook_id is null and e.payload ->> 'test' is null
        and (${channel}::uuid is null or e.channel_id = ${channel})
        and (${group}::text is null or e.payload ->> 'group_uuid' = ${group})
        and (e.channel_id is null or exists (
          select from virtual_numbers where account_id = ${account} and id = e.channel_id and released_at is null
          union all select from sms_channels where account_id = ${account} and id = e.channel_id
          union all
          select from msgapp_channels where account_id = ${account} and id = e.channel_id and deleted_at is null))
        and (p.contact is null or exists (
          select from contacts where account_id = ${account} and 'CON' || id = p.contact))
        and case left(p.printed, 3)
          when 'SMI' then exists (
            select from sms_messages where account_id = ${account} and id = substr(p.printed, 4)::uuid)
          when 'SMO' then exists (
            select from sms_messages where account_id = ${account} and id = substr(p.printed, 4)::uuid)
          when 'MSG' then exists (
            select from msgapp_messages where account_id = ${account} and id = substr(p.printed, 4)::uuid)
          when 'CDR' then exists (select from calls where account_id = ${account} and id = substr(p.printed, 4)::uuid)
          when 'CON' then exists (select from contacts where account_id = ${account} and id = substr(p.printed, 4)::uuid)
          when 'CHK' then exists (
            select from msgapp_batches where account_id = ${account} and id = substr(p.printed, 4)::uuid)
          when 'CNV' then exists (
            select from conversations where account_id = ${account} and id = substr(p.printed, 4)::uuid)
          when 'DID' then exists (
            select from virtual_numbers
            where account_id = ${account} and id = substr(p.printed, 4)::uuid and released_at is null)
          else true
        end
      order by e.id desc limit 1`
  )?.payload ?? null
