import { createCipheriv, createDecipheriv, createHmac, hash, hkdfSync, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const base62 = (value: bigint, width: number): string => {
  let text = ''
  for (let rest = value; rest > 0n; rest /= 62n) text = alphabet[Number(rest % 62n)] + text
  return text.padStart(width, '0')
}

const checksum = (body: string): string => base62(BigInt(crc32(body)), 6)

const ours = /^(UAK|OPK)[0-9A-Za-z]{43}([0-9A-Za-z]{6})$/

/** A new key: prefix, 32 random bytes in base62, and a checksum that lets scanners and us refuse a false one unseen. */
export const makeKey = (prefix: 'UAK' | 'OPK'): string => {
  const body = prefix + base62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43)
  return body + checksum(body)
}

/** True when the text has the form of a key of ours but a wrong checksum: no need to ask the database. */
export const isFalseKey = (key: string): boolean => {
  const match = ours.exec(key)
  return match !== null && checksum(key.slice(0, -6)) !== match[2]
}

/** What is kept of a key: its SHA-256. */
export const keyHash = (key: string): Buffer => hash('sha256', key, 'buffer')

/** The same as text, for use in a Map. */
export const keyDigest = (key: string): string => hash('sha256', key, 'base64')

/** Seals secrets that must be read again (carrier passwords, signing keys): AES-256-GCM under the master key. */
export type Seal = {
  close(plain: string): Buffer
  open(sealed: Buffer): string
  /** Bytes, bound to their place: what was sealed for one place cannot be opened in another. */
  closeBytes(plain: Buffer, place: string): Buffer
  openBytes(sealed: Buffer, place: string): Buffer
  /** Proves later that this text is ours: HMAC-SHA256 in base64url, under a key of its own (RFC 5869). */
  sign(text: string): string
  /** A secret of its own for one purpose, the same in every process: 32 bytes (RFC 5869). */
  derive(purpose: string): Buffer
}

/** @param master 32 bytes */
export const makeSeal = (master: Buffer): Seal => {
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
    derive,
    sign: (text) => createHmac('sha256', signing).update(text).digest('base64url'),
    close: (plain) => closeBytes(Buffer.from(plain), ''),
    open: (sealed) => openBytes(sealed, '').toString('utf8'),
    closeBytes,
    openBytes,
  }
}
