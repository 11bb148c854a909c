import type { JWK } from 'jose'
import type { Sql, Tx } from '../db/sql.ts'

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

/** How often all tokens of an active user were revoked; null when there is no such user. `back`: so many seconds earlier than
 *  `end` a token may end that is not taken for one that was revoked. */
export const mintingOf = (tx: Tx, account: string, user: string, end: Date) => tx.maybe<{
  epoch: number
  back: number
}>`
  select coalesce(e.epoch, 0) as epoch, coalesce((
    select s from generate_series(0, 59) s
    where not exists (
      select 1 from revoked_tokens r where r.account_id = u.account_id and r.user_id = u.id
        and r.expires_at = ${end}::timestamptz - s * interval '1 second')
    order by s limit 1), 0) as back
  from users u left join token_epochs e on e.account_id = u.account_id and e.user_id = u.id
  where u.account_id = ${account} and u.id = ${user} and u.status = 'ACTIVE'`

/** Revokes all tokens of a user. @returns 0 when the account has no such user */
export const nextEpoch = (tx: Tx, account: string, user: string) => tx.run`
  insert into token_epochs (account_id, user_id, epoch)
  select account_id, id, 1 from users where account_id = ${account} and id = ${user}
  on conflict (account_id, user_id) do update set epoch = token_epochs.epoch + 1`

/** Adds a token to those that are revoked. @returns 0 when the account has as many as it may */
export const revoke = (tx: Tx, account: string, user: string, expiresAt: Date, most: number) => tx.run`
  insert into revoked_tokens (account_id, user_id, expires_at)
  select ${account}::uuid, ${user}::uuid, ${expiresAt}::timestamptz
  where (
    select count(*) from (
      select 1 from revoked_tokens where account_id = ${account} and expires_at > clock_timestamp() limit ${most}
    ) live) < ${most}
  on conflict (account_id, user_id, expires_at) do update set expires_at = excluded.expires_at`

/** Forgets tokens that have expired anyway. */
export const forgetRevoked = (tx: Tx) => tx.run`delete from revoked_tokens where expires_at < clock_timestamp()`

export type Credential = { readonly user: string; readonly expiresAt: Date }

/** The epochs of the users of SIP credentials; those whose token was revoked are not among them. */
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
