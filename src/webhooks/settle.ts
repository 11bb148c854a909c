import type { Tx } from '../db/sql.ts'
import { inOrder, type LaneKey } from './lanes.ts'

/** What became of a delivery. `called`: tried out of turn, on behalf of others; its schedule stays. */
export type Change = LaneKey & {
  readonly event: string
  readonly what: 'delivered' | 'failed' | 'again' | 'called' | 'parked'
  /** Until the next try, of `again` and `parked`. */
  readonly seconds: number | null
  /** Of `parked`: the event behind which it waits, where that was written down before. */
  readonly head?: string
  /** The call as JSON, but for its time, which the database knows best; null when there was none. */
  readonly attempt: string | null
}

/** How a receiver is doing now. */
export type Health = LaneKey & {
  /** Which one: of a webhook that has another address by now it says nothing. */
  readonly url: string
  readonly failures: number
  readonly succeeded: boolean
  /** Seconds for which nothing is tried; of a receiver that is down, unless a retry is due before. */
  readonly hold: number | null
  readonly isDown: boolean
}

/**
 * Writes down what became of deliveries. What a process does whose lease was lost changes nothing.
 * @param isLasting false: not waited for until it is on the disk, which cost 100 µs of CPU; a database that crashes within half
 *   a second may forget it, and then the events are delivered once more
 */
export const deliveries = (
  tx: Pick<Tx, 'run'>,
  worker: string,
  changes: readonly Change[],
  isLasting: boolean,
) => tx.run`
  select case when not ${isLasting} then set_config('synchronous_commit', 'off', true) end, webhooks_settle(${worker},
    ${changes.map((c) => c.account)}::uuid[], ${changes.map((c) => c.webhook)}::uuid[],
    ${changes.map((c) => c.event)}::uuid[], ${changes.map((c) => c.what)}::text[],
    ${changes.map((c) => c.seconds)}::double precision[], ${changes.map((c) => c.attempt)}::text[],
    ${changes.map((c) => c.head ?? null)}::uuid[])`

export const healths = (tx: Tx, worker: string, given: readonly Health[]) => {
  const all = inOrder(given)
  return tx.run`
  update webhook_lanes l set
    failures = g.failures,
    failing_since = case when g.failures > 0 then coalesce(l.failing_since, t.now) end,
    succeeded_at = case when g.succeeded then t.now else l.succeeded_at end,
    hold_until = case when g.is_down then least(t.now + make_interval(secs => g.hold), (
        select min(next_at) from webhook_deliveries d
        where d.account_id = g.account_id and d.webhook_id = g.webhook_id and d.state = 'pending' and d.tries > 0))
      else t.now + make_interval(secs => g.hold) end
  from (select app_now() as now offset 0) t, unnest(
    ${all.map((h) => h.account)}::uuid[], ${all.map((h) => h.webhook)}::uuid[], ${all.map((h) => h.failures)}::integer[],
    ${all.map((h) => h.succeeded)}::boolean[], ${all.map((h) => h.hold)}::double precision[],
    ${all.map((h) => h.isDown)}::boolean[], ${all.map((h) => h.url)}::text[]
  ) g (account_id, webhook_id, failures, succeeded, hold, is_down, url)
  join webhooks w on w.account_id = g.account_id and w.id = g.webhook_id and w.hook_url = g.url
  where l.account_id = g.account_id and l.webhook_id = g.webhook_id and l.owner = ${worker}`
}

/** A receiver that takes calls again: what waits for its next try is due in its old order. Says it who has the lane no more,
 *  nothing changes. @param conversation null: all */
export const recover = (tx: Tx, worker: string, { account, webhook }: LaneKey, conversation: string | null) => tx.run`
  update webhook_deliveries set next_at = created_at
  where account_id = ${account} and webhook_id = ${webhook} and state = 'pending' and next_at > created_at
    and (${conversation}::text is null or conversation = ${conversation})
    and exists (select from webhook_lanes l
      where l.account_id = ${account} and l.webhook_id = ${webhook} and l.owner = ${worker})`

/** Disables a webhook that was enabled, unless it has another address by now. @returns how many: 0 or 1 */
export const disable = (tx: Tx, { account, webhook }: LaneKey, url: string, reason: 'gone' | 'failing') => tx.run`
  update webhooks set enabled = false, disabled_reason = ${reason}, updated_at = (select app_now())
  where account_id = ${account} and id = ${webhook} and enabled and deleted_at is null and hook_url = ${url}`
