import { createHmac, randomBytes } from 'node:crypto'

// The scheme of Standard Webhooks (standardwebhooks.com, specification 1.0): symmetric, v1.

const prefix = 'whsec_'

/** A signing secret as it is shown, of the bytes that are the key. */
export const shownSecret = (key: Buffer): string => prefix + key.toString('base64')

/** A new signing secret: 32 random bytes. */
export const makeSecret = (): string => shownSecret(randomBytes(32))

/** The key that a secret stands for. */
export const keyOf = (secret: string): Buffer => Buffer.from(secret.slice(prefix.length), 'base64')

/**
 * The headers that prove where a call comes from and when it was made. During a rotation each key signs.
 * @param at Unix milliseconds by the real clock: receivers compare it with theirs
 */
export const signed = (keys: readonly Buffer[], id: string, body: string, at: number) => {
  const timestamp = String(Math.floor(at / 1000))
  const content = `${id}.${timestamp}.${body}`
  const signatures = keys.map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`)
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
