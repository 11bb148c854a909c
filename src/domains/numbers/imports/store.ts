import type { Db, Sql, Tx } from '../../../platform/db/sql.ts'
import type { ImportError } from '../../../platform/lib/import-errors.ts'
import { abandonedAfterMinutes, clearBatchSize } from '../limits.ts'
import type { ImportGroup } from './import-groups.ts'
import type { ImportLine } from './import-reader.ts'
import type { PlaceRows } from './place-index.ts'

export type State = 'reading' | 'importing' | 'done' | 'refused' | 'failed'

export type ImportRow = {
  id: string
  state: State
  dry_run: boolean
  lines: number
  bad_lines: number
  imported: number
  groups: number
  faults: ImportError[]
  created_at: Date
  finished_at: Date | null
  is_over: boolean
}

export const begin = (db: Sql, id: string, dryRun: boolean) => db.run`
  insert into number_imports (id, dry_run) values (${id}, ${dryRun})`

type Progress = { lines: number; bad: number; imported: number; groups: number }

export const progress = (db: Sql, id: string, state: State, { lines, bad, imported, groups }: Progress) => db.run`
  update number_imports set state = ${state}, lines = ${lines}, bad_lines = ${bad}, imported = ${imported},
    groups = ${groups}, touched_at = clock_timestamp()
  where id = ${id}`

export const finish = (db: Sql, id: string, state: State, at: Progress, faults: readonly ImportError[]) => db.run`
  update number_imports set state = ${state}, lines = ${at.lines}, bad_lines = ${at.bad}, imported = ${at.imported},
    groups = ${at.groups}, faults = ${JSON.stringify(faults)}::jsonb, touched_at = clock_timestamp(),
    finished_at = app_now()
  where id = ${id}`

export const find = (db: Sql, id: string) => db.maybe<ImportRow>`
  select id, state, dry_run, lines, bad_lines, imported, groups, faults, created_at, finished_at,
    touched_at < clock_timestamp() - make_interval(mins => ${abandonedAfterMinutes}) as is_over
  from number_imports where id = ${id}`

export const latestImports = (db: Sql) => db.many<ImportRow>`
  select id, state, dry_run, lines, bad_lines, imported, groups, '[]'::jsonb as faults, created_at, finished_at,
    touched_at < clock_timestamp() - make_interval(mins => ${abandonedAfterMinutes}) as is_over
  from number_imports order by id desc limit 50`

export const places = async (db: Sql): Promise<PlaceRows> => ({
  countries: await db.many`select iso_country_code, name from number_countries`,
  regions: await db.many`select id, iso_country_code, code, name, parent_id from number_regions order by id`,
  cities: await db.many`select id, iso_country_code, region_id, name, folded from number_cities order by id`,
})

/** Stages lines whose number is neither in the inventory nor earlier in the file. @returns the remaining lines */
export const stageLines = (db: Sql, id: string, entries: readonly ImportLine[]) => db.many<{
  line: number
  is_known: boolean
}>`
  with given as (
    select * from unnest(
      ${entries.map((e) => e.line)}::integer[], ${entries.map((e) => e.number)}::text[],
      ${entries.map((e) => e.group.no)}::integer[]) g (line, number, group_no)
  ), known as materialized (
    select g.line from given g join numbers n on n.number = g.number
  ), staged as (
    insert into number_import_lines (import_id, number, line, group_no)
    select ${id}, g.number, g.line, g.group_no from given g where g.line not in (select line from known)
    on conflict (import_id, number) do nothing
    returning line
  )
  select g.line, g.line in (select line from known) as is_known
  from given g where g.line not in (select line from staged)`

/** Returns the first line of each number. */
export const firstLines = (db: Sql, id: string, numbers: readonly string[]) => db.many<{
  number: string
  line: number
}>`
  select number, line from number_import_lines where import_id = ${id} and number = any(${numbers}::text[])`

/**
 * Returns those groups without a price in the file that have one already: the group exists, or a price covers its kind.
 */
export const groupsWithPrice = (db: Sql, groups: readonly ImportGroup[]) => db.many<{ id: string }>`
  select w.id from unnest(
    ${groups.map((g) => g.id)}::text[], ${groups.map((g) => g.iso)}::text[], ${groups.map((g) => g.type)}::text[],
    ${groups.map((g) => prefixOf(g))}::text[]
  ) w (id, iso, type, prefix)
  where exists (select from number_groups g where g.id = w.id) or exists (
    select from number_prices p
    where p.iso_country_code = w.iso and p.type = w.type and p.group_id = '' and starts_with(w.prefix, p.prefix)
      and p.effective_at <= (select app_now()))`

const prefixOf = ({ code, start }: ImportGroup): string => (start ?? code).slice(code.length)

/** Inserts the groups. An existing group changes only its common beginning; a price in the file is set. */
export const addGroups = async (tx: Tx, groups: readonly ImportGroup[]): Promise<void> => {
  await tx.run`
    insert into number_groups (id, iso_country_code, type, prefix, location, region_id, city_id, folded, features,
      setup_price, monthly_price, ppm, allow_number_selection, is_eligible_for_free_number, supplier, timezone)
    select w.id, w.iso, w.type, w.prefix, w.location, w.region, w.city, w.folded, string_to_array(w.features, ' '),
      coalesce(w.setup, 0), coalesce(w.monthly, 0), coalesce(w.ppm, 0), true, false, 'own',
      (select g.timezone from number_groups g
       where g.iso_country_code = w.iso and g.timezone is not null and (g.city_id = w.city or g.region_id = w.region)
       order by (g.city_id = w.city) desc nulls last limit 1)
    from unnest(
      ${groups.map((g) => g.id)}::text[], ${groups.map((g) => g.iso)}::text[], ${groups.map((g) => g.type)}::text[],
      ${groups.map(prefixOf)}::text[], ${groups.map((g) => g.location)}::text[],
      ${groups.map((g) => g.region)}::integer[], ${groups.map((g) => g.city)}::integer[],
      ${groups.map((g) => g.folded)}::text[], ${groups.map((g) => g.features?.join(' ') ?? null)}::text[],
      ${groups.map((g) => g.price?.setup ?? null)}::numeric[],
      ${groups.map((g) => g.price?.monthly ?? null)}::numeric[], ${groups.map((g) => g.price?.ppm ?? null)}::numeric[]
    ) w (id, iso, type, prefix, location, region, city, folded, features, setup, monthly, ppm)
    order by w.id
    on conflict (id) do update set offered = true,
      prefix = case when starts_with(excluded.prefix, number_groups.prefix) then number_groups.prefix
        when starts_with(number_groups.prefix, excluded.prefix) then excluded.prefix else '' end`
  const dear = groups.filter(({ price }) => price !== null)
  await tx.run`
    insert into number_prices (iso_country_code, type, group_id, setup_price, monthly_price, ppm)
    select * from unnest(
      ${dear.map((g) => g.iso)}::text[], ${dear.map((g) => g.type)}::text[], ${dear.map((g) => g.id)}::text[],
      ${dear.map((g) => g.price?.setup ?? '0')}::numeric[], ${dear.map((g) => g.price?.monthly ?? '0')}::numeric[],
      ${dear.map((g) => g.price?.ppm ?? '0')}::numeric[])
    on conflict (iso_country_code, type, prefix, group_id, effective_at) do update
      set setup_price = excluded.setup_price, monthly_price = excluded.monthly_price, ppm = excluded.ppm`
}

/** Moves the next staged lines into the inventory, ordered by number, so that the index grows at one end. */
export const addNumbers = (tx: Tx, id: string, groups: readonly ImportGroup[], after: string, limit: number) => tx.one<{
  last: string | null
  taken: number
  added: number
}>`
  with part as materialized (
    select number, group_no from number_import_lines
    where import_id = ${id} and number > ${after} order by number limit ${limit}
  ), added as (
    insert into numbers (number, group_id, shuffle)
    select p.number, w.id, floor(random() * 4294967296 - 2147483648)::bigint::integer
    from part p join unnest(${groups.map((g) => g.no)}::integer[], ${groups.map((g) => g.id)}::text[]) w (no, id)
      on w.no = p.group_no
    order by p.number
    on conflict (number) do nothing returning number
  )
  select (select max(number) from part) as last, (select count(*) from part) as taken,
    (select count(*) from added) as added`

/** Returns staged lines whose numbers are in the inventory by now, the first ones, with the total. */
export const linesInInventory = (db: Db, id: string, limit: number) => db.many<{
  line: number
  number: string
  total: number
}>`
  select l.line, l.number, count(*) over () as total
  from number_import_lines l join numbers n on n.number = l.number
  where l.import_id = ${id} order by l.line limit ${limit}`

/** Adds the imported numbers to each group's stock. Must be the last statement of its transaction. */
export const addStock = (tx: Tx, id: string, groups: readonly ImportGroup[]) => tx.run`
  insert into number_stock (group_id, free)
  select w.id, count(*)
  from number_import_lines l
  join unnest(${groups.map((g) => g.no)}::integer[], ${groups.map((g) => g.id)}::text[]) w (no, id) on w.no = l.group_no
  where l.import_id = ${id} group by w.id order by w.id
  on conflict (group_id) do update set free = number_stock.free + excluded.free`

/** Deletes staged lines of finished and abandoned imports and of this one, in batches. */
export const clearStagedLines = async (db: Db, id: string): Promise<void> => {
  let gone = clearBatchSize
  while (gone === clearBatchSize)
    gone = await db.run`
      delete from number_import_lines where (import_id, number) in (
        select import_id, number from number_import_lines l
        where l.import_id = ${id} or not exists (
          select from number_imports i where i.id = l.import_id and i.finished_at is null
            and i.touched_at > clock_timestamp() - make_interval(mins => ${abandonedAfterMinutes}))
        limit ${clearBatchSize})`
}
