import { createCipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto'

// Message encryption for Web Push: RFC 8291, with the content coding aes128gcm of RFC 8188.

const curve = 'prime256v1'
/** Record size. The message is one record. */
const recordSize = 4_096
const tagBytes = 16

/** Keys of a browser: RFC 8291, 2. */
export type BrowserKeys = { readonly p256dh: Buffer; readonly auth: Buffer }

const hkdf = (secret: Buffer, salt: Buffer, info: Buffer, bytes: number) =>
  Buffer.from(hkdfSync('sha256', secret, salt, info, bytes))

/** True if the keys are of the form that browsers make: a point of P-256, and 16 bytes. */
export const areBrowserKeys = ({ p256dh, auth }: BrowserKeys): boolean => {
  if (p256dh.length !== 65 || p256dh[0] !== 4 || auth.length !== 16) return false
  const pair = createECDH(curve)
  pair.generateKeys()
  try {
    // Refuses what is no point of the curve.
    pair.computeSecret(p256dh)
    return true
  } catch {
    return false
  }
}

type EncryptOptions = {
  /** Bytes that the plain text is padded to. */
  readonly paddedBytes?: number
  /** For the test vector of the RFC. Default: random. */
  readonly salt?: Buffer
  readonly privateKey?: Buffer
}

/** Encrypts a message for a browser. @throws RangeError if it does not fit one record */
export const encryptMessage = (
  plain: Buffer,
  { p256dh, auth }: BrowserKeys,
  { paddedBytes = 0, salt = randomBytes(16), privateKey }: EncryptOptions = {},
): Buffer => {
  const own = createECDH(curve)
  if (privateKey) own.setPrivateKey(privateKey)
  else own.generateKeys()
  const padding = Buffer.alloc(Math.max(0, paddedBytes - plain.length))
  // 2 marks the last record (RFC 8188, 2).
  const record = Buffer.concat([plain, Buffer.of(2), padding])
  if (record.length + tagBytes > recordSize) throw new RangeError(`a push message of ${plain.length} bytes is too long`)
  const server = own.getPublicKey()
  // RFC 8291, 3.4.
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), p256dh, server])
  const secret = hkdf(own.computeSecret(p256dh), auth, info, 32)
  const key = hkdf(secret, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16)
  const nonce = hkdf(secret, salt, Buffer.from('Content-Encoding: nonce\0'), 12)
  const cipher = createCipheriv('aes-128-gcm', key, nonce)
  // Salt, record size, length of the key, key: RFC 8188, 2.1.
  const size = Buffer.alloc(4)
  size.writeUInt32BE(recordSize)
  return Buffer.concat([
    ...[salt, size, Buffer.of(server.length), server],
    ...[cipher.update(record), cipher.final(), cipher.getAuthTag()],
  ])
}
