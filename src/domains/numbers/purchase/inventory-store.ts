import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { GroupType } from '../catalogue/catalogue-rows.ts'
import type { Feature } from '../catalogue/features.ts'

export type State = 'free' | 'held' | 'owned' | 'quarantine' | 'withdrawn'

/** A number with a lock on its row: no other transaction can take it before this one ends. */
export type LockedNumber = {
  number: string
  group_id: string
  state: State
  account_id: string | null
  /** Connection of the supplier; null for an own number. */
  supplier_id: string | null
}

/** Locks the row, waiting for other transactions; null when there is no such number. */
export const lock = (tx: Tx, number: string) => tx.maybe<LockedNumber>`
  select number, group_id, state, account_id, supplier_id from numbers where number = ${number} for update`

/**
 * Ends the reservation of a locked number if it is due, before its job does.
 * @returns true if the number may be taken
 */
export const endDueReservation = async (tx: Tx, number: string): Promise<boolean> =>
  (await tx.run`
    update reservations set state = 'expired'
    where number = ${number} and state = 'active' and expires_at <= (select app_now())`) > 0

/** Locks an own number of the group whose reservation is due; null when there is none. */
export const lockDue = (tx: Tx, group: string) => tx.maybe<LockedNumber>`
  select n.number, n.group_id, n.state, n.account_id, n.supplier_id
  from reservations r join numbers n on n.number = r.number
  where r.group_id = ${group} and r.state = 'active' and r.expires_at <= (select app_now()) and n.state = 'held'
    and n.supplier_id is null
  order by r.expires_at limit 1 for update of n skip locked`

const lockNextFree = (tx: Tx, group: string, from: number) => tx.maybe<LockedNumber>`
  select number, group_id, state, account_id, supplier_id from numbers
  where group_id = ${group} and state = 'free' and shuffle >= ${from}
  order by shuffle limit 1 for update skip locked`

/** A number that was free in the snapshot, whether locked by others or not. */
const anyFree = (tx: Tx, group: string) => tx.maybe<{ number: string }>`
  select number from numbers where group_id = ${group} and state = 'free' order by shuffle limit 1`

const least = -2_147_483_648

/**
 * Locks a random free number of the group; null when there is none. Numbers locked by other transactions are skipped.
 * If only those remain, it waits for them: a buyer may still fail to pay.
 * PostgreSQL keeps the lock on a row that was sold during the query, although it does not return the row. Buyers who
 * waited while holding such locks deadlocked (1,000 callers on 100 numbers: 40P01). So each attempt begins at a
 * savepoint and rolls back before it waits.
 */
export const lockFree = async (tx: Tx, group: string, random = Math.random): Promise<LockedNumber | null> => {
  const from = Math.floor(random() * 4_294_967_296) + least
  await tx.run`savepoint looking`
  for (;;) {
    const found = (await lockNextFree(tx, group, from)) ?? (await lockNextFree(tx, group, least))
    if (found) return found
    await tx.run`rollback to savepoint looking`
    const taken = await anyFree(tx, group)
    if (!taken) return null
    const left = await lock(tx, taken.number)
    if (left?.state === 'free' && left.group_id === group) return left
    await tx.run`rollback to savepoint looking`
  }
}

/** Locks the numbers that the account has reserved, in one group or in all, in the order of the numbers. */
export const lockReserved = (tx: Tx, account: string, group: string | null) => tx.many<LockedNumber>`
  select n.number, n.group_id, n.state, n.account_id, n.supplier_id
  from reservations r join numbers n on n.number = r.number
  where r.account_id = ${account} and r.state = 'active' and r.expires_at > (select app_now())
    and (${group}::text is null or r.group_id = ${group}) and n.state = 'held' and n.account_id = ${account}
  order by n.number for update of n`

/** Returns true while the account's reservation of the number is valid. */
export const isReserved = async (tx: Tx, account: string, number: string): Promise<boolean> =>
  (await tx.maybe`
    select 1 from reservations
    where account_id = ${account} and number = ${number} and state = 'active' and expires_at > (select app_now())`) !==
  null

export const setOwner = (tx: Tx, number: string, state: 'held' | 'owned', account: string) => tx.run`
  update numbers set state = ${state}, account_id = ${account} where number = ${number}`

export const setFree = (tx: Tx, numbers: readonly string[]) => tx.run`
  update numbers set state = 'free', account_id = null, rests_until = null where number = any(${numbers}::text[])`

/** Puts a number into quarantine for the given days. */
export const startQuarantine = (tx: Tx, number: string, days: number) => tx.one<{ rests_until: Date }>`
  update numbers set state = 'quarantine', account_id = null, rests_until = app_now() + make_interval(days => ${days})
  where number = ${number} returning rests_until`

/** Locks the numbers of a list whose quarantine is over. */
export const lockAfterQuarantine = (tx: Tx, numbers: readonly string[]) => tx.many<LockedNumber>`
  select number, group_id, state, account_id, supplier_id from numbers
  where number = any(${numbers}::text[]) and state = 'quarantine' and rests_until <= (select app_now())
  order by number for update`

/** Adjusts the counts of free numbers. Must be the last statement of a transaction: see the migration. */
export const adjustFreeCounts = async (tx: Tx, changes: ReadonlyMap<string, number>): Promise<void> => {
  const groups = [...changes].filter(([, by]) => by !== 0).sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [group, by] of groups) await tx.run`update number_stock set free = free + ${by} where group_id = ${group}`
}

export type ReservationRow = {
  id: string
  number: string
  group_id: string
  state: 'active' | 'purchased' | 'cancelled' | 'expired'
  created_at: Date
  expires_at: Date
}

/** How the supplier holds a number for us. */
type SupplierHold = { number: string; reservation: string | null }

export const addReservation = (
  tx: Tx,
  account: string,
  id: string,
  number: LockedNumber,
  minutes: number,
  supplierHold: SupplierHold | null = null,
) =>
  tx.one<ReservationRow>`
    insert into reservations (account_id, id, number, group_id, created_at, expires_at, supplier_number,
      supplier_reservation)
    select ${account}, ${id}, ${number.number}, ${number.group_id}, t.now, t.now + make_interval(secs => ${minutes * 60}),
      ${supplierHold?.number ?? null}, ${supplierHold?.reservation ?? null}
    from (select app_now() as now) t
    returning id, number, group_id, state, created_at, expires_at`

export const cancelReservation = (tx: Tx, account: string, id: string) => tx.run`
  update reservations set state = 'cancelled'
  where account_id = ${account} and id = ${id} and state = 'active' and expires_at > (select app_now())`

export const activeReservations = (tx: Tx, account: string) => tx.many<{ id: string }>`
  select id from reservations
  where account_id = ${account} and state = 'active' and expires_at > (select app_now()) order by id`

/** Marks the account's reservation of a bought number as used. */
export const useReservation = (tx: Tx, account: string, number: string) => tx.run`
  update reservations set state = 'purchased'
  where account_id = ${account} and number = ${number} and state = 'active'`

export const findReservation = (db: Sql, account: string, id: string) => db.maybe<ReservationRow>`
  select id, number, group_id, state, created_at, expires_at from reservations where account_id = ${account} and id = ${id}`

export type ListedReservation = ReservationRow & {
  iso_country_code: string
  type: GroupType
  location: string
  setup_price: string
  monthly_price: string
  ppm: string
  features: Feature[] | null
  needs_registration: boolean
}

export const listReservations = (db: Sql, account: string) => db.many<ListedReservation>`
  select r.id, r.number, r.group_id, r.state, r.created_at, r.expires_at, g.iso_country_code, g.type, g.location,
    p.setup_price, p.monthly_price, p.ppm, g.features,
    coalesce(g.needs_registration, exists (
      select from number_requirements q where q.iso_country_code = g.iso_country_code and q.type = g.type))
      as needs_registration
  from reservations r
  join number_groups g on g.id = r.group_id
  join number_group_prices p on p.id = g.id
  where r.account_id = ${account} and r.state = 'active' and r.expires_at > (select app_now())
  order by r.created_at, r.id`

export type ExpiringReservation = { account: string; id: string; number: string }

/** Expires those reservations that are due, after the locks on their numbers. */
export const expire = async (tx: Tx, list: readonly ExpiringReservation[]): Promise<LockedNumber[]> => {
  await tx.run`
    select from numbers where number = any(${list.map((one) => one.number)}::text[]) order by number for update`
  return tx.many<LockedNumber>`
    with ended as (
      update reservations r set state = 'expired'
      from unnest(${list.map((one) => one.account)}::uuid[], ${list.map((one) => one.id)}::uuid[]) e (account_id, id)
      where r.account_id = e.account_id and r.id = e.id and r.state = 'active' and r.expires_at <= (select app_now())
      returning r.account_id, r.number
    )
    select n.number, n.group_id, n.state, n.account_id, n.supplier_id from numbers n
    join ended e on e.number = n.number and n.state = 'held' and n.account_id = e.account_id`
}

/** Returns a number's position in the order of its group; null when the group has no such number. */
export const positionOf = (db: Sql, group: string, number: string) => db.maybe<InventoryPosition>`
  select shuffle, number from numbers where number = ${number} and group_id = ${group}`

/** A position in the stable order of a group's numbers. */
export type InventoryPosition = { shuffle: number; number: string }

/**
 * Returns free numbers of a group after a position, in order, that contain `digits`. Examines at most `reach` numbers
 * (null: those up to the end of the page), so that a search costs the same in a group of any size.
 */
export const available = (
  db: Sql,
  group: string,
  digits: string,
  { shuffle, number }: InventoryPosition,
  reach: number | null,
  { limit, skip }: { limit: number; skip: number },
) => db.many<{ number: string }>`
  select number from (
    select number, row_number() over (order by shuffle, number) as place from (
    select number, shuffle from numbers
    where group_id = ${group} and state = 'free' and shuffle >= ${shuffle} and (shuffle, number) > (${shuffle}, ${number})
    order by shuffle, number limit ${reach ?? skip + limit}::bigint) looked
    where ${digits} = '' or number like '%' || ${digits} || '%') found
  where place > ${skip} order by place limit ${limit}`

/** Returns how many numbers were examined, how many of these matched, and the last one if `reach` were examined. */
export const countAvailable = (
  db: Sql,
  group: string,
  digits: string,
  { shuffle, number }: InventoryPosition,
  reach: number,
) =>
  db.one<{ looked: number; total: number; end: string | null }>`
  select count(*) as looked, count(*) filter (where number like '%' || ${digits} || '%') as total,
    max(number) filter (where place = ${reach}) as end from (
    select number, row_number() over (order by shuffle, number) as place from numbers
    where group_id = ${group} and state = 'free' and shuffle >= ${shuffle} and (shuffle, number) > (${shuffle}, ${number})
    order by shuffle, number limit ${reach}) looked`

/** Returns the groups of the number; without a number, those of all that the account has reserved. */
export const groupsOf = async (db: Sql, account: string, number: string | null): Promise<string[]> => {
  const rows = await db.many<{ group_id: string }>`
    select group_id from numbers where number = ${number}::text
    union
    select group_id from reservations where ${number}::text is null and account_id = ${account} and state = 'active'
      and expires_at > (select app_now())`
  return rows.map((row) => row.group_id)
}

/** Returns true for a number in our inventory, whether owned, held or on sale. */
export const isInInventory = async (db: Sql, number: string): Promise<boolean> =>
  (await db.maybe`
    select 1 from numbers where number = ${number}`) !== null

export const hasReserved = async (db: Sql, account: string, group: string): Promise<boolean> =>
  (await db.maybe`
    select 1 from reservations
    where account_id = ${account} and group_id = ${group} and state = 'active' and expires_at > (select app_now())`) !==
  null

/** Counts the active reservations of the account. */
export const countReservations = async (db: Sql, account: string): Promise<number> =>
  (
    await db.one<{ used: number }>`
      select count(*)::integer as used from reservations
      where account_id = ${account} and state = 'active' and expires_at > (select app_now())`
  ).used

/** Counts the numbers that suppliers hold for the account. */
export const countSupplierHolds = async (db: Sql, account: string): Promise<number> => {
  const { held } = await db.one<{ held: number }>`
    select count(*) as held from reservations
    where account_id = ${account} and state = 'active' and expires_at > (select app_now())
      and supplier_reservation is not null`
  return held
}

/** Adds a supplier's number for the account. Null when the number exists already. */
export const addSupplied = (
  tx: Tx,
  number: string,
  group: string,
  connection: string,
  account: string,
  state: 'held' | 'owned',
) => tx.maybe<LockedNumber>`
  insert into numbers (number, group_id, state, shuffle, account_id, supplier_id)
  values (${number}, ${group}, ${state}, 0, ${account}, ${connection})
  on conflict (number) do nothing
  returning number, group_id, state, account_id, supplier_id`

/** Removes a supplier's number of the account from the inventory. */
export const removeSupplied = (tx: Tx, account: string, number: string) => tx.run`
  delete from numbers where number = ${number} and account_id = ${account} and supplier_id is not null`

/** Returns how the supplier holds the account's number. */
export const supplierHoldOf = (tx: Tx, account: string, number: string) => tx.maybe<{
  supplier_number: string | null
  supplier_reservation: string | null
}>`
  select supplier_number, supplier_reservation from reservations
  where account_id = ${account} and number = ${number} order by created_at desc, id desc limit 1`

/** Returns the last hold of a supplier's number, of whichever account. */
export const lastSupplierHold = (tx: Tx, number: string) => tx.maybe<{
  supplier_id: string | null
  supplier_reservation: string | null
}>`
  select n.supplier_id, r.supplier_reservation from numbers n
  join reservations r on r.number = n.number and r.account_id = n.account_id
  where n.number = ${number} order by r.created_at desc, r.id desc limit 1`
