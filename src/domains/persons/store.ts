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
  /** Null: neither a mail reached the address, nor did an operator vouch for it. */
  email_proved_at: Date | null
  /** Part of the cookies of browsers that know the person. */
  browser_epoch: number
}

/** A person whom a password and an e-mail address may mean. */
export type CandidateRow = PersonRow & { readonly is_of_account: boolean }

export type ListedPersonRow = PersonRow & { last_seen_at: Date | null; has_second_factor: boolean }

export type NewPerson = {
  id: string
  email: string
  emailKey: string
  name: string
  passwordHash: string
}

/**
 * Returns the persons whom a password with an e-mail address may mean: first that of an account, then the proved one,
 * then those who signed in last. Persons without any account are left out, so that an account has one at a time.
 */
export const candidates = (sql: Sql, emailKey: string, account: string | null, limit: number) =>
  sql.many<CandidateRow>`
    select c.* from (
      select p.*, exists (
          select from users u where u.person_id = p.id and u.account_id = ${account}::uuid and u.status <> 'DELETED'
        ) as is_of_account,
        (select max(s.created_at) from sessions s where s.person_id = p.id) as signed_in_at
      from persons p
      where p.email_key = ${emailKey} and (p.email_proved_at is not null or p.operator is not null
        or exists (select from users u where u.person_id = p.id and u.status <> 'DELETED'))) c
    order by c.is_of_account desc, c.email_proved_at is null, c.signed_in_at desc nulls last, c.created_at, c.id
    limit ${limit}`

/** Whether another person proved the address of this one. Such a person gets no mail, and joins no further account. */
export const hasYielded = async (sql: Sql, id: string): Promise<boolean> =>
  (await sql.maybe`
    select 1 from persons p join persons other on other.email_key = p.email_key and other.email_proved_at is not null
    where p.id = ${id} and p.email_proved_at is null`) !== null

export const find = (sql: Sql, id: string) => sql.maybe<PersonRow>`select * from persons where id = ${id}`

export const lock = (tx: Tx, id: string) =>
  tx.maybe<PersonRow>`select * from persons where id = ${id} for no key update`

/** Creates a person, whose address is not proved. */
export const create = (tx: Tx, p: NewPerson) => tx.one<PersonRow>`
  insert into persons (id, email, email_key, name, password_hash)
  values (${p.id}, ${p.email}, ${p.emailKey}, ${p.name}, ${p.passwordHash})
  returning *`

/** Marks the address of a person as proved. One of several persons at once succeeds. @returns false for the others */
export const proveEmail = async (tx: Tx, id: string): Promise<boolean> => {
  await tx.run`
    select pg_advisory_xact_lock(hashtextextended('proved address ' || email_key, 0)) from persons where id = ${id}`
  const done = await tx.run`
    update persons p set email_proved_at = coalesce(p.email_proved_at, clock_timestamp()), updated_at = clock_timestamp()
    where p.id = ${id} and not exists (
      select from persons other
      where other.email_key = p.email_key and other.email_proved_at is not null and other.id <> p.id)`
  return done === 1
}

export const unproveEmail = (tx: Tx, id: string) => tx.run`
  update persons set email_proved_at = null, updated_at = clock_timestamp() where id = ${id}`

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

/** Returns the address of a person if it is proved. */
export const provedEmail = async (sql: Sql, id: string): Promise<string | null> =>
  (await sql.maybe<{ email: string }>`select email from persons where id = ${id} and email_proved_at is not null`)
    ?.email ?? null

/** Returns the accounts of users of these persons who are not deleted. */
export const accountsOf = async (sql: Sql, people: readonly string[]): Promise<string[]> =>
  (
    await sql.many<{ account_id: string }>`
      select distinct account_id from users where person_id = any(${[...people]}::uuid[]) and status <> 'DELETED' limit 200`
  ).map(({ account_id }) => account_id)

/** Returns the accounts in which these persons are active, by name. */
export const activeAccounts = (sql: Sql, people: readonly string[], limit: number) => sql.many<{
  id: string
  name: string
  person_id: string
}>`
  select a.id, a.name, u.person_id from users u join accounts a on a.id = u.account_id
  where u.person_id = any(${[...people]}::uuid[]) and u.status = 'ACTIVE' order by a.name, a.id limit ${limit}`

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
