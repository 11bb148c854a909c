import { existsSync } from 'node:fs'
import { mkdir, rename, rm, writeFile as write } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { lockDataDirectory, restoreFolderIn } from '../../../platform/db/data-directory.ts'
import { openSession, type Session } from '../../../platform/db/database-session.ts'
import { startEmbedded } from '../../../platform/db/embedded.ts'
import { quoteIdentifier } from '../../../platform/db/identifier.ts'
import { hasDatabase, silentLog } from '../../../platform/db/installation-database.ts'
import { syncToDisk } from '../../../platform/lib/file-store.ts'
import { isKeyOf, readMaster, writeMaster } from '../../keys/ops.ts'
import { type BackupContents, type RunControl, requireSpace, type Settings } from '../create/create-backup.ts'
import { bucketOf, type FileFolders, fileFoldersOf, measure, pathOf, writeFile } from '../file-folders.ts'
import type { Entry } from '../format/backup-archive.ts'
import { BadBackup } from '../format/envelope.ts'
import type { Manifest } from '../format/manifest.ts'
import { readBackup } from '../format/read-backup.ts'
import * as store from '../store.ts'
import { type DatabaseLoad, makeDatabaseLoad } from './database-load.ts'
import { clearStage, flushStage, moveStagedFiles, openStage } from './restore-stage.ts'

// A restore fills the folder `restoring` of the home, a stage in the folder of TRUNKLINE_MEDIA_STORE, and an external
// database in one transaction. Once everything is loaded and compared, it writes a file `whole` and moves the parts to
// their places. Until then nothing else is touched. A platform does not start while the folder `restoring` exists.

/** The parts of a home that a restore brings. */
const parts = ['keys', 'media', 'recordings', 'postgres'] as const

/** Suffix of everything moved aside: the time, to the second. */
const timestampSuffix = (): string => new Date().toISOString().replace(/\D/g, '').slice(0, 14)

/** Moves the parts to their places; existing ones go to `aside`. Idempotent. */
const moveIntoPlace = async (
  home: string,
  formerName: string,
): Promise<Pick<RestoreResult, 'aside' | 'filesAside'>> => {
  let isMoved = false
  for (const part of parts) {
    const [from, to] = [join(restoreFolderIn(home), part), join(home, part)]
    if (!existsSync(from)) continue
    if (existsSync(to)) {
      await mkdir(join(home, formerName), { recursive: true, mode: 0o700 })
      await rename(to, join(home, formerName, part))
      isMoved = true
    }
    await rename(from, to)
  }
  await syncToDisk(home)
  const filesAside = await moveStagedFiles(home, formerName)
  await rm(restoreFolderIn(home), { recursive: true })
  return { aside: isMoved ? join(home, formerName) : null, filesAside }
}

/** Removes the stage of a restore. */
const removeStaged = async (home: string, folder: string | null): Promise<void> => {
  await clearStage(home, folder)
  await rm(restoreFolderIn(home), { recursive: true, force: true })
}

/** A database that the restore fills, and the undo operation. */
type TargetDatabase = {
  readonly url: string
  readonly isSuperuser: boolean
  undo(): Promise<void>
  close(): Promise<void>
}

const isRunning = async (session: Session): Promise<boolean> =>
  (await session.maybe`select from processes where seen_at > clock_timestamp() - interval '20 seconds' limit 1`) !==
  null

/** Empties a database by renaming its schema. */
const openExternal = async (url: string, replace: boolean, formerName: string): Promise<TargetDatabase> => {
  const session = await openSession(url)
  try {
    const isSuperuser = await store.isSuperuser(session)
    const nothing = { url, isSuperuser, undo: async () => {}, close: async () => {} }
    if (!(await store.hasTables(session))) return nothing
    if (!(await store.isPlatformDatabase(session)))
      throw new BadBackup('The database of DATABASE_URL has tables that do not belong to Trunkline: name an empty one.')
    if (await isRunning(session))
      throw new BadBackup(
        'A platform runs on the database of DATABASE_URL: stop it, and wait for 20 s if it was killed.',
      )
    // An interrupted restore leaves tables without rows.
    if ((await session.maybe`select from accounts limit 1`) === null) return nothing
    if (!replace)
      throw new BadBackup(
        'The database of DATABASE_URL is not empty: name an empty one, or give --replace, which renames its schema and keeps it.',
      )
    const { name } = await session.one<{ name: string }>`select current_schema() as name`
    await session.raw(`begin; alter schema ${quoteIdentifier(name)} rename to ${quoteIdentifier(formerName)};
      create schema ${quoteIdentifier(name)}; commit`)
    return {
      ...nothing,
      undo: async () => {
        const back = await openSession(url)
        await back
          .raw(`begin; drop schema ${quoteIdentifier(name)} cascade;
            alter schema ${quoteIdentifier(formerName)} rename to ${quoteIdentifier(name)}; commit`)
          .finally(() => back.end())
      },
    }
  } finally {
    await session.end()
  }
}

const openEmbedded = async (home: string): Promise<TargetDatabase> => {
  const { url, stop } = await startEmbedded({ home: restoreFolderIn(home), log: silentLog })
  return { url, isSuperuser: false, undo: async () => {}, close: stop }
}

/** @throws BadBackup if the restore would replace something */
const requireEmpty = async (home: string, places: FileFolders): Promise<void> => {
  const advice = 'Restore into an empty TRUNKLINE_HOME, or give --replace, which moves what is there aside.'
  if (hasDatabase(home)) throw new BadBackup(`${home} holds an installation. ${advice}`)
  if (existsSync(join(home, 'keys', 'master'))) throw new BadBackup(`${home} holds a master key. ${advice}`)
  const { files } = await measure(places)
  if (files > 0) throw new BadBackup(`${places.media ?? places.recordings} holds files of an installation. ${advice}`)
}

/** @throws BadBackup when the settings name another key than the backup's */
const checkKey = (settings: Settings, master: Buffer): void => {
  const masterKey = settings.masterKey === null ? null : readMaster({ home: '', given: settings.masterKey })
  if (masterKey !== null && !masterKey.equals(master))
    throw new BadBackup(
      'TRUNKLINE_MASTER_KEY is not the master key of the backup: set the right one, or unset it, and the key is written into TRUNKLINE_HOME.',
    )
}

export type RestoreResult = BackupContents & {
  /** Folder of the parts that were moved aside; null when there were none. */
  readonly aside: string | null
  /**
   * Folder of the files in TRUNKLINE_MEDIA_STORE whose content differed from the backup's; null when there were none.
   */
  readonly filesAside: string | null
  /** The role of DATABASE_URL has rights that the platform does not need. */
  readonly isSuperuser: boolean
  readonly finished: false
}

/** An earlier restore, interrupted at its end, was finished instead. */
export type FinishedRestore = { readonly finished: true }

type RestoreJob = {
  readonly home: string
  /** The folder that TRUNKLINE_MEDIA_STORE names; null for a bucket, and without the setting. */
  readonly folder: string | null
  readonly aside: string
  readonly settings: Settings
  readonly replace: boolean
}

const fillStage = async (
  work: RestoreJob,
  file: string,
  passphrase: string,
  { report, signal }: RunControl,
): Promise<BackupContents & Pick<RestoreResult, 'isSuperuser'>> => {
  const { home, folder, aside: formerName, settings, replace } = work
  const staged = restoreFolderIn(home)
  const places = folder === null ? fileFoldersOf({ ...settings, home: staged }) : await openStage(home, folder)
  const held: { target: TargetDatabase | null; loading: DatabaseLoad | null } = { target: null, loading: null }
  const close = async (): Promise<void> => {
    await held.loading?.close()
    await held.target?.close()
  }
  const { databaseUrl } = settings
  const databaseIsHere = databaseUrl === null
  const begin = async (manifest: Manifest, master: Buffer): Promise<void> => {
    checkKey(settings, master)
    await requireSpace(folder ?? home, manifest.files_bytes)
    await requireSpace(
      home,
      (folder === null ? manifest.files_bytes : 0) + (databaseIsHere ? manifest.database_bytes : 0),
    )
    held.target = databaseUrl === null ? await openEmbedded(home) : await openExternal(databaseUrl, replace, formerName)
    held.loading = makeDatabaseLoad(held.target.url, report)
    await held.loading.begin(manifest)
  }
  const entry = async (one: Entry): Promise<void> => {
    signal.throwIfAborted()
    if (databaseIsHere) await requireSpace(home, one.size)
    if (await held.loading?.entry(one)) return
    const { kind } = one
    if (kind.kind !== 'media' && kind.kind !== 'recordings') throw new BadBackup(`The backup has an entry ${one.name}.`)
    const path = pathOf(places, kind.kind, kind.file)
    // The stage began empty.
    if (existsSync(path)) throw new BadBackup(`The backup has the file ${one.name} twice.`)
    report(one.name)
    await requireSpace(folder ?? home, one.size)
    await writeFile(path, one)
  }
  try {
    const { manifest, master, summary } = await readBackup(file, passphrase, { begin, entry })
    signal.throwIfAborted()
    const session = await held.loading?.end()
    if (!session || !(await isKeyOf(session, master)))
      throw new BadBackup('The master key of the backup is not the one of its database.')
    if (settings.masterKey === null) await writeMaster(staged, master)
    if (folder !== null) await flushStage(folder)
    await held.loading?.commit(summary)
    await close()
    return { manifest, summary, isSuperuser: held.target?.isSuperuser ?? false }
  } catch (error) {
    await close()
    await held.target?.undo()
    throw error
  }
}

/**
 * Restores a backup permanently. A failure leaves everything unchanged.
 * @param replace moves an existing installation aside
 * @throws BadBackup or Unreadable, and the abort reason of `signal`
 */
export const restoreBackup = async (
  settings: Settings,
  file: string,
  passphrase: string,
  replace: boolean,
  course: RunControl,
): Promise<RestoreResult | FinishedRestore> => {
  const home = resolve(settings.home)
  const claim = await lockDataDirectory(home, silentLog)
  const formerName = `before-restore-${timestampSuffix()}`
  const staged = restoreFolderIn(home)
  try {
    if (existsSync(join(staged, 'whole'))) {
      await moveIntoPlace(home, formerName)
      return { finished: true }
    }
    const wasInterrupted = existsSync(staged)
    if (!replace) await requireEmpty(home, fileFoldersOf(settings))
    const isFolder = settings.mediaStore !== null && bucketOf(settings.mediaStore) === null
    const folder = isFolder ? fileFoldersOf(settings).media : null
    await removeStaged(home, folder)
    await mkdir(staged, { mode: 0o711 })
    const work = { home, folder, aside: formerName.replaceAll('-', '_'), settings, replace }
    const filled = await fillStage(work, file, passphrase, course).catch(async (error: unknown) => {
      await removeStaged(home, folder)
      // The database may still hold the remains of the interrupted restore: the platform must not start on it.
      if (wasInterrupted) await mkdir(staged, { mode: 0o711 })
      throw error
    })
    await write(join(staged, 'whole'), '', { mode: 0o600, flush: true })
    return { ...filled, ...(await moveIntoPlace(home, formerName)), finished: false }
  } finally {
    claim.release()
  }
}
