import { makeConditions } from '../../../platform/db/conditions.ts'
import { byTimeAndId, countRows, exactTime, type ListPage, makeListQuery } from '../../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { Role } from '../../../platform/http/role.ts'

export type MemberStatus = 'ACTIVE' | 'PENDING_INVITE' | 'SUSPENDED'

export type MemberRow = {
  id: string
  first_name: string
  last_name: string
  email: string
  status: MemberStatus
  role: Role
  person_id: string | null
  person_operator: string | null
  has_second_factor: boolean
  passkeys: number
  last_seen_at: Date | null
  availability: 'available' | 'away'
  created_at: Date
}

const columns = `r.id, r.first_name, r.last_name, r.email, r.status, r.role, r.person_id,
  p.operator as person_operator, r.availability, r.created_at,
  exists (select 1 from person_totp t where t.person_id = r.person_id and t.activated_at is not null)
    as has_second_factor,
  (select count(*)::integer from passkeys k where k.person_id = r.person_id) as passkeys,
  (select max(s.seen_at) from sessions s where s.person_id = r.person_id) as last_seen_at`

const membersOf = (account: string) => {
  const conditions = makeConditions()
  conditions.add('account_id = ?', account)
  conditions.add('status <> ?', 'DELETED')
  return makeListQuery({ table: 'users', key: byTimeAndId(), isNewestFirst: false }, conditions)
}

export const page = (db: Sql, account: string, at: ListPage) => {
  const { text, values } = membersOf(account).page('*', at)
  return db.raw<MemberRow & { at: string }>(
    `select ${columns}, ${exactTime('r.created_at')} as at
     from (${text}) r left join persons p on p.id = r.person_id order by r.created_at, r.id`,
    values,
  )
}

export const count = (db: Sql, account: string) => countRows(db, membersOf(account).total())

/** Returns a member of an account who is not deleted. */
export const find = async (sql: Sql, account: string, id: string): Promise<MemberRow | null> =>
  (
    await sql.raw<MemberRow>(
      `select ${columns} from users r left join persons p on p.id = r.person_id
       where r.account_id = $1 and r.id = $2 and r.status <> 'DELETED'`,
      [account, id],
    )
  )[0] ?? null

/** Locks the members of an account, so that two owners cannot remove each other. */
export const lock = (tx: Tx, account: string) => tx.run`select 1 from accounts where id = ${account} for no key update`

/** Counts the owners who can sign in, other than one. */
export const countOtherOwners = async (tx: Tx, account: string, except: string): Promise<number> =>
  (
    await tx.one<{ n: number }>`
      select count(*)::integer as n from users u join persons p on p.id = u.person_id
      where u.account_id = ${account} and u.id <> ${except} and u.role = 'owner' and u.status = 'ACTIVE'
        and p.suspended_at is null`
  ).n

/** Counts the members of an account, and those who are invited. */
export const countUsed = async (tx: Tx, account: string): Promise<number> =>
  (
    await tx.one<{ n: number }>`
      select count(*)::integer as n from users where account_id = ${account} and status <> 'DELETED'`
  ).n

export const setRole = (tx: Tx, account: string, id: string, role: Role) => tx.run`
  update users set role = ${role}, updated_at = app_now() where account_id = ${account} and id = ${id}`

export const change = (
  tx: Tx,
  account: string,
  id: string,
  m: { first_name: string; last_name: string; role: Role; status: string },
) => tx.run`
  update users set first_name = ${m.first_name}, last_name = ${m.last_name}, role = ${m.role}, status = ${m.status},
    updated_at = app_now()
  where account_id = ${account} and id = ${id}`

/** Whether a person belongs to another account. */
export const hasOtherAccount = async (sql: Sql, account: string, person: string): Promise<boolean> =>
  (await sql.maybe`
    select 1 from users where person_id = ${person} and account_id <> ${account} and status <> 'DELETED' limit 1`) !==
  null
