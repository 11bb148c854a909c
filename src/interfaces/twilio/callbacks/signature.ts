import { createHmac } from 'node:crypto'

/** Parameters of a request, in any order. */
export type Parameters = Readonly<Record<string, string>>

/** Returns an address as it is requested and signed: without its fragment, which has our own overrides. */
export const requestedUrl = (url: string): string => {
  const parsed = new URL(url)
  parsed.hash = ''
  return parsed.href
}

/** Returns an address with the parameters of a GET in its query. */
export const withQuery = (url: string, parameters: Parameters): string => {
  const parsed = new URL(requestedUrl(url))
  for (const [name, value] of Object.entries(parameters)) parsed.searchParams.append(name, value)
  return parsed.href
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
