import { createHmac, timingSafeEqual } from 'node:crypto'

/** The address with its port written out, as DIDWW signs it. Null for what is no address of HTTP. */
const withPort = (url: string): string | null => {
  const match = /^(https?):\/\/([^/?#]*)(.*)$/s.exec(url)
  if (!match) return null
  const [, scheme = '', authority = '', rest = ''] = match
  const port = /:\d+$/.test(authority) ? '' : scheme === 'https' ? ':443' : ':80'
  return `${scheme}://${authority}${port}${rest}`
}

/**
 * The signature of a callback: HMAC-SHA1 in hex, under the callback secret, of the address and then every parameter's name
 * and value in the order of the names (DIDWW API 3, "Callback Details"). Null when the address cannot be called.
 */
export const sign = (secret: string, url: string, parameters: ReadonlyMap<string, string>): string | null => {
  const address = withPort(url)
  if (address === null) return null
  const pairs = [...parameters].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => name + value)
  return createHmac('sha1', secret)
    .update(address + pairs.join(''))
    .digest('hex')
}

/** True for the signature that the secret makes; told in constant time. */
export const isSigned = (
  secret: string,
  url: string,
  parameters: ReadonlyMap<string, string>,
  signature: string,
): boolean => {
  const expected = Buffer.from(sign(secret, url, parameters) ?? '')
  const given = Buffer.from(signature)
  return expected.length > 0 && expected.length === given.length && timingSafeEqual(expected, given)
}
