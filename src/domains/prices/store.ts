import { makeConditions } from '../../platform/db/conditions.ts'
import { countRows, exactTime, type ListPage, maxPagedRows } from '../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'

export type Kind = 'sms_out' | 'sms_in' | 'call_out' | 'call_in' | 'mms_out'
export type PriceRow = { kind: Kind; prefix: string; price: string; effective_at: Date }
export type NewPrice = { kind: string; prefix: string; price: string; effectiveAt: string | null }

export const all = (db: Sql) => db.many<PriceRow>`
  select kind, prefix, price, effective_at from prices order by kind, prefix, effective_at desc`

type Search = { kind: Kind | null; prefix: string | null }

const kinds: readonly Kind[] = ['call_in', 'call_out', 'mms_out', 'sms_in', 'sms_out']

const searchFilter = ({ kind, prefix }: Search) => {
  const conditions = makeConditions()
  // All kinds are named, so that a prefix alone is found by the primary key too.
  if (kind !== null || prefix !== null) conditions.add('kind = any(?::text[])', kind === null ? kinds : [kind])
  conditions.add('prefix = ?', prefix)
  return conditions
}

/** Key of a price. The newest price of a prefix is first: the directions differ, so the key is compared in parts. */
export type PriceKey = { kind: string; prefix: string; at: string }

/** Returns a page of prices. */
export const page = (db: Sql, search: Search, key: PriceKey | null, { skip, limit }: ListPage) => {
  const conditions = searchFilter(search)
  if (key) {
    const [kind, prefix, at] = [conditions.bind(key.kind), conditions.bind(key.prefix), conditions.bind(key.at)]
    conditions.push(`(kind, prefix) >= (${kind}, ${prefix})
      and not (kind = ${kind} and prefix = ${prefix} and effective_at >= ${at}::timestamptz)`)
  }
  // A page by number is read from the start: prices are few, and numbers reach 10,000 of them.
  return db.raw<PriceRow & { at: string }>(
    `select kind, prefix, price, effective_at, ${exactTime('effective_at')} as at from (
       select *, row_number() over (order by kind, prefix, effective_at desc) as place
       from prices ${conditions.text} order by kind, prefix, effective_at desc limit ${limit === null ? null : skip + limit}) p
     where place > ${skip} order by kind, prefix, effective_at desc`,
    conditions.values,
  )
}

export const count = (db: Sql, search: Search): Promise<number> => {
  const { text, values } = searchFilter(search)
  return countRows(db, {
    text: `select count(*)::integer as total from (select from prices ${text} limit ${maxPagedRows + 1}) counted`,
    values,
  })
}

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
