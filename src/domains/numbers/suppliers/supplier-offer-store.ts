import type { Db, Sql, Tx } from '../../../platform/db/sql.ts'
import type { GroupType } from '../catalogue/catalogue-rows.ts'

/** A supplier's group as sold here. */
export type SupplierOffer = {
  readonly id: string
  readonly external: string
  readonly iso: string
  readonly callingCode: string
  readonly country: string
  readonly type: GroupType
  readonly prefix: string
  readonly location: string
  readonly folded: string
  readonly regionId: number | null
  readonly cityId: number | null
  readonly setup: string
  readonly monthly: string
  readonly setupCost: string
  readonly monthlyCost: string
  readonly ppm: string
  readonly selectable: boolean
  readonly free: number
  readonly sku: string
  readonly features: readonly string[]
  readonly registration: string | null
}

export type KnownPlace = {
  readonly id: number
  readonly iso: string
  readonly folded: string
  readonly code: string | null
}

export const regions = (db: Sql, isos: readonly string[]) => db.many<KnownPlace>`
  select id, iso_country_code as iso, folded, code from number_regions
  where iso_country_code = any (${isos}::text[]) order by id`

type City = { readonly iso: string; readonly name: string; readonly folded: string; readonly regionId: number | null }

/** Returns the ids of cities by country and folded name, preferring those of the catalogue; adds unknown cities. */
export const ensureCities = async (tx: Tx, cities: readonly City[]): Promise<KnownPlace[]> => {
  const [isos, names, folded] = [cities.map((c) => c.iso), cities.map((c) => c.name), cities.map((c) => c.folded)]
  await tx.run`
    insert into number_cities (id, iso_country_code, region_id, name, folded)
    select nextval('number_city_ids'), w.iso, w.region, w.name, w.folded
    from unnest(${isos}::text[], ${cities.map((c) => c.regionId)}::integer[], ${names}::text[], ${folded}::text[])
      w (iso, region, name, folded)
    where not exists (select from number_cities c where c.iso_country_code = w.iso and c.folded = w.folded)`
  return tx.many<KnownPlace>`
    select min(c.id) as id, c.iso_country_code as iso, c.folded, null as code from number_cities c
    join (select distinct * from unnest(${isos}::text[], ${folded}::text[])) w (iso, folded)
      on c.iso_country_code = w.iso and c.folded = w.folded
    group by c.iso_country_code, c.folded`
}

/** Upserts a page of a supplier's groups with their stock. */
export const upsertOffers = async (
  tx: Tx,
  connection: string,
  offers: readonly SupplierOffer[],
  at: Date,
): Promise<void> => {
  const column = <K extends keyof SupplierOffer>(name: K) => offers.map((one): SupplierOffer[K] => one[name])
  await tx.run`
    insert into number_countries (iso_country_code, name, prefix)
    select distinct on (iso) iso, name, prefix
    from unnest(${column('iso')}::text[], ${column('country')}::text[], ${column('callingCode')}::text[])
      c (iso, name, prefix)
    on conflict (iso_country_code) do nothing`
  await tx.run`
    insert into number_groups (id, iso_country_code, type, prefix, location, region_id, city_id, folded, setup_price,
      monthly_price, ppm, allow_number_selection, is_eligible_for_free_number, needs_registration, supplier)
    select g.*, false, r.needs, ${connection} from unnest(
      ${column('id')}::text[], ${column('iso')}::text[], ${column('type')}::text[], ${column('prefix')}::text[],
      ${column('location')}::text[], ${column('regionId')}::integer[], ${column('cityId')}::integer[],
      ${column('folded')}::text[], ${column('setup')}::numeric[], ${column('monthly')}::numeric[],
      ${column('ppm')}::numeric[], ${column('selectable')}::boolean[])
      g (id, iso, type, prefix, location, region, city, folded, setup, monthly, ppm, selectable)
    join unnest(${column('id')}::text[], ${offers.map((one) => one.registration !== null)}::boolean[]) r (id, needs)
      on r.id = g.id
    on conflict (id) do update set type = excluded.type, prefix = excluded.prefix, location = excluded.location,
      region_id = excluded.region_id, city_id = excluded.city_id, folded = excluded.folded,
      setup_price = excluded.setup_price, monthly_price = excluded.monthly_price, ppm = excluded.ppm,
      allow_number_selection = excluded.allow_number_selection, needs_registration = excluded.needs_registration,
      offered = true`
  await tx.run`
    insert into supplier_groups (group_id, connection_id, external_id, sku, setup_cost, monthly_cost, features,
      registration, seen_at)
    select g.id, ${connection}, g.external, g.sku, g.setup, g.monthly, string_to_array(g.features, ','), g.registration,
      ${at}
    from unnest(
      ${column('id')}::text[], ${column('external')}::text[], ${column('sku')}::text[], ${column('setupCost')}::numeric[],
      ${column('monthlyCost')}::numeric[], ${offers.map((one) => one.features.join(','))}::text[],
      ${column('registration')}::text[]) g (id, external, sku, setup, monthly, features, registration)
    on conflict (group_id) do update set external_id = excluded.external_id, sku = excluded.sku,
      setup_cost = excluded.setup_cost, monthly_cost = excluded.monthly_cost, features = excluded.features,
      registration = excluded.registration, seen_at = excluded.seen_at`
  await tx.run`
    insert into number_stock (group_id, free)
    select * from unnest(${column('id')}::text[], ${column('free')}::bigint[])
    on conflict (group_id) do update set free = excluded.free`
}

/** Withdraws groups of a supplier that were not seen since then; their sold numbers stay. */
export const withdrawOffers = (tx: Tx, connection: string, before: Date | null) => tx.run`
  update number_groups g set offered = false
  from supplier_groups s
  where s.group_id = g.id and g.offered and s.connection_id = ${connection}
    and (${before}::timestamptz is null or s.seen_at < ${before}::timestamptz)`

/** Records the result of the last catalogue sync of a supplier. */
export const recordSync = (tx: Tx, connection: string, error: string | null) => tx.run`
  insert into suppliers (connection_id, synced_at, error)
  values (${connection}, case when ${error}::text is null then app_now() end, ${error})
  on conflict (connection_id) do update
    set error = excluded.error, synced_at = coalesce(excluded.synced_at, suppliers.synced_at)`

export type SupplierRow = { connection_id: string; synced_at: Date | null; error: string | null }

export const syncStates = (db: Db) => db.many<SupplierRow>`select connection_id, synced_at, error from suppliers`

export const forgetSync = (tx: Tx, connection: string) =>
  tx.run`delete from suppliers where connection_id = ${connection}`

export type SuppliedGroup = {
  group_id: string
  connection_id: string
  external_id: string
  sku: string
  selectable: boolean
}

/** Returns a supplier's group; null for an own group and for one that is not offered. */
export const supplierGroup = (db: Sql, group: string) => db.maybe<SuppliedGroup>`
  select s.group_id, s.connection_id, s.external_id, s.sku, g.allow_number_selection as selectable
  from supplier_groups s join number_groups g on g.id = s.group_id and g.offered
  where s.group_id = ${group}`

/** Returns a supplier's group by the supplier's own id. */
export const supplierGroupByExternalId = (db: Sql, connection: string, external: string) => db.maybe<SuppliedGroup>`
  select s.group_id, s.connection_id, s.external_id, s.sku, g.allow_number_selection as selectable
  from supplier_groups s join number_groups g on g.id = s.group_id and g.offered
  where s.connection_id = ${connection} and s.external_id = ${external}`
