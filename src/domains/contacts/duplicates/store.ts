import type { Sql } from '../../../platform/db/sql.ts'
import type { DetailType } from '../details.ts'
import { maxDuplicatesShown, maxExaminedKeys } from '../limits.ts'

/** Contacts with one key. `last` is the last key that was examined whole; null: all were. */
export type KeyGroup = { key: string; count: number; ids: string[] }
type ExaminedPage = { last: string | null; groups: KeyGroup[] }

/** Groups the examined rows. The last key may have further rows, so it is left to the next page, unless it is alone. */
const grouped = (examined: string): string => `
  with examined as materialized (${examined}),
  bounds as (select count(*) as rows, min(key) as first, max(key) as last from examined),
  kept as (
    select key, contact_id from examined, bounds
    where wanted and (bounds.rows <= ${maxExaminedKeys} or key < bounds.last or bounds.first = bounds.last)
  ), found as (
    select key, count(distinct contact_id)::integer as count,
      (array_agg(distinct contact_id order by contact_id))[1:${maxDuplicatesShown}] as ids
    from kept group by key having count(distinct contact_id) > 1 order by key limit $4
  )
  select case when bounds.rows <= ${maxExaminedKeys} then null
      when bounds.first = bounds.last then bounds.last
      else (select max(key) from examined where key < bounds.last) end as last,
    coalesce((select json_agg(found order by key) from found), '[]') as groups
  from bounds`

const inKeys = grouped(`
  select match_key as key, contact_id, type = any ($3) as wanted from contact_details
  where account_id = $1 and match_key is not null and match_key > $2 order by match_key
  limit ${maxExaminedKeys + 1}`)

const inNames = grouped(`
  select name_key as key, id as contact_id, $3::text[] is not null as wanted
  from (select *, contacts_name_key(first_name, last_name) collate "C" as name_key from contacts) contacts
  where account_id = $1 and name_key > $2 order by name_key, id
  limit ${maxExaminedKeys + 1}`)

const types: Readonly<Record<'number' | 'email', readonly DetailType[]>> = { number: ['PH', 'WAPH'], email: ['E'] }

/** Finds keys that several contacts have, in the order of the keys, behind `after`. Reads along an index. */
export const duplicates = async (
  sql: Sql,
  account: string,
  by: 'number' | 'email' | 'name',
  after: string,
  limit: number,
): Promise<ExaminedPage> => {
  const text = by === 'name' ? inNames : inKeys
  const [row] = await sql.raw<ExaminedPage>(text, [account, after, by === 'name' ? [] : [...types[by]], limit])
  return row ?? { last: null, groups: [] }
}
