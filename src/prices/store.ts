import type { Sql, Tx } from '../db/sql.ts'

export type Kind = 'sms_out' | 'sms_in' | 'call_out' | 'call_in'
export type PriceRow = { kind: Kind; prefix: string; price: string; effective_at: Date }
export type NewPrice = { kind: string; prefix: string; price: string; effectiveAt: string | null }

export const all = (db: Sql) => db.many<PriceRow>`
  select kind, prefix, price, effective_at from prices order by kind, prefix, effective_at desc`

/** Prices in force for the same kind and prefix when the new ones begin, by place in the list. */
export const inForce = (db: Sql, prices: readonly NewPrice[]) => db.many<{ place: number; price: string }>`
  select g.n::integer - 1 as place, p.price
  from unnest(${prices.map((p) => p.kind)}::text[], ${prices.map((p) => p.prefix)}::text[],
    ${prices.map((p) => p.effectiveAt)}::text[]) with ordinality g (kind, prefix, at, n)
  cross join lateral (
    select price from prices p
    where p.kind = g.kind and p.prefix = g.prefix and p.effective_at <= coalesce(g.at::timestamptz, (select app_now()))
    order by p.effective_at desc limit 1) p`

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
