import { makeConditions } from '../../platform/db/conditions.ts'
import { byTimeAndId, exactTime, type ListPage, makeListQuery } from '../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'

export type OperatorRole = 'operator' | 'observer'

export type PersonRow = {
  id: string
  email: string
  name: string
  password_hash: string | null
  operator: OperatorRole | null
  locale: string | null
  timezone: string | null
  preferences: Record<string, unknown>
  created_at: Date
  suspended_at: Date | null
  /** Part of the cookies of browsers that know the person. */
  browser_epoch: number
}

export type ListedPersonRow = PersonRow & { last_seen_at: Date | null; has_second_factor: boolean }

export type NewPerson = {
  id: string
  email: string
  emailKey: string
  name: string
  passwordHash: string
}

export const findByEmail = (sql: Sql, emailKey: string) =>
  sql.maybe<PersonRow>`select * from persons where email_key = ${emailKey}`

export const find = (sql: Sql, id: string) => sql.maybe<PersonRow>`select * from persons where id = ${id}`

export const lock = (tx: Tx, id: string) =>
  tx.maybe<PersonRow>`select * from persons where id = ${id} for no key update`

/** Creates a person. Null if another person has the e-mail address. */
export const create = (tx: Tx, p: NewPerson) => tx.maybe<PersonRow>`
  insert into persons (id, email, email_key, name, password_hash)
  values (${p.id}, ${p.email}, ${p.emailKey}, ${p.name}, ${p.passwordHash})
  on conflict (email_key) do nothing
  returning *`

export const setPassword = (sql: Sql, id: string, hash: string) => sql.run`
  update persons set password_hash = ${hash}, updated_at = clock_timestamp() where id = ${id}`

/** Ends the cookies of all browsers that know the person. */
export const nextBrowserEpoch = (tx: Tx, id: string) => tx.one<PersonRow>`
  update persons set browser_epoch = browser_epoch + 1, updated_at = clock_timestamp() where id = ${id} returning *`

export const setOperator = (tx: Tx, id: string, role: OperatorRole | null) => tx.run`
  update persons set operator = ${role}, updated_at = clock_timestamp() where id = ${id}`

export const setSuspended = (tx: Tx, id: string, isSuspended: boolean) => tx.run`
  update persons set suspended_at = case when ${isSuspended} then coalesce(suspended_at, clock_timestamp()) end,
    updated_at = clock_timestamp()
  where id = ${id}`

export const change = (
  tx: Tx,
  id: string,
  p: Pick<PersonRow, 'name' | 'locale' | 'timezone' | 'preferences'>,
) => tx.one<PersonRow>`
  update persons set name = ${p.name}, locale = ${p.locale}, timezone = ${p.timezone},
    preferences = ${JSON.stringify(p.preferences)}::jsonb, updated_at = clock_timestamp()
  where id = ${id} returning *`

/** Returns the accounts of a person's users who are not deleted; null returns none, by the same statement. */
export const accountsOf = async (sql: Sql, person: string | null): Promise<string[]> =>
  (
    await sql.many<{ account_id: string }>`
      select account_id from users where person_id = ${person} and status <> 'DELETED' order by created_at limit 200`
  ).map(({ account_id }) => account_id)

const listedColumns = `(select max(s.seen_at) from sessions s where s.person_id = r.id) as last_seen_at,
  exists (select 1 from person_totp t where t.person_id = r.id and t.activated_at is not null) as has_second_factor`

export const page = (db: Sql, at: ListPage) => {
  const list = makeListQuery({ table: 'persons', key: byTimeAndId(), isNewestFirst: false }, makeConditions())
  const { text, values } = list.page('*', at)
  return db.raw<ListedPersonRow & { at: string }>(
    `select r.*, ${exactTime('r.created_at')} as at, ${listedColumns} from (${text}) r order by r.created_at, r.id`,
    values,
  )
}

export const findListed = async (db: Sql, id: string): Promise<ListedPersonRow | null> =>
  (await db.raw<ListedPersonRow>(`select r.*, ${listedColumns} from persons r where r.id = $1`, [id]))[0] ?? null

/** Records that the installation has its first person. @returns false if it had one */
export const markClaimed = async (tx: Tx, person: string): Promise<boolean> =>
  (await tx.run`
    insert into installation_state (name, value) values ('console-claimed', ${{ person }}) on conflict do nothing`) ===
  1

export const isClaimed = async (sql: Sql): Promise<boolean> =>
  (await sql.maybe`select 1 from installation_state where name = 'console-claimed'`) !== null
