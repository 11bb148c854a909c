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
