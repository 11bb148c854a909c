import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { GroupType } from '../catalogue/catalogue-rows.ts'

export type StoredPriceRow = {
  iso_country_code: string
  type: GroupType
  prefix: string
  group_id: string
  setup_price: string
  monthly_price: string
  ppm: string
  effective_at: Date
}

export type PriceAmounts = { setup: string; monthly: string; ppm: string }

export type NewPrice = PriceAmounts & {
  iso: string
  type: string
  prefix: string
  group: string
  effectiveAt: string | null
}

export const all = (db: Sql) => db.many<StoredPriceRow>`
  select iso_country_code, type, prefix, group_id, setup_price, monthly_price, ppm, effective_at
  from number_prices order by iso_country_code, type, group_id, prefix, effective_at desc`

/** Returns the indexes of prices whose country or group is unknown, or whose group is of another kind. */
export const unknownTargets = (tx: Tx, prices: readonly NewPrice[]) => tx.many<{
  place: number
  what: 'country' | 'group'
}>`
  select p.place::integer - 1 as place,
    case when c.iso_country_code is null then 'country' else 'group' end as what
  from unnest(${prices.map((p) => p.iso)}::text[], ${prices.map((p) => p.type)}::text[],
    ${prices.map((p) => p.group)}::text[]) with ordinality p (iso, type, group_id, place)
  left join number_countries c on c.iso_country_code = p.iso
  left join number_groups g on g.id = p.group_id and g.iso_country_code = p.iso and g.type = p.type
  where c.iso_country_code is null or (p.group_id <> '' and g.id is null)
  order by p.place`

/** Returns the prices in force for the same numbers when the new ones begin, by index in the list. */
export const inForce = (tx: Tx, prices: readonly NewPrice[]) => tx.many<PriceAmounts & { place: number }>`
  select g.n::integer - 1 as place, p.setup_price as setup, p.monthly_price as monthly, p.ppm
  from unnest(${prices.map((p) => p.iso)}::text[], ${prices.map((p) => p.type)}::text[],
    ${prices.map((p) => p.prefix)}::text[], ${prices.map((p) => p.group)}::text[],
    ${prices.map((p) => p.effectiveAt)}::text[]) with ordinality g (iso, type, prefix, group_id, at, n)
  cross join lateral (
    select * from number_prices p
    where p.iso_country_code = g.iso and p.type = g.type and p.prefix = g.prefix and p.group_id = g.group_id
      and p.effective_at <= coalesce(g.at::timestamptz, (select app_now()))
    order by p.effective_at desc limit 1) p`

/** Sets prices; of several for the same numbers and date the last one counts. */
export const set = (tx: Tx, prices: readonly NewPrice[]) => tx.run`
  insert into number_prices (iso_country_code, type, prefix, group_id, setup_price, monthly_price, ppm, effective_at)
  select distinct on (iso, type, prefix, group_id, at) iso, type, prefix, group_id, setup, monthly, ppm, at from (
    select p.iso, p.type, p.prefix, p.group_id, p.setup, p.monthly, p.ppm, p.n,
      coalesce(p.at::timestamptz, app_now()) as at
    from unnest(${prices.map((p) => p.iso)}::text[], ${prices.map((p) => p.type)}::text[],
      ${prices.map((p) => p.prefix)}::text[], ${prices.map((p) => p.group)}::text[],
      ${prices.map((p) => p.setup)}::numeric[], ${prices.map((p) => p.monthly)}::numeric[],
      ${prices.map((p) => p.ppm)}::numeric[], ${prices.map((p) => p.effectiveAt)}::text[])
      with ordinality p (iso, type, prefix, group_id, setup, monthly, ppm, at, n)
  ) as dated
  order by iso, type, prefix, group_id, at, n desc
  on conflict (iso_country_code, type, prefix, group_id, effective_at) do update set
    setup_price = excluded.setup_price, monthly_price = excluded.monthly_price, ppm = excluded.ppm`
