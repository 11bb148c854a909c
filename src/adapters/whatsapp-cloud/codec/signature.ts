import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * `X-Hub-Signature-256` of the raw body: HMAC-SHA256 with the app's secret (Graph API, "Webhooks", Validating
 * Payloads).
 */
export const sign = (secret: string, raw: Buffer): string =>
  `sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`

/** Compares two secrets in constant time. */
export const isEqualSecret = (one: string, other: string): boolean => {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

export const isSigned = (secret: string, raw: Buffer, signature: string | undefined): boolean =>
  signature !== undefined && isEqualSecret(sign(secret, raw), signature)
