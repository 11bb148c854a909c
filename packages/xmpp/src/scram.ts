import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const derive = promisify(pbkdf2)

/** Hashes of SCRAM (RFC 5802, RFC 7677), strongest first. */
export const scramHashes = { 'SCRAM-SHA-512': 'sha512', 'SCRAM-SHA-256': 'sha256', 'SCRAM-SHA-1': 'sha1' } as const

export type ScramMechanism = keyof typeof scramHashes

/** Limits the CPU time that a server can demand. RFC 7677 requires 4,096; current advice for passwords is 600,000. */
const maxIterations = 1_000_000

/** Escapes `=` and `,` in a SASL name (RFC 5802, 5.1). */
const escapeName = (text: string): string => text.replace(/=/g, '=3D').replace(/,/g, '=2C')

const fieldsOf = (message: string): ReadonlyMap<string, string> =>
  new Map(message.split(',').map((part) => [part.slice(0, 1), part.slice(2)]))

/** The server does not know the password or violates the protocol. */
export class ScramError extends Error {}

export type Scram = {
  /** client-first-message */
  readonly first: string
  /** Returns the client-final-message for the server-first-message. @throws ScramError */
  answer(challenge: string): Promise<string>
  /** @throws ScramError when the server does not prove knowledge of the password */
  verify(final: string): void
}

/**
 * One SCRAM exchange without channel binding. Node derives the keys in its thread pool: 4,096 rounds take 2 ms and do
 * not block.
 */
export const makeScram = (
  mechanism: ScramMechanism,
  user: string,
  password: string,
  nonce = randomBytes(18).toString('base64'),
): Scram => {
  const hash = scramHashes[mechanism]
  const digest = (bytes: Buffer) => createHash(hash).update(bytes).digest()
  const hmac = (key: Buffer, text: string) => createHmac(hash, key).update(text).digest()
  const bare = `n=${escapeName(user)},r=${nonce}`
  let expected: Buffer | null = null
  return {
    first: `n,,${bare}`,
    answer: async (challenge) => {
      const fields = fieldsOf(challenge)
      const [combinedNonce = '', salt = ''] = [fields.get('r'), fields.get('s')]
      const rounds = Number(fields.get('i'))
      if (!combinedNonce.startsWith(nonce) || combinedNonce.length <= nonce.length)
        throw new ScramError('another nonce')
      if (!Number.isInteger(rounds) || rounds < 1 || rounds > maxIterations) throw new ScramError('odd iterations')
      const bytes = Buffer.from(salt, 'base64')
      const length = digest(Buffer.alloc(0)).length
      const salted = await derive(password.normalize('NFKC'), bytes, rounds, length, hash)
      const clientKey = hmac(salted, 'Client Key')
      const final = `c=${Buffer.from('n,,').toString('base64')},r=${combinedNonce}`
      const signed = `${bare},${challenge},${final}`
      const signature = hmac(digest(clientKey), signed)
      expected = hmac(hmac(salted, 'Server Key'), signed)
      const proof = Buffer.from(clientKey.map((byte, at) => byte ^ (signature[at] ?? 0)))
      return `${final},p=${proof.toString('base64')}`
    },
    verify: (final) => {
      const received = Buffer.from(fieldsOf(final).get('v') ?? '', 'base64')
      if (!expected || received.length !== expected.length || !timingSafeEqual(received, expected)) {
        throw new ScramError('the server did not prove that it knows the password')
      }
    },
  }
}
