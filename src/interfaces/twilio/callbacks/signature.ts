import { createHmac } from 'node:crypto'

/** Parameters of a request, in any order. */
export type Parameters = Readonly<Record<string, string>>

/** Returns an address as it is requested and signed: as it was given, without its fragment, which has our own overrides. */
export const requestedUrl = (url: string): string => url.split('#', 1)[0] ?? url

/** Returns an address with the parameters of a GET in its query. */
export const withQuery = (url: string, parameters: Parameters): string => {
  const base = requestedUrl(url)
  const separator = base.includes('?') ? (/[?&]$/.test(base) ? '' : '&') : '?'
  return base + separator + new URLSearchParams(parameters)
}

/**
 * Returns the header X-Twilio-Signature: HMAC-SHA1 over the address and, of a POST, the names and values in the order of
 * the names. Receivers check it with the same token.
 */
export const signatureOf = (token: string, url: string, parameters: Parameters = {}): string => {
  const text = Object.keys(parameters)
    .sort()
    .reduce((joined, name) => joined + name + parameters[name], url)
  return createHmac('sha1', token).update(text, 'utf8').digest('base64')
}
