import type { Tx } from '../db/sql.ts'

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
