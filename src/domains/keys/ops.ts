import { hash, randomBytes } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { openSession } from '../../platform/db/database-session.ts'
import { openExclusively } from '../../platform/db/installation-database.ts'
import type { Admit, Db, Sql } from '../../platform/db/sql.ts'
import { syncToDisk } from '../../platform/lib/file-store.ts'
import { makeSeal, type Seal } from '../../platform/lib/secret.ts'
import { makeSigningSecret } from '../../platform/lib/webhook-signature.ts'
import * as store from './store.ts'

export type MasterKey = {
  /** Folder of the key file. */
  readonly home: string
  /** Key from the settings, which overrides the file. */
  readonly given: string | null
  /** Give up all secrets if the key does not match. */
  readonly forget: boolean
}

const fileIn = (home: string): string => join(home, 'keys', 'master')

/** Beginning of a value of TRUNKLINE_MASTER_KEY that has the 32 bytes of a key file in base64url. */
const exportedPrefix = 'trunkline-key-file:'

/** Returns the key of a value of TRUNKLINE_MASTER_KEY: its digest, or the bytes of a key file that it holds. */
const masterOf = (value: string): Buffer => {
  const bytes = Buffer.from(value.startsWith(exportedPrefix) ? value.slice(exportedPrefix.length) : '', 'base64url')
  const isExported = bytes.length === 32 && value === `${exportedPrefix}${bytes.toString('base64url')}`
  return isExported ? bytes : hash('sha256', value, 'buffer')
}

/** Returns the 32 bytes of the master key; null if neither the settings nor the home have one. */
export const readMaster = ({ home, given: configured }: Pick<MasterKey, 'home' | 'given'>): Buffer | null => {
  if (configured !== null) return masterOf(configured)
  return existsSync(fileIn(home)) ? readFileSync(fileIn(home)) : null
}

const writeDurably = async (path: string, content: Buffer | string): Promise<void> => {
  // The mode holds for new files only.
  rmSync(`${path}.new`, { force: true })
  writeFileSync(`${path}.new`, content, { mode: 0o600, flag: 'wx' })
  await syncToDisk(`${path}.new`)
  renameSync(`${path}.new`, path)
  await syncToDisk(dirname(path))
}

/** Writes a master key into a home without one; durable once resolved. */
export const writeMaster = async (home: string, master: Buffer): Promise<void> => {
  mkdirSync(join(home, 'keys'), { recursive: true, mode: 0o700 })
  await writeDurably(fileIn(home), master)
}

/** File of the next key during a rotation. */
const nextIn = (home: string): string => `${fileIn(home)}.next`

/** Replaces the key file by the next key. Keeps the previous key for older copies of the database. */
const installNextKey = async (home: string): Promise<string> => {
  const old = `${fileIn(home)}.${fingerprintOf(makeSeal(readFileSync(fileIn(home))))}`
  if (!existsSync(old)) linkSync(fileIn(home), old)
  renameSync(nextIn(home), fileIn(home))
  await syncToDisk(join(home, 'keys'))
  return old
}

/** Finishes a rotation that was killed after its commit. */
const finishRotation = async (home: string, expected: string | null, say: (text: string) => void): Promise<void> => {
  if (expected === null || !existsSync(nextIn(home)) || !existsSync(fileIn(home))) return
  if (fingerprintOf(makeSeal(readFileSync(nextIn(home)))) !== expected) return
  await installNextKey(home)
  say(`The interrupted rotation of the master key has been completed: ${fileIn(home)} is the new key.`)
}

const formerPlace = 'former master key'

/** Returns the previous master keys, newest first. */
const formerOf = async (sql: Sql, seal: Seal): Promise<Buffer[]> =>
  (await store.formerKeys(sql)).map((sealed) => seal.openBytes(Buffer.from(sealed, 'base64'), formerPlace))

/** Makes the seal of a master key and the previous keys. */
export const sealOf = async (sql: Sql, master: Buffer): Promise<Seal> =>
  makeSeal(master, await formerOf(sql, makeSeal(master)))

/** Whether the database accepts the master key: it has no fingerprint, or that of this key. */
export const acceptsKey = async (sql: Sql, master: Buffer): Promise<boolean> => {
  const expected = await store.fingerprint(sql)
  return expected === null || expected === fingerprintOf(makeSeal(master))
}

/**
 * Whether the database has the fingerprint of the master key. Every database that a platform has started on has one:
 * without it, nothing shows that database and key belong together.
 */
export const isKeyOf = async (sql: Sql, master: Buffer): Promise<boolean> =>
  (await store.fingerprint(sql)) === fingerprintOf(makeSeal(master))

/** Fingerprint that identifies a key without revealing it: 8 bytes of HKDF, in hexadecimal. */
const fingerprintOf = (seal: Seal): string => seal.derive('fingerprint').subarray(0, 8).toString('hex')

const listed = (name: string, items: readonly string[]): string[] =>
  items.length === 0 ? [] : [`  ${name}: ${items.slice(0, 20).join(', ')}${items.length > 20 ? ' …' : ''}`]

const counted = (name: string, count: number): string[] => (count === 0 ? [] : [`  ${name}: ${count}`])

/** Lists the secrets to enter again after all are given up. */
const describe = ({ connections, channels, webhooks, documents, answers }: store.LostSecrets): string =>
  [
    ...listed('connections whose passwords have to be entered again', connections),
    ...listed('numbers of the messaging app that have to be paired again', channels),
    ...counted('webhooks that get a new signing secret', webhooks.length),
    ...counted('documents that accounts have to upload again', documents),
    ...counted('answers to regulators that accounts have to give again', answers),
    '  voice tokens and files that are encrypted at rest',
  ].join('\n')

const refuse = async (db: Db, fault: string, { home, given: configured }: MasterKey): Promise<never> => {
  const place = configured === null ? fileIn(home) : 'TRUNKLINE_MASTER_KEY'
  throw new Error(`${fault}
Ways out:
- put the right key back: in TRUNKLINE_MASTER_KEY, or as the file ${fileIn(home)} (here: ${place});
- or start once with --forget-secrets, which gives up for good what only the lost key can open:
${describe(await store.findLostSecrets(db))}`)
}

/**
 * Opens the seal of this installation. The master key comes from the settings, or is created at the first start and
 * stored in the home, readable by its owner only. The database stores its fingerprint: a process with another key does
 * not start.
 * @param say prints a line for the operator
 * @throws Error with the remedies, if the key is missing or does not match
 */
export const openSeal = async (db: Db, key: MasterKey, say: (text: string) => void): Promise<Seal> => {
  const { home, given: configured, forget } = key
  const path = fileIn(home)
  const expected = await store.fingerprint(db)
  const secret = expected === null ? await store.anySecret(db) : null
  if (configured === null) await finishRotation(home, expected, say)
  if (configured === null && !existsSync(path)) {
    if ((expected !== null || secret !== null) && !forget)
      await refuse(
        db,
        `The master key is missing: ${path} is not there, and the database has secrets that it sealed.`,
        key,
      )
    await writeMaster(home, randomBytes(32))
  }
  const master = readMaster(key) ?? Buffer.alloc(0)
  const seal = makeSeal(master)
  const own = fingerprintOf(seal)
  const opens = secret === null || canOpen(seal, secret)
  if (forget && (!opens || (expected !== null && expected !== own))) {
    say(`Giving up the secrets of the lost master key:\n${describe(await store.findLostSecrets(db))}`)
    await db.begin(async (tx) => {
      await store.forgetSecrets(tx, () => seal.close(makeSigningSecret()))
      await store.replaceFingerprint(tx, own)
    })
    return seal
  }
  if (!opens) await refuse(db, 'The master key is not the one that sealed the secrets of this database.', key)
  const stored = expected ?? (await db.begin((tx) => store.keepFingerprint(tx, own)))
  if (stored !== own)
    await refuse(
      db,
      `The master key is not the one that sealed the secrets of this database: its fingerprint is ${own}, that of the right one is ${stored}.`,
      key,
    )
  return await sealOf(db, master)
}

const canOpen = (seal: Seal, sealed: Buffer, place = ''): boolean => {
  try {
    seal.openBytes(sealed, place)
    return true
  } catch {
    return false
  }
}

/** Number of sealed values of one column, and of those that do not open. */
export type SealedCount = { readonly column: string; readonly values: number; readonly broken: number }

/** Tries to open every sealed value of the database. */
export const checkSealedValues = async (sql: Sql, master: Buffer): Promise<SealedCount[]> => {
  const seal = makeSeal(master)
  const counts: SealedCount[] = []
  for (const column of await store.presentSealedColumns(sql)) {
    let [values, broken] = [0, 0]
    for await (const rows of store.sealedRows(sql, column))
      for (const { sealed, place } of rows) {
        values += 1
        if (!canOpen(seal, sealed, place)) broken += 1
      }
    counts.push({ column: column.name, values, broken })
  }
  const answers = (await store.sealedOrders(sql)).flatMap(({ answers }) =>
    answers.flatMap(({ sealed }) => sealed ?? []),
  )
  const broken = answers.filter((sealed) => !canOpen(seal, Buffer.from(sealed, 'base64'))).length
  counts.push({ column: 'number_orders.answers', values: answers.length, broken })
  const former = await store.formerKeys(sql)
  const unread = former.filter((sealed) => !canOpen(seal, Buffer.from(sealed, 'base64'), formerPlace)).length
  return [...counts, { column: 'installation_state.former-master-keys', values: former.length, broken: unread }]
}

/** Reseals all values and stores the previous key, in the caller's transaction, which must hold the locks. */
const resealAll = async (sql: Sql, from: Seal, to: Seal, before: Buffer): Promise<number> => {
  const again = (sealed: Buffer, place = '') => to.closeBytes(from.openBytes(sealed, place), place)
  let values = 0
  for (const column of store.sealedColumnList)
    for await (const rows of store.sealedRows(sql, column)) {
      values += rows.length
      await store.reseal(
        sql,
        column,
        rows.map(({ row, sealed, place }) => ({ row, sealed: again(sealed, place) })),
      )
    }
  for (const order of await store.sealedOrders(sql)) {
    const answers = order.answers.map((answer) => ({
      ...answer,
      sealed: answer.sealed === null ? null : again(Buffer.from(answer.sealed, 'base64')).toString('base64'),
    }))
    values += answers.filter(({ sealed }) => sealed !== null).length
    await store.resealOrder(sql, { ...order, answers })
  }
  const former = [before, ...(await formerOf(sql, from))]
  await store.replaceFormer(
    sql,
    former.map((one) => to.closeBytes(one, formerPlace).toString('base64')),
  )
  return values
}

/**
 * Writes the key file of a home as a value for TRUNKLINE_MASTER_KEY. It is the same key: processes with the file and
 * processes with the setting run together, and no value is sealed again.
 * @param to file that does not exist yet; only its owner may read it
 * @returns the fingerprint of the key
 * @throws Error if there is no key file, a setting replaces it, or an interrupted rotation is not finished
 */
export const exportMaster = async (
  { home, given }: Pick<MasterKey, 'home' | 'given'>,
  to: string,
): Promise<{ readonly fingerprint: string }> => {
  const path = fileIn(resolve(home))
  if (given !== null) throw new Error('The master key comes from TRUNKLINE_MASTER_KEY: there is nothing to export.')
  if (!existsSync(path)) throw new Error(`There is no key file: ${path} does not exist.`)
  if (existsSync(nextIn(resolve(home))))
    throw new Error('A rotation of the master key was interrupted: start the platform once, which finishes it.')
  if (existsSync(to)) throw new Error(`${to} exists: name a file that does not.`)
  const master = readFileSync(path)
  await writeDurably(to, `${exportedPrefix}${master.toString('base64url')}\n`)
  return { fingerprint: fingerprintOf(makeSeal(master)) }
}

/** Options of a rotation. `nextFile` holds the next value of TRUNKLINE_MASTER_KEY, or is created with one; null for a
 *  key file. */
export type Rotation = Pick<MasterKey, 'home' | 'given'> & {
  readonly databaseUrl: string | null
  readonly nextFile: string | null
}

export type RotationResult = {
  readonly values: number
  readonly fingerprint: string
  /** Path of the new key; `before` is the path of the previous one. */
  readonly file: string
  readonly before: string | null
}

/** Makes the next key, durable on disk before any value is sealed under it. */
const makeNext = async ({ home, given: configured, nextFile }: Rotation): Promise<Buffer> => {
  if (configured === null) {
    if (nextFile !== null)
      throw new Error(
        '--new-key-file is for installations that set TRUNKLINE_MASTER_KEY: here the key is a file in TRUNKLINE_HOME.',
      )
    const next = randomBytes(32)
    await writeDurably(nextIn(home), next)
    return next
  }
  if (nextFile === null)
    throw new Error(
      'The master key comes from TRUNKLINE_MASTER_KEY: give --new-key-file FILE, which holds its next value. A FILE that does not exist is made with a new one.',
    )
  if (!existsSync(nextFile)) await writeDurably(nextFile, `${makeSigningSecret()}\n`)
  const next = readFileSync(nextFile, 'utf8').trim()
  if (next.length < 20) throw new Error(`${nextFile} holds ${next.length} characters; a master key has at least 20.`)
  if (next === configured) throw new Error(`${nextFile} holds the current key: provide a new one.`)
  return masterOf(next)
}

/**
 * Reseals all secrets under a new master key, in one transaction. The platform must not run. After a kill at any
 * moment, the installation starts with the old key before the commit, and with the new one after it.
 * @throws Error, without any change, if a platform runs or a value does not open under the current key
 */
export const rotateMaster = async (rotation: Rotation): Promise<RotationResult> => {
  const home = resolve(rotation.home)
  const database = await openExclusively(home, rotation.databaseUrl)
  try {
    const session = await openSession(database.url)
    try {
      await finishRotation(home, await store.fingerprint(session), () => {})
      const present = readMaster({ home, given: rotation.given })
      if (present === null) throw new Error(`There is no master key in ${home}, and TRUNKLINE_MASTER_KEY is not set.`)
      if (!(await acceptsKey(session, present)))
        throw new Error(
          'The master key here is not the one of this database: start the platform once to see the remedies.',
        )
      if (rotation.databaseUrl !== null && (await store.countAlive(session)) > 0)
        throw new Error('A platform runs on the database: stop every process, and wait for 20 s if one was killed.')
      await session.raw('begin')
      await store.lockAll(session)
      const broken = (await checkSealedValues(session, present)).filter(({ broken }) => broken > 0)
      if (broken.length > 0)
        throw new Error(
          `Some values do not open under the current master key; nothing was changed: ${broken.map(({ column, values, broken }) => `${column} (${broken} of ${values})`).join(', ')}.`,
        )
      const next = await makeNext({ ...rotation, home })
      const [from, to] = [makeSeal(present), makeSeal(next)]
      const values = await resealAll(session, from, to, present)
      await store.replaceFingerprint(session, fingerprintOf(to))
      await session.raw('commit')
      const before = rotation.given === null ? await installNextKey(home) : null
      return { values, fingerprint: fingerprintOf(to), file: rotation.nextFile ?? fileIn(home), before }
    } finally {
      await session.end()
    }
  } finally {
    await database.close()
  }
}

/** Thrown when the master key of the database was replaced after the start of this process. */
export class KeyReplaced extends Error {}

/** Makes a check that refuses new connections after the master key was replaced, so that the process writes no value
 *  under the old key. */
export const admitWith =
  (seal: Seal): Admit =>
  async (sql) => {
    const expected = await store.fingerprint(sql)
    if (expected !== null && expected !== fingerprintOf(seal))
      throw new KeyReplaced('The master key of the database was replaced: start again with the new one.')
  }
