import { createCipheriv, createDecipheriv, createHmac, hash, hkdfSync, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const base62 = (value: bigint, width: number): string => {
  let text = ''
  for (let rest = value; rest > 0n; rest /= 62n) text = alphabet[Number(rest % 62n)] + text
  return text.padStart(width, '0')
}

const checksum = (body: string): string => base62(BigInt(crc32(body)), 6)

const generatedKey = /^(UAK|OPK)[0-9A-Za-z]{43}([0-9A-Za-z]{6})$/

/** Returns a new key: prefix, 32 random bytes in base62, and a checksum, which reveals false keys without a look-up. */
export const makeKey = (prefix: 'UAK' | 'OPK'): string => {
  const body = prefix + base62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43)
  return body + checksum(body)
}

/** True if a key has the form of a generated key but a wrong checksum: the database need not be queried. */
export const isFalseKey = (key: string): boolean => {
  const match = generatedKey.exec(key)
  return match !== null && checksum(key.slice(0, -6)) !== match[2]
}

/** Returns the stored form of a key: its SHA-256. */
export const keyHash = (key: string): Buffer => hash('sha256', key, 'buffer')

/** Returns the SHA-256 of a key as text, for use in a Map. */
export const keyDigest = (key: string): string => hash('sha256', key, 'base64')

/** Encrypts secrets that must be read again (carrier passwords, signing keys): AES-256-GCM under the master key. */
export type Seal = {
  close(plain: string): Buffer
  open(sealed: Buffer): string
  /** Encrypts bytes bound to a place (additional data): they cannot be opened for another place. */
  closeBytes(plain: Buffer, place: string): Buffer
  openBytes(sealed: Buffer, place: string): Buffer
  /** Returns the HMAC-SHA256 of a text in base64url, under a separate derived key (RFC 5869). */
  sign(text: string): string
  /** Seals of the former master keys, newest first, for files that were encrypted under them. */
  readonly former: readonly Seal[]
  /** Derives a secret of 32 bytes for one purpose, the same in every process (RFC 5869). */
  derive(purpose: string): Buffer
}

/** @param master 32 bytes @param former earlier master keys, newest first */
export const makeSeal = (master: Buffer, former: readonly Buffer[] = []): Seal => {
  const closeBytes = (plain: Buffer, place: string) => {
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', master, nonce).setAAD(Buffer.from(place))
    return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
  }
  const openBytes = (sealed: Buffer, place: string) => {
    const decipher = createDecipheriv('aes-256-gcm', master, sealed.subarray(0, 12)).setAAD(Buffer.from(place))
    decipher.setAuthTag(sealed.subarray(-16))
    return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()])
  }
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', master, '', purpose, 32))
  const signing = derive('signatures')
  return {
    former: former.map((one) => makeSeal(one)),
    derive,
    sign: (text) => createHmac('sha256', signing).update(text).digest('base64url'),
    close: (plain) => closeBytes(Buffer.from(plain), ''),
    open: (sealed) => openBytes(sealed, '').toString('utf8'),
    closeBytes,
    openBytes,
  }
}
