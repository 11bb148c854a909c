import { createHmac, randomBytes } from 'node:crypto'

// The scheme of Standard Webhooks (standardwebhooks.com, specification 1.0): symmetric, v1.

const prefix = 'whsec_'

/** Returns the printed form of a signing key. */
export const formatSigningSecret = (key: Buffer): string => prefix + key.toString('base64')

/** Returns a new signing secret: 32 random bytes. */
export const makeSigningSecret = (): string => formatSigningSecret(randomBytes(32))

/** Returns the key of a printed secret. */
export const signingKeyOf = (secret: string): Buffer => Buffer.from(secret.slice(prefix.length), 'base64')

/**
 * Returns the headers that prove origin and time of a webhook request. During a rotation each key signs.
 * @param at Unix milliseconds by the real clock, which receivers compare with theirs
 */
export const signatureHeaders = (keys: readonly Buffer[], id: string, body: string, at: number) => {
  const timestamp = String(Math.floor(at / 1000))
  const content = `${id}.${timestamp}.${body}`
  const signatures = keys.map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`)
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
