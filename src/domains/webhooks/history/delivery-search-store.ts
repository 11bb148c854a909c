import type { Sql } from '../../../platform/db/sql.ts'
import { greatestId } from '../../../platform/lib/id.ts'
import type { DeliveryLogRow } from '../delivery/delivery-log-store.ts'
import { maxExaminedDeliveries } from '../limits.ts'

// SQL that searches deliveries. Each webhook's are read along the key of the table, newest first.

/** Position in a list of deliveries. An event may have two deliveries to one address. */
export type DeliveryPosition = { readonly event: string; readonly webhook: string }

export type DeliveryFilter = {
  readonly state: 'any' | 'pending' | 'failed' | 'delivered'
  readonly since: Date | null
  readonly until: Date | null
  /** Ids between which all events of `since` to `until` are. */
  readonly firstId: string | null
  readonly lastId: string | null
  /** Properties of one attempt: both apply to the same one. */
  readonly status: number | null
  readonly minLatency: number | null
}

/** Literal SQL, so that the planner uses the state's partial index even for rare states. */
const inState = {
  any: '',
  pending: "and d.state = 'pending'",
  failed: "and d.state = 'failed'",
  delivered: "and d.state = 'delivered'",
} as const

const firstUuid = '00000000-0000-0000-0000-000000000000'

type FoundRow = DeliveryLogRow & { examined: number; last_event: string | null; last_webhook: string | null }

export type DeliveryPage = {
  readonly rows: readonly DeliveryLogRow[]
  /** Where the next page begins; null after the last one. */
  readonly next: DeliveryPosition | null
}

/**
 * Returns a page of the deliveries of these webhooks, newest first. The bounded number of rows that are examined for a
 * filter without an index may leave a page short.
 */
export const search = async (
  sql: Sql,
  account: string,
  webhooks: readonly string[],
  filter: DeliveryFilter,
  { before, limit }: { before: DeliveryPosition | null; limit: number },
): Promise<DeliveryPage> => {
  const { state, since, until, firstId, lastId, status, minLatency } = filter
  const isPlain = [since, until, status, minLatency].every((one) => one === null)
  const examined = isPlain ? limit + 1 : Math.max(limit + 1, Math.floor(maxExaminedDeliveries / webhooks.length))
  const found = await sql.raw<FoundRow>(
    `with examined as materialized (
      select d.* from unnest($2::uuid[]) w (id) cross join lateral (
        select d.webhook_id, d.event_id, d.state, d.next_at, d.attempts, d.created_at from webhook_deliveries d
        where d.account_id = $1 and d.webhook_id = w.id and d.event_id > $5::uuid and d.event_id <= least($3::uuid, $6::uuid)
          and (d.event_id, d.webhook_id) < ($3::uuid, $4::uuid) ${inState[state]}
        order by d.event_id desc limit $7) d
      order by d.event_id desc, d.webhook_id desc limit $7
    ), found as (
      select d.* from examined d
      where ($8::timestamptz is null or d.created_at >= $8) and ($9::timestamptz is null or d.created_at < $9)
        and (($10::integer is null and $11::integer is null) or exists (
          select from jsonb_array_elements(d.attempts) a
          where ($10::integer is null or (a ->> 'response_status')::integer = $10)
            and ($11::integer is null or (a ->> 'latency_ms')::integer >= $11)))
      order by d.event_id desc, d.webhook_id desc limit $12
    )
    select f.*, e.payload::text as body, x.examined, l.event_id as last_event, l.webhook_id as last_webhook
    from (select count(*)::integer as examined from examined) x
    left join lateral (select event_id, webhook_id from examined order by event_id, webhook_id limit 1) l on true
    left join (found f join events e on e.account_id = $1 and e.id = f.event_id) on true
    order by f.event_id desc, f.webhook_id desc`,
    [
      account,
      webhooks,
      before?.event ?? greatestId,
      before?.webhook ?? greatestId,
      firstId ?? firstUuid,
      lastId ?? greatestId,
      examined,
      since,
      until,
      status,
      minLatency,
      limit + 1,
    ],
  )
  const all = found.filter(({ event_id }) => event_id !== null)
  const rows = all.slice(0, limit)
  const last = rows.at(-1)
  if (all.length > limit && last) return { rows, next: { event: last.event_id, webhook: last.webhook_id } }
  const [
    { examined: read, last_event: event, last_webhook: webhook } = {
      examined: 0,
      last_event: null,
      last_webhook: null,
    },
  ] = found
  return { rows, next: read >= examined && event && webhook ? { event, webhook } : null }
}

/** Returns one delivery. */
export const findDelivery = (sql: Sql, account: string, webhook: string, event: string) => sql.maybe<DeliveryLogRow>`
  select d.webhook_id, d.event_id, d.state, d.next_at, d.attempts, d.created_at, e.payload::text as body
  from webhook_deliveries d join events e on e.account_id = d.account_id and e.id = d.event_id
  where d.account_id = ${account} and d.webhook_id = ${webhook} and d.event_id = ${event}`
