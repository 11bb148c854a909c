import type { Sql, Tx } from '../../platform/db/sql.ts'

export type Kind = 'sms_out' | 'sms_in' | 'call_out' | 'call_in'
export type PriceRow = { kind: Kind; prefix: string; price: string; effective_at: Date }
export type NewPrice = { kind: string; prefix: string; price: string; effectiveAt: string | null }

export const all = (db: Sql) => db.many<PriceRow>`
  select kind, prefix, price, effective_at from prices order by kind, prefix, effective_at desc`

type Search = { kind: Kind | null; prefix: string | null }

/** @param limit null: all prices */
export const list = (db: Sql, { kind, prefix }: Search, limit: number | null, offset: number) => db.many<PriceRow>`
  select kind, prefix, price, effective_at from prices
  where (${kind}::text is null or kind = ${kind}) and (${prefix}::text is null or prefix = ${prefix})
  order by kind, prefix, effective_at desc limit ${limit} offset ${offset}`

export const count = async (db: Sql, { kind, prefix }: Search): Promise<number> =>
  (
    await db.one<{ count: number }>`
      select count(*)::integer as count from prices
      where (${kind}::text is null or kind = ${kind}) and (${prefix}::text is null or prefix = ${prefix})`
  ).count

/** Returns the prices in force when the new ones begin, for the same kind and prefix, by index in the list. */
export const inForce = (db: Sql, prices: readonly NewPrice[]) => db.many<{ place: number; price: string }>`
  select g.n::integer - 1 as place, p.price
  from unnest(${prices.map((p) => p.kind)}::text[], ${prices.map((p) => p.prefix)}::text[],
    ${prices.map((p) => p.effectiveAt)}::text[]) with ordinality g (kind, prefix, at, n)
  cross join lateral (
    select price from prices p
    where p.kind = g.kind and p.prefix = g.prefix and p.effective_at <= coalesce(g.at::timestamptz, (select app_now()))
    order by p.effective_at desc limit 1) p`

/** Locks and returns the prices of a kind and prefix, newest first; if `at` is given, only those of that second,
 *  because lists show whole seconds. */
export const ofPrefix = (tx: Tx, kind: Kind, prefix: string, at: string | null) => tx.many<PriceRow & { at: string }>`
  select kind, prefix, price, effective_at, effective_at::text as at from prices
  where kind = ${kind} and prefix = ${prefix}
    and (${at}::timestamptz is null
      or date_trunc('second', effective_at) = date_trunc('second', ${at}::timestamptz))
  order by effective_at desc for update`

export const remove = (tx: Tx, { kind, prefix, at }: { kind: Kind; prefix: string; at: string }) => tx.run`
  delete from prices where kind = ${kind} and prefix = ${prefix} and effective_at = ${at}::timestamptz`

/** Sets prices. The last one counts if several have the same kind, prefix and date. */
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
