import { makeConditions } from '../../platform/db/conditions.ts'
import { byTimeAndId, countRows, exactTime, type ListPage, makeListQuery } from '../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { Role } from '../../platform/http/role.ts'
import type { Names } from '../../platform/lib/full-name.ts'

export type Status = 'ACTIVE' | 'PENDING_INVITE' | 'SUSPENDED' | 'DELETED'

export type UserRow = {
  account_id: string
  id: string
  first_name: string
  last_name: string
  email: string
  status: Status
  role: Role
  created_at: Date
  updated_at: Date
}

type Details = Names & { email: string; status: Status }

/** Creates a user. Null if the account does not exist. */
export const create = (tx: Tx, account: string, id: string, user: Details) => tx.maybe<UserRow>`
  insert into users (account_id, id, first_name, last_name, email, status)
  select a.id, ${id}, ${user.first_name}, ${user.last_name}, ${user.email}, ${user.status}
  from accounts a where a.id = ${account}
  returning *`

export const active = (db: Sql, account: string) => db.many<UserRow>`
  select * from users where account_id = ${account} and status = 'ACTIVE' order by created_at, id`

const usersOf = (account: string, status: Status | null) => {
  const conditions = makeConditions()
  conditions.add('account_id = ?', account)
  conditions.add('status = ?', status)
  return makeListQuery({ table: 'users', key: byTimeAndId(), isNewestFirst: false }, conditions)
}

/** Lists users. Null if the account does not exist. */
export const page = async (db: Sql, account: string, status: Status | null, at: ListPage) => {
  if ((await db.maybe`select 1 from accounts where id = ${account}`) === null) return null
  const { text, values } = usersOf(account, status).page(`*, ${exactTime('created_at')} as at`, at)
  return db.raw<UserRow & { at: string }>(text, values)
}

export const count = (db: Sql, account: string, status: Status | null) =>
  countRows(db, usersOf(account, status).total())

/** Locks and returns a user of any account, for the operator. */
export const lock = (tx: Tx, id: string) => tx.maybe<UserRow>`select * from users where id = ${id} for no key update`

export const change = (tx: Tx, account: string, id: string, user: Details) => tx.one<UserRow>`
  update users set first_name = ${user.first_name}, last_name = ${user.last_name}, email = ${user.email},
    status = ${user.status}, updated_at = app_now()
  where account_id = ${account} and id = ${id}
  returning *`

/** Locks and returns the users of a person who are not deleted. */
export const lockOfPerson = (tx: Tx, person: string) => tx.many<UserRow>`
  select * from users where person_id = ${person} and status <> 'DELETED'
  order by account_id, id for no key update`

export const setNames = (tx: Tx, account: string, id: string, { first_name, last_name }: Names) => tx.run`
  update users set first_name = ${first_name}, last_name = ${last_name}, updated_at = app_now()
  where account_id = ${account} and id = ${id}`

/** Gives the person of a user the name of the user, unless another account has the person too: it must not see a name that
 *  this account made. */
export const namePerson = (tx: Tx, account: string, id: string) => tx.run`
  update persons p set name = full_name(u.first_name, u.last_name), updated_at = clock_timestamp()
  from users u
  where u.account_id = ${account} and u.id = ${id} and u.status <> 'DELETED' and p.id = u.person_id
    and p.name <> full_name(u.first_name, u.last_name)
    and not exists (
      select from users o where o.person_id = p.id and o.account_id <> u.account_id and o.status <> 'DELETED')`

/**
 * Whether another undeleted user of the account has the e-mail address, ignoring letter case. Concurrent checks wait
 * for the end of the transaction. There is no unique index, because earlier versions allowed duplicates.
 */
export const isEmailTaken = async (tx: Tx, account: string, email: string, except: string | null): Promise<boolean> => {
  await tx.run`select pg_advisory_xact_lock(hashtextextended('user emails ' || ${account}::text, 0))`
  const other = await tx.maybe`
    select 1 from users
    where account_id = ${account} and lower(email) = lower(${email}) and status <> 'DELETED'
      and id is distinct from ${except}::uuid
    limit 1`
  return other !== null
}

export const isActive = async (db: Sql, account: string, id: string): Promise<boolean> =>
  (await db.maybe`select 1 from users where account_id = ${account} and id = ${id} and status = 'ACTIVE'`) !== null

/** Returns the account of a user. `may`: the user is active, and the account is not blocked. `rings`: so it is, and the
 *  user is not away. */
export const callPermission = (db: Sql, id: string) => db.maybe<{ account: string; may: boolean; rings: boolean }>`
  select u.account_id as account, u.status = 'ACTIVE' and not a.blocked as may,
    u.status = 'ACTIVE' and not a.blocked and u.availability = 'available' as rings
  from users u join accounts a on a.id = u.account_id where u.id = ${id}`

export const findBarred = async (db: Sql, ids: readonly string[]): Promise<string[]> =>
  (
    await db.many<{ id: string }>`
      select u.id from users u join accounts a on a.id = u.account_id
      where u.id = any(${ids}::uuid[]) and (u.status <> 'ACTIVE' or a.blocked)`
  ).map(({ id }) => id)

/** Returns a user of an account, of any status. */
export const findInAccount = (db: Sql, account: string, id: string) =>
  db.maybe<UserRow>`select * from users where account_id = ${account} and id = ${id}`

/** Returns the id of the active user with an e-mail address or a printed id; null if there is none. */
export const findByIdentity = async (sql: Sql, account: string, identity: string): Promise<string | null> =>
  (
    await sql.maybe<{ id: string }>`
      select id from users
      where account_id = ${account} and status = 'ACTIVE'
        and (lower(email) = lower(${identity}) or 'USR' || id::text = ${identity})
      order by created_at limit 1`
  )?.id ?? null

/** Returns the newest user of an account who is not deleted. */
export const newest = (sql: Sql, account: string) => sql.maybe<UserRow>`
  select * from users where account_id = ${account} and status <> 'DELETED' order by created_at desc, id desc limit 1`

/** Returns the oldest undeleted user with an e-mail address, who is of no person. */
export const findByEmail = (tx: Tx, account: string, email: string) => tx.maybe<UserRow>`
  select * from users
  where account_id = ${account} and lower(email) = lower(${email}) and status <> 'DELETED' and person_id is null
  order by created_at, id limit 1`

export const makeOwner = (tx: Tx, account: string, id: string, person: string) => tx.run`
  update users set person_id = ${person}, role = 'owner', status = 'ACTIVE', updated_at = app_now()
  where account_id = ${account} and id = ${id}`
