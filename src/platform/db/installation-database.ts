import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DataDirectoryInUse, lockDataDirectory } from './data-directory.ts'
import { runningUrl, startEmbedded } from './embedded.ts'

/** A database that can be queried until it is closed. */
export type OpenDatabase = { readonly url: string; close(): Promise<void> }

/** A log for commands: errors of PostgreSQL arrive as exceptions. */
export const silentLog = { info: () => {}, warn: () => {}, error: () => {} }

/** Returns true when the home has an embedded database. */
export const hasDatabase = (home: string): boolean => existsSync(join(home, 'postgres'))

const noDatabase = (home: string) =>
  new Error(`${home} has no database. Set TRUNKLINE_HOME to the folder of the installation, or DATABASE_URL.`)

/**
 * Opens the database of an installation whose home no platform process uses, and prevents a start until it is closed.
 * Starts the embedded database.
 * @throws DataDirectoryInUse while a platform runs on the home, Error when there is no database
 */
export const openExclusively = async (folder: string, databaseUrl: string | null): Promise<OpenDatabase> => {
  const home = resolve(folder)
  if (databaseUrl === null && !hasDatabase(home)) throw noDatabase(home)
  const claim = await lockDataDirectory(home, silentLog)
  try {
    const embedded = databaseUrl === null ? await startEmbedded({ home, log: silentLog }) : null
    return {
      url: databaseUrl ?? embedded?.url ?? '',
      close: async () => {
        await embedded?.stop()
        claim.release()
      },
    }
  } catch (error) {
    claim.release()
    throw error
  }
}

/**
 * Opens the database of an installation: an external one, the embedded one of a running platform, or else the embedded
 * one, started for the duration.
 * @throws Error when there is none
 */
export const openShared = async (folder: string, databaseUrl: string | null): Promise<OpenDatabase> => {
  if (databaseUrl !== null) return { url: databaseUrl, close: async () => {} }
  try {
    return await openExclusively(folder, null)
  } catch (error) {
    if (!(error instanceof DataDirectoryInUse)) throw error
    const url = await runningUrl(folder)
    if (url === null) throw noDatabase(resolve(folder))
    return { url, close: async () => {} }
  }
}
