import type { Sql } from '../../platform/db/sql.ts'
import type { GroupType } from './catalogue/catalogue-rows.ts'
import type { CityQuery } from './catalogue/city-query.ts'
import type { Feature } from './catalogue/features.ts'

/** Groups offered to an account: sandbox accounts also see the sandbox's. */
export type OfferScope = 'real' | 'sandbox'

export type CountryRow = { iso_country_code: string; name: string; prefix: string; types: GroupType[] }

/** Returns the countries of groups that a supplier stocks. */
export const countries = (db: Sql, offered: OfferScope) => db.many<CountryRow>`
  select c.iso_country_code, c.name, c.prefix, array_agg(distinct g.type order by g.type) as types
  from number_countries c
  join number_groups g on g.iso_country_code = c.iso_country_code and g.offered
    and (g.supplier <> 'sandbox' or ${offered === 'sandbox'})
  join number_stock s on s.group_id = g.id
  group by c.iso_country_code order by c.name`

export const country = (db: Sql, iso: string) => db.maybe<Omit<CountryRow, 'types'>>`
  select iso_country_code, name, prefix from number_countries where iso_country_code = ${iso}`

export type PlaceRow = { id: number; name: string; iso_country_code: string }

export const regions = (db: Sql, iso: string) => db.many<PlaceRow>`
  select id, name, iso_country_code from number_regions where iso_country_code = ${iso} order by folded`

/** Returns the cities of groups that a supplier stocks; a region includes the cities of its parts. */
export const cities = (db: Sql, iso: string, region: number | null, offered: OfferScope) => db.many<PlaceRow>`
  select c.id, c.name, c.iso_country_code from number_cities c
  where c.iso_country_code = ${iso}
    and (${region}::integer is null or c.region_id in (
      select r.id from number_regions r where r.id = ${region}::integer or r.parent_id = ${region}::integer))
    and exists (
      select from number_groups g join number_stock s on s.group_id = g.id
      where g.iso_country_code = c.iso_country_code and g.city_id = c.id and g.offered
        and (g.supplier <> 'sandbox' or ${offered === 'sandbox'}))
  order by c.folded, c.id`

export type RequirementRow = {
  id: number
  type: GroupType
  kind: 'identity' | 'address' | 'proof'
  description: string
  documents: string[]
  source: string
  source_date: string
}

export const requirements = (db: Sql, iso: string, type: GroupType | null) => db.many<RequirementRow>`
  select id, type, kind, description, documents, source, source_date::text as source_date from number_requirements
  where iso_country_code = ${iso} and (${type}::text is null or type = ${type}) order by type, id`

export type GroupRow = {
  id: string
  iso_country_code: string
  type: GroupType
  prefix: string
  location: string
  region_name: string | null
  setup_price: string
  monthly_price: string
  ppm: string
  /** Null: the default of the country. */
  features: Feature[] | null
  allow_number_selection: boolean
  is_eligible_for_free_number: boolean
  free: number
  needs_registration: boolean
}

/** A group with the time zone of its place. `supplier`: `sandbox`, `own`, or a connection. */
export type PlacedGroup = GroupRow & { timezone: string; supplier: string }

/** Returns whether the sandbox sells the numbers of a group. */
export const isOfSandbox = async (sql: Sql, id: string): Promise<boolean> =>
  (await sql.maybe`select 1 from number_groups where id = ${id} and supplier = 'sandbox'`) !== null

/** @param offered `all` also finds groups that are no longer offered */
export const group = (db: Sql, id: string, offered: OfferScope | 'all') => db.maybe<PlacedGroup>`
  select g.id, g.iso_country_code, g.type, g.prefix, g.location,
    -- The location of a group of our own may be a name that the operator gave it.
    case when g.supplier = 'own' then coalesce(r.name, ci.name, c.name) else r.name end as region_name,
    p.setup_price, p.monthly_price, p.ppm, g.features, g.allow_number_selection, g.is_eligible_for_free_number, s.free,
    coalesce(g.needs_registration, exists (
      select from number_requirements q where q.iso_country_code = g.iso_country_code and q.type = g.type))
      as needs_registration,
    coalesce(g.timezone, c.timezone, 'UTC') as timezone, g.supplier
  from number_groups g
  join number_group_prices p on p.id = g.id
  join number_stock s on s.group_id = g.id
  left join number_regions r on r.id = g.region_id
  left join number_cities ci on ci.id = g.city_id
  left join number_countries c on c.iso_country_code = g.iso_country_code
  where g.id = ${id} and (${offered === 'all'} or g.offered and (g.supplier <> 'sandbox' or ${offered === 'sandbox'}))`

export type Search = {
  iso: string
  region: number | null
  city: number | null
  type: GroupType | null
  id: string | null
  cityQuery: CityQuery | null
  limit: number | null
  /** Groups before the page. */
  skip: number
  offered: OfferScope
}

/**
 * Returns matching groups, exact names first, and their total. The cost is that of the country's groups, however many
 * numbers there are.
 */
export const groups = (db: Sql, { iso, region, city, type, id, cityQuery, limit, skip, offered }: Search) => {
  const name = cityQuery && 'name' in cityQuery ? cityQuery.name : null
  const prefixes = cityQuery && 'prefixes' in cityQuery ? cityQuery.prefixes : null
  return db.many<GroupRow & { total: number }>`
    select * from (
    select g.id, g.iso_country_code, g.type, g.prefix, g.location, r.name as region_name, c.setup_price, c.monthly_price,
      c.ppm, g.features, g.allow_number_selection, g.is_eligible_for_free_number, s.free, coalesce(g.needs_registration, true) as needs_registration,
      count(*) over () as total,
      row_number() over (order by (g.folded = ${name}) desc nulls last, g.type, g.location, g.prefix, g.id) as place
    from number_groups g
    join number_group_prices c on c.id = g.id
    join number_stock s on s.group_id = g.id
    left join number_regions r on r.id = g.region_id
    where g.iso_country_code = ${iso} and g.offered and (g.supplier <> 'sandbox' or ${offered === 'sandbox'})
      and (${type}::text is null or g.type = ${type})
      and (${id}::text is null or g.id = ${id})
      and (${region}::integer is null or g.region_id in (
        select p.id from number_regions p where p.id = ${region}::integer or p.parent_id = ${region}::integer)
        or ${type === 'tollfree'} and g.region_id is null and exists (
          select from number_regions p where p.id = ${region}::integer and p.iso_country_code = ${iso}))
      and (${city}::integer is null or g.city_id = ${city}::integer
        or ${type === 'tollfree'} and g.city_id is null and exists (
          select from number_cities p where p.id = ${city}::integer and p.iso_country_code = ${iso}))
      and (${name}::text is null or ' ' || g.folded like '% ' || ${name} || '%')
      and (${prefixes}::text[] is null or exists (
        select from unnest(${prefixes}::text[]) p
        where ltrim(g.prefix, '0') like p || '%' or p like ltrim(g.prefix, '0') || '%'))
    ) found where place > ${skip} order by place limit ${limit}::bigint`
}

export type CityWithNumbers = PlaceRow & { region_id: number | null; same_region: boolean; free: number }

/**
 * Returns cities of a country that have free numbers of a type. Cities of the searched region, or of the region of the
 * searched city, come first; then those with the most numbers.
 */
export const citiesWithNumbers = (db: Sql, { iso, region, city, type, cityQuery, offered }: Search, limit: number) => {
  const name = cityQuery && 'name' in cityQuery ? cityQuery.name : null
  return db.many<CityWithNumbers>`
    with near as materialized (
      select id from number_regions where id = ${region}::integer or parent_id = ${region}::integer
      union
      select region_id from number_cities
      where iso_country_code = ${iso} and region_id is not null
        and (id = ${city}::integer or starts_with(folded, ${name}::text))
    )
    select c.id, c.name, c.iso_country_code, c.region_id,
      coalesce(c.region_id in (select id from near), false) as same_region, sum(s.free)::bigint as free
    from number_groups g
    join number_stock s on s.group_id = g.id
    join number_cities c on c.id = g.city_id
    where g.iso_country_code = ${iso} and g.offered and (g.supplier <> 'sandbox' or ${offered === 'sandbox'})
      and (${type}::text is null or g.type = ${type}) and s.free > 0
    group by c.id
    order by same_region desc, sum(s.free) desc, c.id limit ${limit}`
}
