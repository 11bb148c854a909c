import { chmod, lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DataDirectoryInUse, lockDataDirectory } from '../../platform/db/data-directory.ts'
import { endOrphanedServers } from '../../platform/db/embedded.ts'
import { hasDatabase, silentLog } from '../../platform/db/installation-database.ts'

/** Uses of a temporary home, in the names of the folders. */
type Use = 'verify' | 'rehearse'

const folderName = /^trunkline-(?:verify|rehearse)-/

/** Retries while an ending PostgreSQL process still writes. */
const removeFolder = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 5 })

/**
 * Removes the temporary databases of killed commands. A lock on each shows whether its process lives, also in another
 * container; a command takes the lock before it creates the database.
 */
const removeLeftHomes = async (): Promise<void> => {
  for (const name of await readdir(tmpdir())) {
    const home = join(tmpdir(), name)
    if (!folderName.test(name) || !hasDatabase(home)) continue
    const found = await lstat(home).catch(() => null)
    if (!found?.isDirectory() || found.uid !== process.getuid?.()) continue
    try {
      const claim = await lockDataDirectory(home, silentLog)
      await endOrphanedServers(home, silentLog)
        .then(() => removeFolder(home))
        .finally(claim.release)
    } catch (error) {
      if (!(error instanceof DataDirectoryInUse)) throw error
    }
  }
}

/** Makes a folder for a database of one command, and removes those of commands that were killed. */
export const makeTemporaryHome = async (use: Use): Promise<{ readonly home: string; remove(): Promise<void> }> => {
  await removeLeftHomes()
  const home = await mkdtemp(join(tmpdir(), `trunkline-${use}-`))
  // PostgreSQL runs under another account when root starts it.
  if (process.getuid?.() === 0) await chmod(home, 0o711)
  const claim = await lockDataDirectory(home, silentLog)
  return {
    home,
    remove: async () => {
      await removeFolder(home)
      claim.release()
    },
  }
}
