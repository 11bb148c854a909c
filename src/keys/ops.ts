import { hash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Db } from '../db/sql.ts'
import { makeSeal, type Seal } from '../lib/secret.ts'
import { makeSecret } from '../lib/signature.ts'
import * as store from './store.ts'

export type MasterKey = {
  /** The folder in which the key file is, or is made. */
  readonly home: string
  /** The key of the settings, which takes the place of the file. */
  readonly given: string | null
  /** Give up all secrets where the key does not fit. */
  readonly forget: boolean
}

/** Tells keys apart without telling anything about them: 8 bytes of HKDF, in hexadecimal digits. */
const fingerprintOf = (seal: Seal): string => seal.derive('fingerprint').subarray(0, 8).toString('hex')

const makeFile = (path: string): void => {
  writeFileSync(`${path}.new`, randomBytes(32), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

const listed = (name: string, items: readonly string[]): string[] =>
  items.length === 0 ? [] : [`  ${name}: ${items.slice(0, 20).join(', ')}${items.length > 20 ? ' …' : ''}`]

const counted = (name: string, count: number): string[] => (count === 0 ? [] : [`  ${name}: ${count}`])

/** Lists the secrets that have to be entered again once all are given up. */
const describe = ({ connections, channels, webhooks, documents, answers }: store.Forgotten): string =>
  [
    ...listed('connections whose passwords have to be entered again', connections),
    ...listed('numbers of the messaging app that have to be paired again', channels),
    ...counted('webhooks that get a new signing secret', webhooks.length),
    ...counted('documents that accounts have to upload again', documents),
    ...counted('answers to regulators that accounts have to give again', answers),
    '  voice tokens and files that are encrypted at rest',
  ].join('\n')

const refuse = async (db: Db, fault: string, { home, given }: MasterKey): Promise<never> => {
  const place = given === null ? join(home, 'keys', 'master') : 'TRUNKLINE_MASTER_KEY'
  throw new Error(`${fault}
Ways out:
- put the right key back: in TRUNKLINE_MASTER_KEY, or as the file ${join(home, 'keys', 'master')} (here: ${place});
- or start once with --forget-secrets, which gives up for good what only the lost key can open:
${describe(await store.lost(db))}`)
}

/**
 * Opens the seal of this installation. Its master key comes from the settings, or is made at the first start and kept in the
 * home, readable by its owner alone. The database keeps a fingerprint of it: a process with another key does not start.
 * @param say prints a line for the person who started it
 * @throws Error when the key is missing or another one, with the ways out
 */
export const openSeal = async (db: Db, key: MasterKey, say: (text: string) => void): Promise<Seal> => {
  const { home, given, forget } = key
  const path = join(home, 'keys', 'master')
  const expected = await store.fingerprint(db)
  const secret = expected === null ? await store.anySecret(db) : null
  if (given === null && !existsSync(path)) {
    if ((expected !== null || secret !== null) && !forget)
      await refuse(
        db,
        `The master key is missing: ${path} is not there, and the database has secrets that it sealed.`,
        key,
      )
    mkdirSync(join(home, 'keys'), { recursive: true, mode: 0o700 })
    makeFile(path)
  }
  const seal = makeSeal(given === null ? readFileSync(path) : hash('sha256', given, 'buffer'))
  const own = fingerprintOf(seal)
  const opens = secret === null || canOpen(seal, secret)
  if (forget && (!opens || (expected !== null && expected !== own))) {
    say(`Giving up the secrets of the lost master key:\n${describe(await store.lost(db))}`)
    await db.begin(async (tx) => {
      await store.forget(tx, () => seal.close(makeSecret()))
      await store.replaceFingerprint(tx, own)
    })
    return seal
  }
  if (!opens) await refuse(db, 'The master key is not the one that sealed the secrets of this database.', key)
  const kept = expected ?? (await db.begin((tx) => store.keepFingerprint(tx, own)))
  if (kept !== own)
    await refuse(
      db,
      `The master key is not the one that sealed the secrets of this database: its fingerprint is ${own}, that of the right one is ${kept}.`,
      key,
    )
  return seal
}

const canOpen = (seal: Seal, sealed: Buffer): boolean => {
  try {
    seal.open(sealed)
    return true
  } catch {
    return false
  }
}
