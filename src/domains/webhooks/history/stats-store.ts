import type { Sql, Tx } from '../../../platform/db/sql.ts'

// SQL of the statistics: attempts of a webhook by hour.

export type HourOfWebhook = {
  readonly account: string
  readonly webhook: string
  /** Unix milliseconds. */
  readonly hour: number
  delivered: number
  failed: number
  readonly latencies: number[]
}

/** Adds counts to those stored. Rows are written in one order, so that two processes do not deadlock. */
export const add = (sql: Pick<Sql, 'run'>, hours: readonly HourOfWebhook[]) => {
  const all = hours.toSorted((one, other) => (`${one.webhook} ${one.hour}` < `${other.webhook} ${other.hour}` ? -1 : 1))
  return sql.run`
    insert into webhook_stats as s (account_id, webhook_id, hour, delivered, failed, latencies)
    select account_id, webhook_id, hour, delivered, failed, latencies::integer[] from unnest(
      ${all.map((h) => h.account)}::uuid[], ${all.map((h) => h.webhook)}::uuid[],
      ${all.map((h) => new Date(h.hour))}::timestamptz[], ${all.map((h) => h.delivered)}::integer[],
      ${all.map((h) => h.failed)}::integer[], ${all.map((h) => `{${h.latencies.join(',')}}`)}::text[]
    ) h (account_id, webhook_id, hour, delivered, failed, latencies)
    on conflict (account_id, webhook_id, hour) do update set
      delivered = s.delivered + excluded.delivered, failed = s.failed + excluded.failed,
      latencies = (select array_agg(coalesce(a, 0) + coalesce(b, 0) order by n)
        from unnest(s.latencies, excluded.latencies) with ordinality l (a, b, n))`
}

export type StatsRow = { hour: Date; delivered: number; failed: number; latencies: number[] }

/** Hours of these webhooks, oldest first. At most `maxMergedWebhooks` webhooks and 366 days. */
export const find = (
  sql: Sql,
  account: string,
  webhooks: readonly string[],
  { since, until }: { since: Date; until: Date },
) => sql.many<StatsRow>`
  select hour, delivered, failed, latencies from webhook_stats
  where account_id = ${account} and webhook_id = any(${webhooks}::uuid[]) and hour >= ${since} and hour < ${until}
  order by hour`

/** Deletes rows older than these days. @returns how many */
export const deleteOld = (tx: Tx, days: number, limit: number) => tx.run`
  delete from webhook_stats where (account_id, webhook_id, hour) in (
    select account_id, webhook_id, hour from webhook_stats
    where hour < (select app_now()) - make_interval(days => ${days}::integer) order by hour limit ${limit}::integer)`
