import type { Sql, Tx } from '../../platform/db/sql.ts'

// The view number_possession (migrations/baseline/16_calls.sql) is the only definition of possession.

export const lockNumber = (tx: Tx, number: string) => tx.run`
  select pg_advisory_xact_lock(hashtextextended('number possession ' || ${number}::text, 0))`

/** @param isSandbox whether a number that the sandbox sold counts */
export const possesses = async (sql: Sql, account: string, number: string, isSandbox: boolean): Promise<boolean> =>
  (await sql.maybe`
    select 1 from number_possession
    where account_id = ${account} and phone_number = ${number} and (not stock or ${isSandbox}) limit 1`) !== null

/** Returns whether another account has a proof that is valid outside the sandbox. */
export const isProvedElsewhere = async (sql: Sql, account: string, number: string): Promise<boolean> =>
  (await sql.maybe`
    select 1 from number_possession
    where account_id <> ${account} and phone_number = ${number} and not stock limit 1`) !== null

/** Ends codes, proofs by code and grants of a number. @param except the account that keeps its own; null for none */
export const endProofs = async (tx: Tx, number: string, except: string | null): Promise<void> => {
  // Codes first: a concurrent attempt commits its proof before this statement continues, so that the next one sees it.
  await tx.run`
    update caller_id_codes set expires_at = app_now()
    where phone_number = ${number} and account_id is distinct from ${except}::uuid and expires_at > app_now()`
  await tx.run`
    with granted as (
      delete from number_grants where phone_number = ${number} and account_id is distinct from ${except}::uuid
    )
    update caller_ids set verified = false, updated_at = app_now()
    where phone_number = ${number} and account_id is distinct from ${except}::uuid and type = 'CI' and verified`
}

export type GrantRow = { account_id: string; phone_number: string; note: string; created_at: Date }

/** Null when another account owns the number, unless the sandbox sold it. */
export const grant = (tx: Tx, account: string, number: string, note: string | null) => tx.maybe<GrantRow>`
  insert into number_grants (account_id, phone_number, note)
  select ${account}::uuid, ${number}::text, coalesce(${note}::text, '')
  where not exists (
    select from virtual_numbers v left join number_groups g on g.id = v.group_id
    where v.number = ${number} and v.released_at is null and v.account_id <> ${account} and g.supplier is distinct from 'sandbox')
  on conflict (account_id, phone_number) do update set note = coalesce(${note}::text, number_grants.note)
  returning *`

export const grants = (sql: Sql, account: string) =>
  sql.many<GrantRow>`select * from number_grants where account_id = ${account} order by phone_number`

/** @returns false when there was none */
export const removeGrant = async (tx: Tx, account: string, number: string): Promise<boolean> =>
  (await tx.run`delete from number_grants where account_id = ${account} and phone_number = ${number}`) === 1
