import type { Sql, Tx } from '../../../platform/db/sql.ts'

export type PasskeyRow = {
  id: string
  person_id: string
  credential_id: Buffer
  public_key: Buffer
  sign_count: number
  transports: string[]
  name: string
  created_at: Date
  used_at: Date | null
}

export const ofPerson = (sql: Sql, person: string, limit: number) => sql.many<PasskeyRow>`
  select *, sign_count::float8 as sign_count from passkeys where person_id = ${person}
  order by created_at, id limit ${limit}`

export const findByCredential = (sql: Sql, credential: Buffer) => sql.maybe<PasskeyRow>`
  select *, sign_count::float8 as sign_count from passkeys where credential_id = ${credential}`

export type NewPasskey = {
  readonly id: string
  readonly person: string
  readonly credential: Buffer
  readonly publicKey: Buffer
  readonly signCount: number
  readonly transports: string[]
  readonly name: string
}

/** Creates a passkey. Null if the device has one here already. */
export const create = (tx: Tx, p: NewPasskey) => tx.maybe<PasskeyRow>`
  insert into passkeys (id, person_id, credential_id, public_key, sign_count, transports, name)
  values (${p.id}, ${p.person}, ${p.credential}, ${p.publicKey}, ${p.signCount}, ${p.transports}, ${p.name})
  on conflict (credential_id) do nothing
  returning *, sign_count::float8 as sign_count`

/** Records a sign-in. @returns false if the counter did not grow: the passkey may be a copy */
export const countUse = async (tx: Tx, id: string, signCount: number): Promise<boolean> =>
  (await tx.run`
    update passkeys set sign_count = ${signCount}, used_at = clock_timestamp()
    where id = ${id} and (sign_count < ${signCount} or (sign_count = 0 and ${signCount} = 0))`) === 1

/** @returns false if the person has no such passkey */
export const remove = async (tx: Tx, person: string, id: string): Promise<boolean> =>
  (await tx.run`delete from passkeys where person_id = ${person} and id = ${id}`) === 1

/** @returns the number of passkeys that the person had */
export const removeAll = (tx: Tx, person: string) => tx.run`delete from passkeys where person_id = ${person}`

/** Uses up a challenge. @returns false if it was answered before */
export const spendChallenge = async (tx: Tx, digest: Buffer, ms: number): Promise<boolean> =>
  (await tx.run`
    insert into passkey_challenges (digest, expires_at)
    values (${digest}, clock_timestamp() + make_interval(secs => ${(2 * ms) / 1_000})) on conflict do nothing`) === 1

/** Deletes up to 1,000 answered challenges that have expired. */
export const deleteExpired = (tx: Tx) => tx.run`
  delete from passkey_challenges where digest in (
    select digest from passkey_challenges where expires_at < clock_timestamp() order by expires_at limit 1000)`
