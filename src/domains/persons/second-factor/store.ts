import type { Sql, Tx } from '../../../platform/db/sql.ts'

export type TotpRow = { person_id: string; sealed_secret: Buffer; activated_at: Date | null; last_step: number }

export const find = (sql: Sql, person: string) => sql.maybe<TotpRow>`
  select person_id, sealed_secret, activated_at, last_step::float8 as last_step from person_totp
  where person_id = ${person}`

/** Stores a secret that waits for its first code. @returns false if the person has a second factor */
export const prepare = async (tx: Tx, person: string, sealed: Buffer): Promise<boolean> =>
  (await tx.run`
    insert into person_totp (person_id, sealed_secret) values (${person}, ${sealed})
    on conflict (person_id) do update set sealed_secret = excluded.sealed_secret, created_at = clock_timestamp()
    where person_totp.activated_at is null`) === 1

/** Counts a code. @returns false if it, or a later one, was counted before */
export const countStep = async (sql: Sql, person: string, step: number): Promise<boolean> =>
  (await sql.run`
    update person_totp set last_step = ${step} where person_id = ${person} and last_step < ${step}`) === 1

/** @returns false if another request activated it */
export const activate = async (tx: Tx, person: string, hashes: readonly Buffer[]): Promise<boolean> => {
  const done = await tx.run`
    update person_totp set activated_at = clock_timestamp() where person_id = ${person} and activated_at is null`
  if (done !== 1) return false
  await tx.run`
    insert into recovery_codes (person_id, code_hash) select ${person}, unnest(${[...hashes]}::bytea[])`
  return true
}

/** Uses up a recovery code. @returns false if the person has no such code */
export const useRecoveryCode = async (sql: Sql, person: string, hash: Buffer): Promise<boolean> =>
  (await sql.run`delete from recovery_codes where person_id = ${person} and code_hash = ${hash}`) === 1

export const countRecoveryCodes = async (sql: Sql, person: string): Promise<number> =>
  (await sql.one<{ n: number }>`select count(*)::integer as n from recovery_codes where person_id = ${person}`).n

/** @returns false if there was none */
export const remove = async (tx: Tx, person: string): Promise<boolean> =>
  (await tx.run`delete from person_totp where person_id = ${person}`) === 1
