import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { restoreFolderIn } from '../../../platform/db/data-directory.ts'
import { fileExists, localFile, moveFile, syncToDisk } from '../../../platform/lib/file-store.ts'
import { type FileFolders, type FoundFile, fileFoldersOf, findFiles, pathOf } from '../file-folders.ts'

// A restore stages files inside the folder that TRUNKLINE_MEDIA_STORE names, which may be on another disk than the
// home. Settling moves the files by renaming them. The home names the folder, so a run with other settings can settle
// or clear it.

const stageIn = (folder: string): string => join(folder, '.trunkline-restoring')
const placesIn = (folder: string): FileFolders => fileFoldersOf({ home: folder, mediaStore: folder })
const noteIn = (home: string): string => join(restoreFolderIn(home), 'folder')

/** Returns the folder in which a restore into this home stages files; null when there is none. */
const readStageFolder = (home: string): Promise<string | null> =>
  readFile(noteIn(home), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })

/** Creates the stage of a folder. @returns the staged places */
export const openStage = async (home: string, folder: string): Promise<FileFolders> => {
  await writeFile(noteIn(home), folder, { mode: 0o600, flush: true })
  await mkdir(stageIn(folder), { recursive: true, mode: 0o700 })
  return placesIn(stageIn(folder))
}

/** Removes staged files, including those of an earlier restore into another folder. */
export const clearStage = async (home: string, folder: string | null): Promise<void> => {
  for (const one of new Set([folder, await readStageFolder(home)]))
    if (one) await rm(stageIn(one), { recursive: true, force: true })
}

/** Flushes the folders of files, and those above them up to `root`. */
const flushAbove = async (root: string, folders: ReadonlySet<string>): Promise<void> => {
  const all = new Set([root])
  for (const folder of folders)
    for (let one = folder; one.startsWith(root) && !all.has(one); one = dirname(one)) all.add(one)
  for (const one of all) await syncToDisk(one)
}

/** Makes the names of staged files durable. */
export const flushStage = async (folder: string): Promise<void> => {
  const folders = new Set<string>()
  for await (const { path } of findFiles(placesIn(stageIn(folder)))) folders.add(dirname(path))
  await flushAbove(folder, folders.add(stageIn(folder)))
}

const isSame = async (one: string, other: string): Promise<boolean> =>
  (await localFile(one)).digest.equals((await localFile(other)).digest)

/**
 * Moves staged files to their places, and existing files with different content to a folder `aside`. The id of the
 * recordings comes last: rows in the database refer to it. Idempotent.
 * @returns the folder of the files moved aside; null when there are none
 */
export const moveStagedFiles = async (home: string, formerName: string): Promise<string | null> => {
  const folder = await readStageFolder(home)
  if (!folder || !(await fileExists(stageIn(folder)))) return null
  const [staged, places, former] = [placesIn(stageIn(folder)), placesIn(folder), placesIn(join(folder, formerName))]
  const folders = new Set<string>()
  let isMoved = false
  const move = async ({ kind, name, path }: Pick<FoundFile, 'kind' | 'name' | 'path'>): Promise<void> => {
    const target = pathOf(places, kind, name)
    if ((await fileExists(target)) && !(await isSame(path, target))) {
      const old = pathOf(former, kind, name)
      await moveFile(target, old)
      folders.add(dirname(old))
      isMoved = true
    }
    await moveFile(path, target)
    folders.add(dirname(target))
  }
  // A listing may omit files of a folder that changes during it: the loop ends when none is left.
  for (let moved = -1; moved !== 0; ) {
    moved = 0
    for await (const found of findFiles(staged)) {
      if (found.name === 'id') continue
      await move(found)
      moved += 1
    }
  }
  const id = pathOf(staged, 'recordings', 'id')
  if (await fileExists(id)) await move({ kind: 'recordings', name: 'id', path: id })
  await flushAbove(folder, folders)
  await rm(stageIn(folder), { recursive: true })
  return isMoved ? join(folder, formerName) : null
}
