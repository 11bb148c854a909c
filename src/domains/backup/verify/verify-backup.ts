import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Session } from '../../../platform/db/database-session.ts'
import { startEmbedded } from '../../../platform/db/embedded.ts'
import { silentLog } from '../../../platform/db/installation-database.ts'
import { mediaCipher, recordingCipher } from '../../../platform/lib/encrypted-file.ts'
import { FileNotFound, localFile, openFile } from '../../../platform/lib/file-store.ts'
import { makeS3Store } from '../../../platform/lib/s3-store.ts'
import { makeSeal, type Seal } from '../../../platform/lib/secret.ts'
import { checkSealedValues, isKeyOf, sealOf } from '../../keys/ops.ts'
import { mebibytes, type RunControl, requireSpace, type Settings } from '../create/create-backup.ts'
import { bucketOf, writeFile } from '../file-folders.ts'
import type { Entry } from '../format/backup-archive.ts'
import { BadBackup } from '../format/envelope.ts'
import type { Manifest, Summary } from '../format/manifest.ts'
import { readBackup } from '../format/read-backup.ts'
import { maxListedFaults } from '../limits.ts'
import { type DatabaseLoad, makeDatabaseLoad } from '../restore/database-load.ts'
import * as store from '../store.ts'
import { makeTemporaryHome } from '../temporary-home.ts'

/** The result of one check; without faults the backup is sound. */
export type Check = { readonly what: string; readonly found: string; readonly faults: readonly string[] }
export type Verdict = { readonly manifest: Manifest; readonly summary: Summary; readonly checks: readonly Check[] }

const countNoun = (number: number, noun: string): string =>
  `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`

/**
 * Returns how a file differs from its row in the database; null when it does not. A file without a row was added after
 * the snapshot.
 */
const faultOf = async (session: Session, seal: Seal, name: string, path: string): Promise<string | null> => {
  const row = await store.findFile(session, name)
  if (!row) return null
  const { size, digest } = row
  if (!row.encrypted) {
    const found = await localFile(path)
    if (digest !== null && found.digest.toString('hex') !== digest) return 'its digest differs from the database'
    return found.size === size ? null : `it has ${found.size} bytes, but ${size} in the database`
  }
  const cipher = row.kind === 'media' ? mediaCipher(seal) : recordingCipher(seal)
  const place = row.kind === 'media' ? row.name : `recordings/${row.name.replace(/\.wav\.enc$/, '')}`
  const hash = createHash('sha256')
  try {
    const file = { account: row.account, place, size }
    for await (const part of await cipher.open((span) => openFile(path, span), file)) hash.update(part)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return digest === null || hash.digest('hex') === digest ? null : 'the digest of its content differs from the database'
}

/**
 * Finds files that the database names and the backup lacks. Files that were already missing during the backup do not
 * count.
 */
const findLost = async (session: Session, manifest: Manifest, summary: Summary): Promise<string[]> => {
  const known = new Set([...summary.deleted, ...summary.missing])
  const lost: string[] = []
  await store.openFiles(session, manifest.recordings_id)
  for (let rows = await store.nextFiles(session, 1_000); rows.length > 0; rows = await store.nextFiles(session, 1_000))
    for (const name of await store.unrecordedFiles(session, rows))
      if (!known.has(name) && !(manifest.bucket !== null && name.startsWith('media/'))) lost.push(name)
  await store.closeFiles(session)
  return lost
}

/** Checks whether the files of messages are in the bucket. */
const checkBucket = async (
  session: Session,
  manifest: Manifest,
  settings: Settings,
  { report }: RunControl,
): Promise<Check[]> => {
  if (manifest.bucket === null) return []
  const what = `files in ${manifest.bucket}`
  const { mediaStore } = settings
  if (mediaStore === null || bucketOf(mediaStore) !== manifest.bucket)
    return [{ what, found: 'not checked: TRUNKLINE_MEDIA_STORE does not name this bucket', faults: [] }]
  const bucket = makeS3Store(mediaStore)
  const faults: string[] = []
  let files = 0
  await store.openFiles(session, null)
  for (let rows = await store.nextFiles(session, 16); rows.length > 0; rows = await store.nextFiles(session, 16)) {
    const media = rows.filter(({ kind }) => kind === 'media')
    const found = await Promise.all(
      media.map(({ name }) =>
        bucket.get(name, { start: 0, end: 0 }).then(
          (body) => void body.destroy(),
          (error: unknown) => (error instanceof FileNotFound ? `${name} is missing` : `${name}: ${error}`),
        ),
      ),
    )
    faults.push(...found.filter((fault) => fault !== undefined))
    files += media.length
    report(`${countNoun(files, 'file')} in the bucket`)
  }
  await store.closeFiles(session)
  return [{ what, found: countNoun(files, 'file'), faults }]
}

/** Compares the restored database with the manifest and the summary of its backup. */
const checksOf = async (
  session: Session,
  { manifest, master, summary }: { readonly manifest: Manifest; readonly master: Buffer; readonly summary: Summary },
  fileFaults: readonly string[],
): Promise<Check[]> => {
  const unbalanced = await store.unbalanced(session)
  await session.raw('begin')
  const sealed = await checkSealedValues(session, master)
  const { money } = manifest
  return [
    {
      what: 'rows',
      found: `${countNoun(
        Object.values(summary.rows).reduce((sum, rows) => sum + rows, 0),
        'row',
      )} of ${countNoun(manifest.tables.length, 'table')}`,
      faults: [],
    },
    {
      what: 'money',
      found: `${countNoun(money.transfers, 'transfer')} of USD ${money.transferred}, balances of USD ${money.balances}, holds of USD ${money.held}`,
      faults: unbalanced.map(
        ({ account_id, balance, sum }) =>
          `account ${account_id}: its balance is ${balance}, but the sum of its transfers is ${sum}`,
      ),
    },
    {
      what: 'master key',
      found: 'its fingerprint is that of the database',
      faults: (await isKeyOf(session, master)) ? [] : ['it is not the key of the database'],
    },
    {
      what: 'sealed secrets',
      found: countNoun(
        sealed.reduce((sum, { values }) => sum + values, 0),
        'value',
      ),
      faults: sealed
        .filter(({ broken }) => broken > 0)
        .map(({ column, values, broken }) => `${column}: ${broken} of ${values} do not open`),
    },
    {
      what: 'files',
      found: `${countNoun(summary.files, 'file')}, ${mebibytes(summary.bytes)}`,
      faults: fileFaults,
    },
  ]
}

/**
 * Restores a backup to a temporary database, and compares.
 * @throws BadBackup or Unreadable if the file itself is not a complete backup
 */
export const verifyBackup = async (
  settings: Settings,
  file: string,
  passphrase: string,
  course: RunControl,
): Promise<Verdict> => {
  const { report, signal } = course
  const { home, remove } = await makeTemporaryHome('verify')
  const endings: (() => Promise<void>)[] = [remove]
  try {
    const held: { seal: Seal | null; master: Buffer; loading: DatabaseLoad | null } = {
      seal: null,
      master: Buffer.alloc(0),
      loading: null,
    }
    const faults: string[] = []
    const path = join(home, 'file')
    let files = 0
    const entry = async (one: Entry): Promise<void> => {
      signal.throwIfAborted()
      const { loading } = held
      if (!loading) throw new Error('an entry of a backup was read that did not begin')
      await requireSpace(home, one.size)
      if (await loading.entry(one)) return
      const session = await loading.end()
      if (files === 0) await store.prepareFileList(session)
      files += 1
      report(`file ${files.toLocaleString('en')}`)
      await writeFile(path, one)
      // A previous key that cannot be opened counts as a fault of the sealed secrets.
      held.seal ??= await sealOf(session, held.master).catch(() => makeSeal(held.master))
      const fault = await faultOf(session, held.seal, one.name, path)
      if (fault !== null) faults.push(`${one.name}: ${fault}`)
      if (!(await store.recordFile(session, one.name)))
        throw new BadBackup(`The backup has the file ${one.name} twice.`)
    }
    const begin = async (manifest: Manifest, master: Buffer): Promise<void> => {
      await requireSpace(home, manifest.database_bytes)
      held.master = master
      const { url, stop } = await startEmbedded({ home, log: silentLog, durable: false })
      endings.push(stop)
      const loading = makeDatabaseLoad(url, report)
      endings.push(loading.close)
      await loading.begin(manifest)
      held.loading = loading
    }
    const { manifest, master, summary } = await readBackup(file, passphrase, { begin, entry })
    const { loading } = held
    if (!loading) throw new Error('a backup was read that did not begin')
    const session = await loading.end()
    if (files === 0) await store.prepareFileList(session)
    const lost = await findLost(session, manifest, summary)
    const bucket = await checkBucket(session, manifest, settings, course)
    await loading.commit(summary)
    const missing = lost.map((name) => `${name} is named by the database but missing in the backup`)
    const checks = [...(await checksOf(session, { manifest, master, summary }, [...faults, ...missing])), ...bucket]
    return {
      manifest,
      summary,
      checks: checks.map((check) => ({ ...check, faults: check.faults.slice(0, maxListedFaults) })),
    }
  } finally {
    for (const end of endings.toReversed()) await end()
  }
}
