import { createHmac, timingSafeEqual } from 'node:crypto'

/** The address with an explicit port, as DIDWW signs it. Null if it is not an HTTP address. */
const withPort = (url: string): string | null => {
  const match = /^(https?):\/\/([^/?#]*)(.*)$/s.exec(url)
  if (!match) return null
  const [, scheme = '', authority = '', rest = ''] = match
  const port = /:\d+$/.test(authority) ? '' : scheme === 'https' ? ':443' : ':80'
  return `${scheme}://${authority}${port}${rest}`
}

/**
 * Returns the signature of a callback: HMAC-SHA1 in hex, under the callback secret. The signed text is the address,
 * then every parameter's name and value, sorted by name (DIDWW API 3, "Callback Details"). Null when the address is
 * invalid.
 */
export const sign = (secret: string, url: string, parameters: ReadonlyMap<string, string>): string | null => {
  const address = withPort(url)
  if (address === null) return null
  const pairs = [...parameters].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => name + value)
  return createHmac('sha1', secret)
    .update(address + pairs.join(''))
    .digest('hex')
}

/** Returns true for the secret's signature; compares in constant time. */
export const isSigned = (
  secret: string,
  url: string,
  parameters: ReadonlyMap<string, string>,
  signature: string,
): boolean => {
  const expected = Buffer.from(sign(secret, url, parameters) ?? '')
  const received = Buffer.from(signature)
  return expected.length > 0 && expected.length === received.length && timingSafeEqual(expected, received)
}
