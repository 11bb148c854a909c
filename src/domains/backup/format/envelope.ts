import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { decryptChunks, encryptChunks } from '../../../platform/lib/chunk-cipher.ts'
import { maxScryptLog, minPassphraseLength } from '../limits.ts'

// A backup is a header of 64 bytes, then the chunks of chunk-cipher.ts. Numbers are big-endian.
//
//   0  magic "TRNKBKUP"    10  log2 of N, r, p of scrypt (1 byte each)    16  salt (32 bytes)
//   8  version             13  zero                                       48  check of the passphrase (16 bytes)
//
// Scrypt (RFC 7914) derives the key and the check of the passphrase. Its salt is the first 48 bytes, so that a changed
// header yields another key.

const magic = Buffer.from('TRNKBKUP')
const version = 1
const saltedBytes = 48
const headerBytes = 64
/** 128 MiB of memory and about 0.4 s per guess. */
const scryptCost = { log: 17, r: 8, p: 1 }

/** The backup cannot be used; the message is for the user. */
export class BadBackup extends Error {}

/** @throws BadBackup */
export const checkPassphrase = (passphrase: string): void => {
  if (passphrase.length < minPassphraseLength)
    throw new BadBackup(
      `The passphrase has ${passphrase.length} characters; ${minPassphraseLength} or more are needed.`,
    )
}

const keysOf = async (passphrase: string, salt: Buffer): Promise<{ key: Buffer; check: Buffer }> => {
  const [log, r, p] = [salt.readUInt8(10), salt.readUInt8(11), salt.readUInt8(12)]
  if (log < 14 || log > maxScryptLog || r !== scryptCost.r || p !== scryptCost.p)
    throw new BadBackup('The beginning of the file was damaged: no backup has such a header.')
  const options = { N: 2 ** log, r, p, maxmem: 256 * r * 2 ** log }
  // A cast, as the types of promisify() know one overload only.
  const derive = promisify(scrypt) as (text: string, salt: Buffer, length: number, how: object) => Promise<Buffer>
  const bytes = await derive(passphrase.normalize('NFKC'), salt, 48, options)
  return { key: bytes.subarray(0, 32), check: bytes.subarray(32) }
}

/** Encrypts a stream under a passphrase. The header names the cost. */
export const makeEncryption = async (passphrase: string, scryptLog: number = scryptCost.log) => {
  checkPassphrase(passphrase)
  const salt = Buffer.alloc(saltedBytes)
  magic.copy(salt)
  salt.writeUInt16BE(version, 8)
  salt.set([scryptLog, scryptCost.r, scryptCost.p], 10)
  randomBytes(32).copy(salt, 16)
  const { key, check } = await keysOf(passphrase, salt)
  return async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    yield Buffer.concat([salt, check])
    yield* encryptChunks(key, source)
  }
}

/**
 * Returns the decrypted content of a backup.
 * @throws BadBackup for another file or passphrase; the stream throws Unreadable if the file was changed or truncated
 */
export const openEnvelope = async (path: string, passphrase: string): Promise<AsyncGenerator<Buffer>> => {
  const file = await open(path, 'r').catch((error: Error) => {
    throw new BadBackup(`${path} cannot be read: ${error.message}`)
  })
  const header = Buffer.alloc(headerBytes)
  const { bytesRead } = await file.read(header, 0, headerBytes, 0).finally(() => file.close())
  if (bytesRead < headerBytes || !header.subarray(0, magic.length).equals(magic))
    throw new BadBackup(`${path} is not a backup of Trunkline.`)
  if (header.readUInt16BE(8) !== version)
    throw new BadBackup(`${path} was made by a newer version of Trunkline: use that version or a later one.`)
  const { key, check } = await keysOf(passphrase, header.subarray(0, saltedBytes))
  if (!timingSafeEqual(check, header.subarray(saltedBytes)))
    throw new BadBackup(`The passphrase does not open ${path}. If it is right, the beginning of the file was damaged.`)
  return decryptChunks(key, createReadStream(path, { start: headerBytes }))
}
