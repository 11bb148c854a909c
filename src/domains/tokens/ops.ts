import { randomBytes } from 'node:crypto'
import { errors, exportJWK, generateKeyPair, importJWK, jwtVerify, SignJWT } from 'jose'
import type { InvalidationBus } from '../../platform/db/invalidation-bus.ts'
import type { Db, Sql, Tx } from '../../platform/db/sql.ts'
import type { VoiceUser } from '../../platform/http/auth.ts'
import type { Schedule } from '../../platform/jobs/schedule.ts'
import { fromBase64url } from '../../platform/lib/base64url.ts'
import { seconds } from '../../platform/lib/clock.ts'
import { parse } from '../../platform/lib/id.ts'
import type { Seal } from '../../platform/lib/secret.ts'
import * as store from './store.ts'

/** Explicit type (RFC 8725, 3.11), so that these tokens are not confused with others. */
const type = 'voice+jwt'
const audience = 'voice'

/** Whether a token is three parts in canonical base64url (RFC 7515, 2 and 3.1). Otherwise one token would have several
 *  encodings. */
const isCanonical = (token: string): boolean => {
  const parts = token.split('.', 4)
  return parts.length === 3 && parts.every((part) => fromBase64url(part) !== null)
}

/** Claims of a token. `epoch`: number of times that all tokens of the user were revoked; omitted if 0. */
export type Claims = { user: string; account: string; label: string | null; epoch?: number }

type VerifiedToken = Required<Claims> & { expiresAt: Date }

export type Tokens = {
  /** Mints a token. @param ttl seconds, already clamped @param now issue time in Unix seconds */
  mint(tx: Tx, claims: Claims, issuer: string, ttl: number, now?: number): Promise<{ token: string; expiresAt: Date }>
  /** Resolves with the claims of a valid, current token of ours; rejects otherwise. */
  verify(token: string, issuer: string): Promise<VerifiedToken>
  /** Resolves with the holder of a token; null if `verify` refuses it. Rejects if the keys cannot be read. */
  bearer(token: string, issuer: string): Promise<VoiceUser | null>
  rotate(tx: Tx): Promise<store.KeyRow>
}

/** Makes the signer and verifier of voice tokens: EdDSA (Ed25519), with `kid` selecting one of our own keys (RFC 8725,
 *  3.1 and 3.10). Times are by the machine's clock, not the sandbox's, because others verify tokens by their clocks. */
export const makeTokens = (db: Db, seal: Seal, changes: InvalidationBus): Tokens => {
  let known: Promise<store.KeyRow[]> | null = null
  changes.on('signing-keys', () => {
    known = null
  })

  const rotate = async (tx: Tx) => {
    const { publicKey, privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
    const secret = seal.close(JSON.stringify(await exportJWK(privateKey)))
    const row = await store.add(tx, randomBytes(9).toString('base64url'), await exportJWK(publicKey), secret)
    await changes.invalidate(tx, 'signing-keys')
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
      throw new errors.JWTInvalid('a claim is missing or is not a string')
    if (typeof epoch !== 'number') throw new errors.JWTInvalid('the claim epoch is not a number')
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

/** Returns the epochs of SIP credentials, by user and expiry; none for a credential whose token was revoked. */
export const epochsOf = store.credentialEpochs

/** Schedule that deletes revoked tokens after their expiry. */
export const deleteRevokedTokens: Schedule = {
  name: 'forget-revoked-tokens',
  every: 3600,
  run: async (tx) => {
    await store.deleteExpiredRevocations(tx)
  },
}

/** Revokes all voice tokens of all users of an account, and their SIP credentials. @returns the number of users */
export const revokeAll = async (tx: Tx, changes: InvalidationBus, account: string): Promise<number> => {
  const count = await store.nextEpochs(tx, account)
  await changes.invalidate(tx, 'tokens')
  return count
}

/** Revokes all voice tokens of the users of a person, and their SIP credentials. */
export const revokeTokensOfPerson = async (tx: Tx, changes: InvalidationBus, person: string): Promise<void> => {
  if ((await store.nextEpochsOfPerson(tx, person)) > 0) await changes.invalidate(tx, 'tokens')
}
