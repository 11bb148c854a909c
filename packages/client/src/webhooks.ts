import { WebhookSignatureError } from './errors.ts'
import type { EventPayloads } from './types.gen.ts'

// Standard Webhooks, specification 1.0: symmetric signatures, v1.

/** An event of a webhook: `event` names it and selects the type of the other fields. */
export type WebhookEvent = {
  [Name in keyof EventPayloads]: Omit<EventPayloads[Name], 'event'> & { readonly event: Name }
}[keyof EventPayloads]

/** Headers of a request: a Headers object, or those of Node. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

export type VerifyOptions = {
  /** Largest difference between the clock of the sender and ours. Default: 300. */
  readonly toleranceSeconds?: number
  /** Unix milliseconds. Default: now. */
  readonly now?: number
}

const headerOf = (headers: WebhookHeaders, name: string): string => {
  const value = headers instanceof Headers ? headers.get(name) : headers[name]
  if (typeof value !== 'string' || value === '') throw new WebhookSignatureError(`The header ${name} is missing.`)
  return value
}

const decode = (base64: string): Uint8Array<ArrayBuffer> | null => {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
  } catch {
    return null
  }
}

const keyOf = (secret: string): Promise<CryptoKey> => {
  const bytes = decode(secret.replace(/^whsec_/, ''))
  if (!bytes?.length) throw new WebhookSignatureError('The secret is not valid: it begins with whsec_.')
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
}

/**
 * Verifies a webhook and returns its event.
 * @param body exactly as it was received, not parsed and serialised again
 * @param secret the secret that the subscription returned
 * @throws WebhookSignatureError if the signature is wrong, or the request is older than the tolerance
 */
export const verifyWebhook = async (
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string,
  { toleranceSeconds = 300, now = Date.now() }: VerifyOptions = {},
): Promise<WebhookEvent> => {
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const signatures = headerOf(headers, 'webhook-signature')
  if (!(Math.abs(now / 1000 - Number(timestamp)) <= toleranceSeconds))
    throw new WebhookSignatureError('The timestamp is too old or in the future. Check the clock of this machine.')
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`)
  const key = await keyOf(secret)
  for (const signature of signatures.split(' ')) {
    const bytes = signature.startsWith('v1,') ? decode(signature.slice(3)) : null
    // `verify` compares in constant time.
    if (bytes && (await crypto.subtle.verify('HMAC', key, bytes, signed))) return JSON.parse(text)
  }
  throw new WebhookSignatureError('No signature matches. Check the secret and use the unparsed body.')
}
