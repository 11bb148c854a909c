import type { Db, Tx } from '../db/sql.ts'

export type EventRow = {
  account: string
  id: string
  name: string
  channel: string | null
  conversation: string | null
  payload: { [key: string]: unknown }
}

export const insert = (tx: Tx, events: readonly EventRow[]) => tx.run`
  insert into events (account_id, id, name, channel_id, conversation, payload, created_at)
  select e.account_id, e.id, e.name, e.channel_id, e.conversation, e.payload::jsonb, (select app_now())
  from unnest(
    ${events.map((e) => e.account)}::uuid[], ${events.map((e) => e.id)}::uuid[], ${events.map((e) => e.name)}::text[],
    ${events.map((e) => e.channel)}::uuid[], ${events.map((e) => e.conversation)}::text[],
    ${events.map((e) => JSON.stringify(e.payload))}::text[]
  ) e (account_id, id, name, channel_id, conversation, payload)`

/** An SMS channel of an account that can receive, or null. */
export const smsChannel = (db: Db, account: string) => db.maybe<{ id: string; phone_number: string }>`
  select id, phone_number from sms_channels where account_id = ${account} and enabled and supports_sms_in
  order by id limit 1`
