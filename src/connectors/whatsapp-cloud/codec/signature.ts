import { createHmac, timingSafeEqual } from 'node:crypto'

/** `X-Hub-Signature-256` of a body, as its bytes came: HMAC-SHA256 under the app's secret (Graph API, "Webhooks", Validating Payloads). */
export const sign = (secret: string, raw: Buffer): string =>
  `sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`

/** Whether two secrets are the same, told in constant time. */
export const isSame = (one: string, other: string): boolean => {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

export const isSigned = (secret: string, raw: Buffer, signature: string | undefined): boolean =>
  signature !== undefined && isSame(sign(secret, raw), signature)
