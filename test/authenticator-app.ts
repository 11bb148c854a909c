const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Returns the bytes of a secret in base32, as an authenticator app reads it. */
export const bytesOf = (secret: string): Buffer => {
  const bits = [...secret].map((sign) => alphabet.indexOf(sign).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)))
}
