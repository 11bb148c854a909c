import type { Sql, Tx } from '../db/sql.ts'
import type { Feature } from './features.ts'
import type { GroupType } from './rows.ts'

export type State = 'free' | 'held' | 'owned' | 'quarantine' | 'withdrawn'

/** A number with a lock on its row: nobody else can take it before the transaction ends. */
export type Locked = {
  number: string
  group_id: string
  state: State
  account_id: string | null
  /** The connection of the supplier whose number it is; null for one of our own. */
  supplier_id: string | null
}

/** Waits for whoever has the row; null when there is no such number. */
export const lock = (tx: Tx, number: string) => tx.maybe<Locked>`
  select number, group_id, state, account_id, supplier_id from numbers where number = ${number} for update`

const next = (tx: Tx, group: string, from: number) => tx.maybe<Locked>`
  select number, group_id, state, account_id, supplier_id from numbers
  where group_id = ${group} and state = 'free' and shuffle >= ${from}
  order by shuffle limit 1 for update skip locked`

/** A number that was free a moment ago, locked by others or not. */
const anyFree = (tx: Tx, group: string) => tx.maybe<{ number: string }>`
  select number from numbers where group_id = ${group} and state = 'free' order by shuffle limit 1`

const least = -2_147_483_648

/**
 * Locks a free number of the group by chance. Numbers that others are taking at this moment are passed over; when there are
 * no others, they are waited for: whoever takes one may still fail to pay for it. Null when there is none.
 *
 * PostgreSQL keeps the lock on a row that was sold while a look for free ones went on, although it does not give the row.
 * Buyers who waited with such locks in hand waited for each other (1,000 callers on 100 numbers: 40P01). So each look
 * begins at a savepoint, and gives back what it has before it waits.
 */
export const lockFree = async (tx: Tx, group: string, random = Math.random): Promise<Locked | null> => {
  const from = Math.floor(random() * 4_294_967_296) + least
  await tx.run`savepoint looking`
  for (;;) {
    const found = (await next(tx, group, from)) ?? (await next(tx, group, least))
    if (found) return found
    await tx.run`rollback to savepoint looking`
    const taken = await anyFree(tx, group)
    if (!taken) return null
    const left = await lock(tx, taken.number)
    if (left?.state === 'free' && left.group_id === group) return left
    await tx.run`rollback to savepoint looking`
  }
}

/** Locks the numbers that the account has reserved, of one group or of all, in the order of the numbers. */
export const lockReserved = (tx: Tx, account: string, group: string | null) => tx.many<Locked>`
  select n.number, n.group_id, n.state, n.account_id, n.supplier_id
  from reservations r join numbers n on n.number = r.number
  where r.account_id = ${account} and r.state = 'active' and r.expires_at > (select app_now())
    and (${group}::text is null or r.group_id = ${group}) and n.state = 'held' and n.account_id = ${account}
  order by n.number for update of n`

/** True when the account's reservation of the number has not run out. */
export const isReserved = async (tx: Tx, account: string, number: string): Promise<boolean> =>
  (await tx.maybe`
    select 1 from reservations
    where account_id = ${account} and number = ${number} and state = 'active' and expires_at > (select app_now())`) !==
  null

export const setOwner = (tx: Tx, number: string, state: 'held' | 'owned', account: string) => tx.run`
  update numbers set state = ${state}, account_id = ${account} where number = ${number}`

export const setFree = (tx: Tx, numbers: readonly string[]) => tx.run`
  update numbers set state = 'free', account_id = null, rests_until = null where number = any(${numbers}::text[])`

/** A number rests for so many days before it is sold again. */
export const setResting = (tx: Tx, number: string, days: number) => tx.one<{ rests_until: Date }>`
  update numbers set state = 'quarantine', account_id = null, rests_until = app_now() + make_interval(days => ${days})
  where number = ${number} returning rests_until`

/** Locks the numbers of a list whose quarantine is over. */
export const lockRested = (tx: Tx, numbers: readonly string[]) => tx.many<Locked>`
  select number, group_id, state, account_id, supplier_id from numbers
  where number = any(${numbers}::text[]) and state = 'quarantine' and rests_until <= (select app_now())
  order by number for update`

/** Changes the counts of free numbers. The last statement of a transaction: see the migration. */
export const count = async (tx: Tx, changes: ReadonlyMap<string, number>): Promise<void> => {
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

/** Where a supplier's number is held for us. */
type HeldThere = { number: string; reservation: string | null }

export const addReservation = (
  tx: Tx,
  account: string,
  id: string,
  number: Locked,
  minutes: number,
  there: HeldThere | null = null,
) =>
  tx.one<ReservationRow>`
    insert into reservations (account_id, id, number, group_id, created_at, expires_at, supplier_number,
      supplier_reservation)
    select ${account}, ${id}, ${number.number}, ${number.group_id}, t.now, t.now + make_interval(secs => ${minutes * 60}),
      ${there?.number ?? null}, ${there?.reservation ?? null}
    from (select app_now() as now) t
    returning id, number, group_id, state, created_at, expires_at`

export const cancelReservation = (tx: Tx, account: string, id: string) => tx.run`
  update reservations set state = 'cancelled'
  where account_id = ${account} and id = ${id} and state = 'active' and expires_at > (select app_now())`

/** The reservation of a number that the account has bought. */
export const useReservation = (tx: Tx, account: string, number: string) => tx.run`
  update reservations set state = 'purchased'
  where account_id = ${account} and number = ${number} and state = 'active'`

export const reservation = (db: Sql, account: string, id: string) => db.maybe<ReservationRow>`
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

export const reservations = (db: Sql, account: string) => db.many<ListedReservation>`
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

export type Expiring = { account: string; id: string; number: string }

/** Ends those of the reservations whose time has come, after the locks on their numbers. */
export const expire = async (tx: Tx, list: readonly Expiring[]): Promise<Locked[]> => {
  await tx.run`
    select from numbers where number = any(${list.map((one) => one.number)}::text[]) order by number for update`
  return tx.many<Locked>`
    with ended as (
      update reservations r set state = 'expired'
      from unnest(${list.map((one) => one.account)}::uuid[], ${list.map((one) => one.id)}::uuid[]) e (account_id, id)
      where r.account_id = e.account_id and r.id = e.id and r.state = 'active' and r.expires_at <= (select app_now())
      returning r.account_id, r.number
    )
    select n.number, n.group_id, n.state, n.account_id, n.supplier_id from numbers n
    join ended e on e.number = n.number and n.state = 'held' and n.account_id = e.account_id`
}

/** Where a number stands in the order of its group; null when the group has no such number. */
export const placeOf = (db: Sql, group: string, number: string) => db.maybe<Place>`
  select shuffle, number from numbers where number = ${number} and group_id = ${group}`

/** A place in the order of a group's numbers, which stays as it is. */
export type Place = { shuffle: number; number: string }

/** Free numbers of a group behind a place, in their order, `digits` somewhere among theirs. At most `reach` of them are looked
 *  at (null: all), so that a search costs the same in a group of any size. */
export const available = (
  db: Sql,
  group: string,
  digits: string,
  { shuffle, number }: Place,
  reach: number | null,
  { limit, offset }: { limit: number; offset: number },
) => db.many<{ number: string }>`
  select number from (
    select number, shuffle from numbers
    where group_id = ${group} and state = 'free' and shuffle >= ${shuffle} and (shuffle, number) > (${shuffle}, ${number})
    order by shuffle, number limit ${reach}::bigint) looked
  where ${digits} = '' or number like '%' || ${digits} || '%'
  order by shuffle, number limit ${limit} offset ${offset}`

/** How many were looked at and how many of these matched. */
export const countAvailable = (db: Sql, group: string, digits: string, { shuffle, number }: Place, reach: number) =>
  db.one<{ looked: number; total: number }>`
  select count(*) as looked, count(*) filter (where number like '%' || ${digits} || '%') as total from (
    select number from numbers
    where group_id = ${group} and state = 'free' and shuffle >= ${shuffle} and (shuffle, number) > (${shuffle}, ${number})
    order by shuffle, number limit ${reach}) looked`

/** The groups of the number, or without one of all that the account has reserved. */
export const groupsOf = async (db: Sql, account: string, number: string | null): Promise<string[]> => {
  const rows = await db.many<{ group_id: string }>`
    select group_id from numbers where number = ${number}::text
    union
    select group_id from reservations where ${number}::text is null and account_id = ${account} and state = 'active'
      and expires_at > (select app_now())`
  return rows.map((row) => row.group_id)
}

/** True for a number that is somebody's here, or that we sell ourselves. */
export const isKnown = async (db: Sql, number: string): Promise<boolean> =>
  (await db.maybe`
    select 1 from numbers where number = ${number}`) !== null

/** True when the account has an active reservation in the group. */
export const hasReserved = async (db: Sql, account: string, group: string): Promise<boolean> =>
  (await db.maybe`
    select 1 from reservations
    where account_id = ${account} and group_id = ${group} and state = 'active' and expires_at > (select app_now())`) !==
  null

/** The active reservations of the account. */
export const countReserved = async (db: Sql, account: string): Promise<number> =>
  (
    await db.one<{ used: number }>`
      select count(*)::integer as used from reservations
      where account_id = ${account} and state = 'active' and expires_at > (select app_now())`
  ).used

/** How many numbers suppliers hold for the account. */
export const heldOutside = async (db: Sql, account: string): Promise<number> => {
  const { held } = await db.one<{ held: number }>`
    select count(*) as held from reservations
    where account_id = ${account} and state = 'active' and expires_at > (select app_now())
      and supplier_reservation is not null`
  return held
}

/** A supplier's number comes in, for the account at once. Null when it is here already. */
export const addSupplied = (
  tx: Tx,
  number: string,
  group: string,
  connection: string,
  account: string,
  state: 'held' | 'owned',
) => tx.maybe<Locked>`
  insert into numbers (number, group_id, state, shuffle, account_id, supplier_id)
  values (${number}, ${group}, ${state}, 0, ${account}, ${connection})
  on conflict (number) do nothing
  returning number, group_id, state, account_id, supplier_id`

/** A supplier's number that is not the account's any more leaves the inventory. */
export const leave = (tx: Tx, account: string, number: string) => tx.run`
  delete from numbers where number = ${number} and account_id = ${account} and supplier_id is not null`

/** How the account's number is held at its supplier. */
export const heldThere = (tx: Tx, account: string, number: string) => tx.maybe<{
  supplier_number: string | null
  supplier_reservation: string | null
}>`
  select supplier_number, supplier_reservation from reservations
  where account_id = ${account} and number = ${number} order by created_at desc, id desc limit 1`

/** The last hold of a supplier's number, whoever's it was. */
export const lastHold = (tx: Tx, number: string) => tx.maybe<{
  supplier_id: string | null
  supplier_reservation: string | null
}>`
  select n.supplier_id, r.supplier_reservation from numbers n
  join reservations r on r.number = n.number and r.account_id = n.account_id
  where n.number = ${number} order by r.created_at desc, r.id desc limit 1`
