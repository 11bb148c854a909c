import type { Tx } from '../../../platform/db/sql.ts'
import { type EndpointKey, inLockOrder } from './endpoint-lease-store.ts'

/** A delivery that waits is due this long after its head, so that both load in their order. */
export const afterHeadSeconds = 0.01

/** New state of a delivery. `called`: attempted out of turn on behalf of others; its schedule stays. */
export type DeliveryChange = EndpointKey & {
  readonly event: string
  readonly what: 'delivered' | 'failed' | 'again' | 'called' | 'parked'
  /** Seconds until the next attempt, for `again` and `parked`. */
  readonly seconds: number | null
  /** For `parked`: the event that the delivery waits for. `seconds` counts if there is none. */
  readonly head?: string
  /** The attempt as JSON without its time, which the database adds; null if there was none. */
  readonly attempt: string | null
}

/** Health of a receiver. */
export type EndpointHealth = EndpointKey & {
  /** The receiver's address and headers. If the webhook has others by now, this report is ignored. */
  readonly url: string
  readonly sealedHeaders: Buffer | null
  readonly failures: number
  readonly succeeded: boolean
  /** Seconds without attempts. A receiver that is down is also retried when a delivery's own retry is due before. */
  readonly hold: number | null
  readonly isDown: boolean
}

/**
 * Places deliveries behind heads whose failure is stored by the same statement. The statement reads the schedule of
 * other heads, and would read the old one of these.
 */
const placeBehindHeads = (changes: readonly DeliveryChange[]): readonly DeliveryChange[] => {
  if (changes.every(({ head }) => head === undefined)) return changes
  const keyOf = (webhook: string, event: string) => `${webhook} ${event}`
  const retries = new Map(
    changes.flatMap(({ what, webhook, event, seconds }) =>
      what === 'again' && seconds !== null ? [[keyOf(webhook, event), seconds] as const] : [],
    ),
  )
  return changes.map(({ head, ...change }) => {
    if (head === undefined) return change
    const retry = retries.get(keyOf(change.webhook, head))
    return retry === undefined ? { ...change, head } : { ...change, seconds: retry + afterHeadSeconds }
  })
}

/**
 * Stores the results of deliveries. Results from a process whose lease is lost are ignored.
 * @param isLasting false: does not wait for the disk, which cost 100 µs of CPU. A database crash within half a second
 * may lose the results; those events are then delivered again.
 */
export const storeResults = (
  tx: Pick<Tx, 'run'>,
  ownerId: string,
  results: readonly DeliveryChange[],
  isLasting: boolean,
) => {
  const changes = placeBehindHeads(results)
  return tx.run`
  select case when not ${isLasting} then set_config('synchronous_commit', 'off', true) end, webhooks_record_attempts(${ownerId},
    ${changes.map((c) => c.account)}::uuid[], ${changes.map((c) => c.webhook)}::uuid[],
    ${changes.map((c) => c.event)}::uuid[], ${changes.map((c) => c.what)}::text[],
    ${changes.map((c) => c.seconds)}::double precision[], ${changes.map((c) => c.attempt)}::text[],
    ${changes.map((c) => c.head ?? null)}::uuid[])`
}

export const storeHealth = (tx: Tx, ownerId: string, unordered: readonly EndpointHealth[]) => {
  const all = inLockOrder(unordered)
  return tx.run`
  update webhook_endpoint_leases l set
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
    ${all.map((h) => h.isDown)}::boolean[], ${all.map((h) => h.url)}::text[],
    ${all.map((h) => h.sealedHeaders)}::bytea[]
  ) g (account_id, webhook_id, failures, succeeded, hold, is_down, url, sealed_headers)
  join webhooks w on w.account_id = g.account_id and w.id = g.webhook_id and w.hook_url = g.url
    and w.sealed_headers is not distinct from g.sealed_headers
  where l.account_id = g.account_id and l.webhook_id = g.webhook_id and l.owner = ${ownerId}`
}

/**
 * Makes waiting retries of a recovered receiver due in their original order. No-op if the process no longer holds the
 * lease.
 * @param conversation null: all
 */
export const recover = (
  tx: Tx,
  ownerId: string,
  { account, webhook }: EndpointKey,
  conversation: string | null,
) => tx.run`
  update webhook_deliveries set next_at = created_at
  where account_id = ${account} and webhook_id = ${webhook} and state = 'pending' and next_at > created_at
    and (${conversation}::text is null or conversation = ${conversation})
    and exists (select from webhook_endpoint_leases l
      where l.account_id = ${account} and l.webhook_id = ${webhook} and l.owner = ${ownerId})`

/**
 * Disables an enabled webhook, unless its address has changed.
 * @returns how many: 0 or 1
 */
export const disable = (tx: Tx, { account, webhook }: EndpointKey, url: string, reason: 'gone' | 'failing') => tx.run`
  update webhooks set enabled = false, disabled_reason = ${reason}, disabled_at = (select app_now()),
    updated_at = (select app_now())
  where account_id = ${account} and id = ${webhook} and enabled and deleted_at is null and hook_url = ${url}`
