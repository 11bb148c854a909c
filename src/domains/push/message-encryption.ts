import { createCipheriv, createDecipheriv, createECDH, type ECDH, hkdfSync, randomBytes } from 'node:crypto'

// Message encryption for Web Push: RFC 8291, with the content coding aes128gcm of RFC 8188.

const curve = 'prime256v1'
/** Record size. The message is one record. */
const recordSize = 4_096
/** Salt, record size, length of the key, key: RFC 8188, 2.1. */
const headerBytes = 16 + 4 + 1 + 65
const tagBytes = 16

/** Keys of a browser: RFC 8291, 2. */
export type BrowserKeys = { readonly p256dh: Buffer; readonly auth: Buffer }

const hkdf = (secret: Buffer, salt: Buffer, info: Buffer, bytes: number) =>
  Buffer.from(hkdfSync('sha256', secret, salt, info, bytes))

/** RFC 8291, 3.4. @param own one of the two key pairs @param other the public key of the other side */
const contentKeys = (own: ECDH, other: Buffer, auth: Buffer, salt: Buffer, browser: Buffer, server: Buffer) => {
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), browser, server])
  const secret = hkdf(own.computeSecret(other), auth, info, 32)
  return {
    key: hkdf(secret, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16),
    nonce: hkdf(secret, salt, Buffer.from('Content-Encoding: nonce\0'), 12),
  }
}

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
  const { key, nonce } = contentKeys(own, p256dh, auth, salt, p256dh, server)
  const cipher = createCipheriv('aes-128-gcm', key, nonce)
  const size = Buffer.alloc(4)
  size.writeUInt32BE(recordSize)
  return Buffer.concat([
    ...[salt, size, Buffer.of(server.length), server],
    ...[cipher.update(record), cipher.final(), cipher.getAuthTag()],
  ])
}

/** Decrypts a message as a browser does. For tests of the receiver's side. */
export const decryptMessage = (body: Buffer, privateKey: Buffer, auth: Buffer): Buffer => {
  const own = createECDH(curve)
  own.setPrivateKey(privateKey)
  const [salt, server] = [body.subarray(0, 16), body.subarray(21, headerBytes)]
  const { key, nonce } = contentKeys(own, server, auth, salt, own.getPublicKey(), server)
  const decipher = createDecipheriv('aes-128-gcm', key, nonce)
  decipher.setAuthTag(body.subarray(-tagBytes))
  const record = Buffer.concat([decipher.update(body.subarray(headerBytes, -tagBytes)), decipher.final()])
  return record.subarray(0, record.lastIndexOf(2))
}
