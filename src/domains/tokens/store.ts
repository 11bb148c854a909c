import type { JWK } from 'jose'
import type { Sql, Tx } from '../../platform/db/sql.ts'

export type KeyRow = {
  kid: string
  public_jwk: JWK
  sealed_private: Buffer
  created_at: Date
  retired_at: Date | null
}

export const keys = (db: Sql) => db.many<KeyRow>`select * from signing_keys order by created_at desc, kid desc`

/** Adds a key and retires the ones before it. */
export const add = async (tx: Tx, kid: string, publicJwk: JWK, sealedPrivate: Buffer) => {
  await tx.run`update signing_keys set retired_at = app_now() where retired_at is null`
  return tx.one<KeyRow>`
    insert into signing_keys (kid, public_jwk, sealed_private) values (${kid}, ${{ ...publicJwk }}, ${sealedPrivate})
    returning *`
}

/** Returns the epoch of an active user; null if there is none. A new token must expire `back` seconds before `end`, so
 *  that it does not share the expiry of a revoked token. @param ttl seconds until `end` */
export const mintingContext = (tx: Tx, account: string, user: string, end: Date, ttl: number) => tx.maybe<{
  epoch: number
  back: number
}>`
  select coalesce(e.epoch, 0) as epoch, coalesce((
    select s from generate_series(0, least(59, ${ttl}::integer - 1)) s
    where not exists (
      select 1 from revoked_tokens r where r.account_id = u.account_id and r.user_id = u.id
        and r.expires_at = ${end}::timestamptz - s * interval '1 second')
    order by s limit 1), 0) as back
  from users u left join token_epochs e on e.account_id = u.account_id and e.user_id = u.id
  where u.account_id = ${account} and u.id = ${user} and u.status = 'ACTIVE'`

/** Revokes all tokens of a user. @returns 0 if the account has no such user */
export const nextEpoch = (tx: Tx, account: string, user: string) => tx.run`
  insert into token_epochs (account_id, user_id, epoch)
  select account_id, id, 1 from users where account_id = ${account} and id = ${user}
  on conflict (account_id, user_id) do update set epoch = token_epochs.epoch + 1`

/** Revokes all tokens of all users of an account. @returns the number of users */
export const nextEpochs = (tx: Tx, account: string) => tx.run`
  insert into token_epochs (account_id, user_id, epoch)
  select account_id, id, 1 from users where account_id = ${account}
  on conflict (account_id, user_id) do update set epoch = token_epochs.epoch + 1`

/** Revokes all tokens of the users of a person. @returns the number of users */
export const nextEpochsOfPerson = (tx: Tx, person: string) => tx.run`
  insert into token_epochs (account_id, user_id, epoch)
  select account_id, id, 1 from users where person_id = ${person} and status <> 'DELETED'
  on conflict (account_id, user_id) do update set epoch = token_epochs.epoch + 1`

/** Revokes a token. @returns 0 if the account has reached its limit of revoked tokens */
export const revoke = (tx: Tx, account: string, user: string, expiresAt: Date, most: number) => tx.run`
  insert into revoked_tokens (account_id, user_id, expires_at)
  select ${account}::uuid, ${user}::uuid, ${expiresAt}::timestamptz
  where (
    select count(*) from (
      select 1 from revoked_tokens where account_id = ${account} and expires_at > clock_timestamp() limit ${most}
    ) live) < ${most}
  on conflict (account_id, user_id, expires_at) do update set expires_at = excluded.expires_at`

/** Deletes revoked tokens that have expired. */
export const deleteExpiredRevocations = (tx: Tx) =>
  tx.run`delete from revoked_tokens where expires_at < clock_timestamp()`

export type Credential = { readonly user: string; readonly expiresAt: Date }

/** Returns the epochs of the users of SIP credentials, without credentials whose token was revoked. */
export const credentialEpochs = (db: Sql, credentials: readonly Credential[]) => db.many<{
  user: string
  expires_at: Date
  epoch: number
}>`
  select c.user_id as user, c.expires_at, coalesce(e.epoch, 0) as epoch
  from unnest(${credentials.map(({ user }) => user)}::uuid[],
    ${credentials.map(({ expiresAt }) => expiresAt.toISOString())}::timestamptz[]) c (user_id, expires_at)
  join users u on u.id = c.user_id
  left join token_epochs e on e.account_id = u.account_id and e.user_id = u.id
  where not exists (
    select 1 from revoked_tokens r
    where r.account_id = u.account_id and r.user_id = u.id and r.expires_at = c.expires_at)`
