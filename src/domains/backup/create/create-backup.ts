import { existsSync } from 'node:fs'
import { readdir, rename, rm, statfs } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Config } from '../../../config.ts'
import { openSession, type Session } from '../../../platform/db/database-session.ts'
import { openShared } from '../../../platform/db/installation-database.ts'
import { isAlive } from '../../../platform/db/is-alive.ts'
import { syncToDisk } from '../../../platform/lib/file-store.ts'
import { acceptsKey, readMaster } from '../../keys/ops.ts'
import { bucketOf, fileFoldersOf, findFiles, measure, pathOf, readFound, recordingsId } from '../file-folders.ts'
import { type Writer, writeArchive } from '../format/backup-archive.ts'
import { keyName, manifestName, summaryName } from '../format/entry-name.ts'
import { BadBackup } from '../format/envelope.ts'
import { jsonOf, type Manifest, type Summary } from '../format/manifest.ts'
import * as store from '../store.ts'
import { beginSnapshot, dumpTables } from './database-dump.ts'

/** The settings that a backup needs. */
export type Settings = Pick<Config, 'home' | 'databaseUrl' | 'masterKey' | 'mediaStore'>

/** Control and progress of a command. */
export type RunControl = {
  /** Aborts the command; unfinished output is removed. */
  readonly signal: AbortSignal
  /** Receives progress messages. */
  readonly report: (line: string) => void
  /** Base-2 logarithm of scrypt's cost, for tests: the default takes 0.3 s at each opening. */
  readonly scryptLog?: number
}

export type BackupContents = { readonly manifest: Manifest; readonly summary: Summary }

const partialPath = (path: string, pid: number): string => join(dirname(path), `.${basename(path)}.${pid}.partial`)

/** Removes the remains of a killed backup to the same file. */
const removePartialFiles = async (path: string): Promise<void> => {
  const known = new RegExp(`^\\.${RegExp.escape(basename(path))}\\.(\\d+)\\.partial$`)
  for (const name of await readdir(dirname(path))) {
    const pid = Number(known.exec(name)?.[1] ?? 0)
    if (pid > 0 && (pid === process.pid || !isAlive(pid))) await rm(join(dirname(path), name), { force: true })
  }
}

export const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024).toLocaleString('en')} MiB`

/** @throws BadBackup when the disk of a folder has too little room */
export const requireSpace = async (folder: string, needed: number): Promise<void> => {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize < needed)
    throw new BadBackup(`${folder} has ${mebibytes(bavail * bsize)} free, and about ${mebibytes(needed)} are needed.`)
}

const readManifest = async (
  session: Session,
  settings: Settings,
  version: string,
  filesBytes: number,
): Promise<Manifest> => {
  const server = await store.serverInfo(session)
  return {
    format: 1,
    version,
    created_at: new Date().toISOString(),
    postgresql: server.version,
    database_bytes: server.bytes,
    files_bytes: filesBytes,
    migrations: await store.migrations(session),
    tables: await store.tables(session),
    money: await store.money(session),
    bucket: bucketOf(settings.mediaStore),
    recordings_id: await recordingsId(fileFoldersOf(settings)),
  }
}

const copyFiles = async (settings: Settings, writer: Writer, { report, signal }: RunControl) => {
  let [files, bytes] = [0, 0]
  for await (const found of findFiles(fileFoldersOf(settings))) {
    signal.throwIfAborted()
    const source = await readFound(found)
    if (!source) continue
    await writer.addStream(`${found.kind}/${found.name}`, found.size, source)
    files += 1
    bytes += found.size
    if (files % 100 === 0) report(`${files.toLocaleString('en')} files, ${mebibytes(bytes)}`)
  }
  return { files, bytes }
}

/** Finds files in the snapshot without a file on disk: those deleted since, and lost ones. */
const findMissing = async (session: Session, url: string, settings: Settings) => {
  const places = fileFoldersOf(settings)
  const [deleted, missing]: [string[], string[]] = [[], []]
  const now = await openSession(url)
  try {
    await store.openFiles(session, await recordingsId(places))
    for (
      let rows = await store.nextFiles(session, 1_000);
      rows.length > 0;
      rows = await store.nextFiles(session, 1_000)
    )
      for (const file of rows) {
        if (file.kind === 'media' && places.media === null) continue
        if (existsSync(pathOf(places, file.kind, file.name))) continue
        const list = (await store.isNamed(now, file)) ? missing : deleted
        list.push(`${file.kind}/${file.name}`)
      }
  } finally {
    await now.end()
  }
  return { deleted, missing }
}

const writeBackup = async (
  session: Session,
  url: string,
  settings: Settings,
  version: string,
  writer: Writer,
  course: RunControl,
) => {
  const places = fileFoldersOf(settings)
  const { bytes } = await measure(places)
  await beginSnapshot(session)
  if (!(await store.hasTables(session))) throw new BadBackup('The database is empty: there is nothing to back up.')
  const manifest = await readManifest(session, settings, version, bytes)
  const master = readMaster({ home: resolve(settings.home), given: settings.masterKey })
  if (master === null || !(await acceptsKey(session, master)))
    throw new BadBackup(
      `The master key of this database is missing: run the command where the platform runs, with its TRUNKLINE_HOME and TRUNKLINE_MASTER_KEY (${master === null ? 'there is no key' : 'the key here is another one'}).`,
    )
  await writer.add(manifestName, jsonOf(manifest))
  await writer.add(keyName, master)
  const rows = await dumpTables(session, manifest.tables, writer, course.report)
  const sequences = await store.sequences(session)
  // After the snapshot: each file that the database names exists, unless it was deleted since.
  const copied = await copyFiles(settings, writer, course)
  const absent = await findMissing(session, url, settings)
  const summary: Summary = { rows: Object.fromEntries(rows), sequences, ...copied, ...absent }
  await writer.add(summaryName, jsonOf(summary))
  return { manifest, summary }
}

/**
 * Writes a backup of an installation to a new file, whether the platform runs or not.
 * @param version of the program
 * @throws BadBackup when it cannot be made, and the abort reason of `signal`
 */
export const createBackup = async (
  settings: Settings,
  file: string,
  passphrase: string,
  version: string,
  course: RunControl,
): Promise<BackupContents> => {
  const path = resolve(file)
  if (!existsSync(dirname(path))) throw new BadBackup(`The folder ${dirname(path)} does not exist.`)
  if (existsSync(path)) throw new BadBackup(`${path} exists: give another name, or remove it.`)
  await removePartialFiles(path)
  const beside = partialPath(path, process.pid)
  const database = await openShared(settings.home, settings.databaseUrl)
  try {
    const session = await openSession(database.url)
    try {
      const { bytes } = await store.serverInfo(session)
      // Measured: compressed rows take a tenth of the database's size on disk, documents the same.
      await requireSpace(dirname(path), bytes / 4 + (await measure(fileFoldersOf(settings))).bytes)
      const summary = await writeArchive(
        beside,
        passphrase,
        course.signal,
        (writer) => writeBackup(session, database.url, settings, version, writer, course),
        course.scryptLog,
      )
      course.signal.throwIfAborted()
      if (existsSync(path)) throw new BadBackup(`${path} exists: give another name, or remove it.`)
      await rename(beside, path)
      await syncToDisk(dirname(path))
      return summary
    } finally {
      await session.end().catch(() => {})
    }
  } finally {
    await rm(beside, { force: true })
    await database.close()
  }
}
