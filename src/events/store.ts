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

/** Without a webhook: the account has events whose deliveries are made later, at its pace. */
export type Fanned = { account_id: string; webhook_id: string | null }

/**
 * Writes events, in the order given, and a delivery for each webhook that wants to hear of them at this moment: see
 * migrations/0046_quotas.sql.
 * @param isBulk their deliveries are made later, at the account's pace
 * @returns the webhooks that have something to tell
 */
export const insert = (tx: Tx, events: readonly EventRow[], isBulk: boolean) => tx.many<Fanned>`
  select account_id, webhook_id from events_record(
    ${events.map((e) => e.account)}::uuid[], ${events.map((e) => e.id)}::uuid[], ${events.map((e) => e.name)}::text[],
    ${events.map((e) => e.channel)}::uuid[], ${events.map((e) => e.conversation)}::text[],
    ${events.map((e) => e.group)}::text[], ${events.map((e) => e.previousAt)}::timestamptz[],
    ${events.map((e) => e.webhook)}::uuid[], ${events.map((e) => e.payload)}::text[], ${isBulk})`

/** An SMS channel of an account that can receive, or null. */
export const smsChannel = (db: Db, account: string) => db.maybe<{ id: string; phone_number: string }>`
  select id, phone_number from sms_channels where account_id = ${account} and enabled and supports_sms_in
  order by id limit 1`
