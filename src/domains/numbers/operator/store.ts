import { makeConditions } from '../../../platform/db/conditions.ts'
import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { GroupType } from '../catalogue/catalogue-rows.ts'
import type { NumberRow } from '../lifecycle/virtual-number-store.ts'
import { maxExaminedNumbers } from '../limits.ts'
import type { State } from '../purchase/inventory-store.ts'

export type InventoryRow = {
  number: string
  state: State
  group_id: string
  account_id: string | null
  rests_until: Date | null
  iso_country_code: string
  type: GroupType
  location: string
  supplier: string
}

type InventorySearch = {
  state: State | null
  group: string | null
  country: string | null
  prefix: string | null
  after: string | null
  limit: number
}

// All numbers begin with `+` and digits, and letters sort after digits in every collation.
const prefixCondition = "n.number >= ? and n.number < ? || 'z' and starts_with(n.number, ?)"

export type InventoryPage = {
  readonly rows: InventoryRow[]
  /** Last number that was examined, if the page is short and more numbers follow. Otherwise null. */
  readonly examinedTo: string | null
}

const columns = `n.number, n.state, n.group_id, n.account_id, n.rests_until, g.iso_country_code, g.type, g.location,
    g.supplier`

/**
 * Lists free numbers. No index has them in order, because it would have an entry for almost every number. A page
 * therefore examines the next numbers of all states, and stops once it is full.
 */
const freeNumbers = async (
  db: Sql,
  { group, country, prefix, after, limit }: InventorySearch,
): Promise<InventoryPage> => {
  const conditions = makeConditions()
  conditions.add('n.group_id >= ? and n.group_id <= ?', group)
  conditions.add(prefixCondition, prefix)
  conditions.add('n.number > ?', after)
  const order = `order by ${group === null ? '' : 'n.group_id, '}n.number`
  const examined = `select * from numbers n ${conditions.text} ${order} limit ${maxExaminedNumbers}`
  const bounds = [...conditions.values]
  const ofCountry = country === null ? '' : `and g.iso_country_code = ${conditions.bind(country)}`
  const rows = await db.raw<InventoryRow>(
    `select ${columns} from (${examined}) n join number_groups g on g.id = n.group_id
     where n.state = 'free' ${ofCountry} ${order} limit ${limit}`,
    conditions.values,
  )
  if (rows.length >= limit) return { rows, examinedTo: null }
  const [last] = await db.raw<{ number: string; examined: number }>(
    `select max(number) as number, count(*)::integer as examined from (${examined}) examined`,
    bounds,
  )
  return { rows, examinedTo: last?.examined === maxExaminedNumbers ? last.number : null }
}

export const inventory = async (db: Sql, search: InventorySearch): Promise<InventoryPage> => {
  const { state, group, country, prefix, after, limit } = search
  const isOfCountry = country !== null && group === null && prefix === null
  if (state === 'free' && !isOfCountry) return await freeNumbers(db, search)
  const conditions = makeConditions()
  // A range instead of equality: the rows then have the order of the index, not that of all numbers.
  conditions.add('n.state >= ? and n.state <= ?', state)
  conditions.add('n.group_id >= ? and n.group_id <= ?', group)
  conditions.add(prefixCondition, prefix)
  conditions.add('n.number > ?', after)
  const isOfState = state !== null && state !== 'free'
  if (isOfCountry && !isOfState) {
    conditions.push('n.group_id >= g.id and n.group_id <= g.id')
    // Each group of the country gives its next numbers: the country may have few among many.
    const rows = await db.raw<InventoryRow>(
      `select ${columns} from number_groups g cross join lateral (
         select * from numbers n ${conditions.text} order by n.group_id, n.number limit ${limit}) n
       where g.iso_country_code = ${conditions.bind(country)} order by n.number limit ${limit}`,
      conditions.values,
    )
    return { rows, examinedTo: null }
  }
  conditions.add('g.iso_country_code = ?', country)
  const index = group !== null ? 'n.group_id, ' : isOfState ? 'n.state, ' : ''
  const rows = await db.raw<InventoryRow>(
    `select ${columns} from numbers n join number_groups g on g.id = n.group_id ${conditions.text}
     order by ${index}n.number limit ${limit}`,
    conditions.values,
  )
  return { rows, examinedTo: null }
}

export type LockedNumber = { number: string; group_id: string; state: State }

export const lock = (tx: Tx, numbers: readonly string[]) => tx.many<LockedNumber>`
  select number, group_id, state from numbers where number = any(${numbers}::text[]) order by number for update`

export const setState = (tx: Tx, numbers: readonly string[], state: 'free' | 'withdrawn') => tx.run`
  update numbers set state = ${state}, rests_until = null, withdrawn_individually = ${state}::text = 'withdrawn'
  where number = any(${numbers}::text[])`

/**
 * Moves the next numbers of a group from one state to the other. Skips numbers that are being bought and those that
 * were withdrawn individually.
 */
export const moveBatch = (tx: Tx, group: string, from: State, to: 'free' | 'withdrawn', limit: number) => tx.run`
  update numbers set state = ${to}, rests_until = null
  where number in (
    select number from numbers where group_id = ${group} and state = ${from} and not withdrawn_individually limit ${limit} for update skip locked)`

export const hasGroup = async (tx: Sql, id: string): Promise<boolean> =>
  (await tx.maybe`select 1 from number_groups where id = ${id}`) !== null

export type SoldNumberRow = NumberRow & { account_name: string; suspended_for: string | null; at: string }

type SoldNumberSearch = {
  account: string | null
  country: string | null
  status: string | null
  prefix: string | null
  after: string | null
  limit: number
}

/** Ids ascend with time: the highest ids are the latest purchases. */
export const soldNumbers = (db: Sql, { account, country, status, prefix, after, limit }: SoldNumberSearch) => {
  const conditions = makeConditions()
  conditions.add('n.account_id = ?', account)
  conditions.add('n.iso_country_code = ?', country)
  conditions.add('n.status_text = ?', status)
  conditions.add(prefixCondition, prefix)
  conditions.add('n.id < ?', after)
  const where = conditions.text === '' ? 'where n.released_at is null' : `${conditions.text} and n.released_at is null`
  return db.raw<SoldNumberRow>(
    `select n.*, a.name as account_name, s.reason as suspended_for,
       to_char(n.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
     from virtual_numbers n join accounts a on a.id = n.account_id
     left join number_suspensions s on s.account_id = n.account_id and s.virtual_number_id = n.id
     ${where} order by n.id desc limit ${limit}`,
    conditions.values,
  )
}

/** Finds the number in any account, for the operator. */
export const findOwner = (tx: Tx, id: string) => tx.maybe<{ account_id: string; status_text: string }>`
  select account_id, status_text from virtual_numbers where id = ${id} and released_at is null for update`
