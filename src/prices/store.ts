import type { Sql, Tx } from '../db/sql.ts'

export type Kind = 'sms_out' | 'sms_in' | 'call_out' | 'call_in'
export type PriceRow = { kind: Kind; prefix: string; price: string; effective_at: Date }
export type NewPrice = { kind: string; prefix: string; price: string; effectiveAt: string | null }

export const all = (db: Sql) => db.many<PriceRow>`
  select kind, prefix, price, effective_at from prices order by kind, prefix, effective_at desc`

/** Sets prices; of several for the same kind, prefix and date the last one counts. */
export const set = (tx: Tx, prices: readonly NewPrice[]) => tx.run`
  insert into prices (kind, prefix, price, effective_at)
  select distinct on (kind, prefix, at) kind, prefix, price::numeric, at from (
    select kind, prefix, price, coalesce(at::timestamptz, app_now()) as at, n
    from unnest(${prices.map((p) => p.kind)}::text[], ${prices.map((p) => p.prefix)}::text[],
      ${prices.map((p) => p.price)}::text[], ${prices.map((p) => p.effectiveAt)}::text[])
      with ordinality as given (kind, prefix, price, at, n)
  ) as dated
  order by kind, prefix, at, n desc
  on conflict (kind, prefix, effective_at) do update set price = excluded.price`
