import { randomBytes } from 'node:crypto'
import { errors, exportJWK, generateKeyPair, importJWK, jwtVerify, SignJWT } from 'jose'
import type { Changes } from '../db/changes.ts'
import type { Db, Sql, Tx } from '../db/sql.ts'
import type { Person } from '../http/auth.ts'
import type { Schedule } from '../jobs/schedule.ts'
import { fromBase64url } from '../lib/base64url.ts'
import { seconds } from '../lib/clock.ts'
import { parse } from '../lib/id.ts'
import type { Seal } from '../lib/secret.ts'
import * as store from './store.ts'

/** RFC 8725, 3.11: a type of our own keeps these tokens from being taken for others. */
const type = 'voice+jwt'
const audience = 'voice'

/** Three parts in canonical base64url (RFC 7515, 2 and 3.1): else one token could be spelled in several ways. */
const isCanonical = (token: string): boolean => {
  const parts = token.split('.', 4)
  return parts.length === 3 && parts.every((part) => fromBase64url(part) !== null)
}

/** `epoch`: how often all tokens of the user had been revoked; a claim where it is above 0. */
export type Claims = { user: string; account: string; label: string | null; epoch?: number }

type Verified = Required<Claims> & { expiresAt: Date }

export type Tokens = {
  /** @param ttl seconds, already clamped @param now Unix seconds at which it was issued */
  mint(tx: Tx, claims: Claims, issuer: string, ttl: number, now?: number): Promise<{ token: string; expiresAt: Date }>
  /** The claims of a token that is ours, unspoilt and current; rejects otherwise. */
  verify(token: string, issuer: string): Promise<Verified>
  /** Who a token was given to; null for one that `verify` refuses. Rejects when the keys cannot be read. */
  bearer(token: string, issuer: string): Promise<Person | null>
  rotate(tx: Tx): Promise<store.KeyRow>
}

/** Signs and checks voice tokens: EdDSA (Ed25519), the key chosen by `kid` among our own (RFC 8725, 3.1 and 3.10). Times
 *  are the machine's own, not the sandbox's: others verify them by their clocks. */
export const makeTokens = (db: Db, seal: Seal, changes: Changes): Tokens => {
  let known: Promise<store.KeyRow[]> | null = null
  changes.on('signing-keys', () => {
    known = null
  })

  const rotate = async (tx: Tx) => {
    const { publicKey, privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
    const secret = seal.close(JSON.stringify(await exportJWK(privateKey)))
    const row = await store.add(tx, randomBytes(9).toString('base64url'), await exportJWK(publicKey), secret)
    await changes.announce(tx, 'signing-keys')
    return row
  }

  const keys = (sql: Sql): Promise<store.KeyRow[]> => {
    known ??= store.keys(sql).catch((error) => {
      known = null
      throw error
    })
    return known
  }

  const current = async (tx: Tx): Promise<store.KeyRow> => {
    const [newest] = await keys(tx)
    return newest && newest.retired_at === null ? newest : await rotate(tx)
  }

  const verify: Tokens['verify'] = async (token, issuer) => {
    if (!isCanonical(token)) throw new errors.JWTInvalid('the token is not canonical base64url')
    const find = async ({ kid }: { kid?: string }) => {
      const key = (await keys(db)).find((one) => one.kid === kid)
      if (!key) throw new errors.JWKSNoMatchingKey()
      return importJWK(key.public_jwk, 'EdDSA')
    }
    const options = { algorithms: ['EdDSA'], typ: type, issuer, audience, requiredClaims: ['exp', 'sub', 'jti'] }
    const { payload } = await jwtVerify<Record<string, unknown>>(token, find, options)
    const { sub, account_uuid: account, label = null, exp = 0, epoch = 0 } = payload
    if (typeof sub !== 'string' || typeof account !== 'string' || (label !== null && typeof label !== 'string'))
      throw new errors.JWTInvalid('a claim is missing, or is no text')
    if (typeof epoch !== 'number') throw new errors.JWTInvalid('the claim epoch is no number')
    return { user: sub, account, label, epoch, expiresAt: new Date(exp * 1000) }
  }

  return {
    rotate,
    verify,
    bearer: async (token, issuer) => {
      const claims = await verify(token, issuer).catch((error) => {
        if (error instanceof errors.JOSEError) return null
        throw error
      })
      const [account, user] = [parse('ACC', claims?.account ?? ''), parse('USR', claims?.user ?? '')]
      if (!claims || !account || !user) return null
      return { ...claims, account, user }
    },
    mint: async (tx, { user, account, label, epoch = 0 }, issuer, ttl, now = seconds(Date.now())) => {
      const key = await current(tx)
      const token = await new SignJWT({ account_uuid: account, label, ...(epoch > 0 ? { epoch } : {}) })
        .setProtectedHeader({ alg: 'EdDSA', kid: key.kid, typ: type })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(user)
        .setIssuedAt(now)
        .setNotBefore(now)
        .setExpirationTime(now + ttl)
        .setJti(randomBytes(16).toString('base64url'))
        .sign(await importJWK(JSON.parse(seal.open(key.sealed_private)), 'EdDSA'))
      return { token, expiresAt: new Date((now + ttl) * 1000) }
    },
  }
}

/** The epochs of SIP credentials, by user and end; a credential whose token was revoked has none. */
export const epochsOf = store.credentialEpochs

/** Forgets revoked tokens that have expired. */
export const forgetRevokedTokens: Schedule = {
  name: 'forget-revoked-tokens',
  every: 3600,
  run: async (tx) => {
    await store.forgetRevoked(tx)
  },
}
