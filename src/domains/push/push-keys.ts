import { createECDH } from 'node:crypto'
import { importJWK, SignJWT } from 'jose'
import type { Db, Tx } from '../../platform/db/sql.ts'
import type { Seal } from '../../platform/lib/secret.ts'
import { maxTokens, tokenHours } from './limits.ts'
import * as store from './store.ts'

/** Place of the private key, as sealed. */
const place = 'push key'

/** The key pair of the installation: RFC 8292, 2. */
export type PushKeys = {
  /** Uncompressed point, base64url: what browsers subscribe with. The first call makes the pair. */
  publicKey(tx: Tx): Promise<string>
  /** Returns the Authorization header for an address of a push service. @param at Unix milliseconds */
  authorization(endpoint: string, at: number): Promise<string>
}

/** @param contact of the operator, `mailto:` or `https:`, for push services that have to report a fault */
export const makePushKeys = (db: Db, seal: Seal, contact: () => string): PushKeys => {
  type Signer = { readonly publicKey: string; readonly key: Awaited<ReturnType<typeof importJWK>> }
  const tokens = new Map<string, { readonly header: string; readonly until: number; readonly signer: Signer }>()
  let known: { readonly row: Buffer; readonly signer: Signer } | null = null

  const signerOf = async ({ public_key, sealed_private }: store.KeyRow): Promise<Signer> => {
    // Another process may have made new keys, after the master key was lost.
    if (known?.row.equals(public_key)) return known.signer
    const jwk = {
      ...{ kty: 'EC', crv: 'P-256' },
      x: public_key.subarray(1, 33).toString('base64url'),
      y: public_key.subarray(33).toString('base64url'),
      d: seal.openBytes(sealed_private, place).toString('base64url'),
    }
    const signer = { publicKey: public_key.toString('base64url'), key: await importJWK(jwk, 'ES256') }
    known = { row: public_key, signer }
    return signer
  }

  const makeKey = async (tx: Tx): Promise<store.KeyRow> => {
    const pair = createECDH('prime256v1')
    pair.generateKeys()
    // A private key that begins with zeros is shorter.
    const secret = Buffer.concat([Buffer.alloc(32), pair.getPrivateKey()]).subarray(-32)
    return store.addKey(tx, pair.getPublicKey(), seal.closeBytes(secret, place))
  }

  const makeToken = (signer: Signer, audience: string, at: number): Promise<string> =>
    new SignJWT({})
      .setProtectedHeader({ alg: 'ES256', typ: 'JWT' })
      .setAudience(audience)
      .setSubject(contact())
      .setIssuedAt(Math.floor(at / 1_000))
      .setExpirationTime(Math.floor(at / 1_000) + tokenHours.valid * 3_600)
      .sign(signer.key)

  return {
    publicKey: async (tx) => ((await store.findKey(tx)) ?? (await makeKey(tx))).public_key.toString('base64url'),
    authorization: async (endpoint, at) => {
      const row = await store.findKey(db)
      if (!row) throw new Error('the installation has no push key')
      const signer = await signerOf(row)
      const { origin } = new URL(endpoint)
      const found = tokens.get(origin)
      if (found && found.until > at && found.signer === signer) return found.header
      const header = `vapid t=${await makeToken(signer, origin, at)}, k=${signer.publicKey}`
      if (tokens.size >= maxTokens) tokens.clear()
      tokens.set(origin, { header, until: at + tokenHours.reused * 3_600_000, signer })
      return header
    },
  }
}
