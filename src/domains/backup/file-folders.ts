import { createReadStream } from 'node:fs'
import { mkdir, open, opendir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Config } from '../../config.ts'
import type { Entry } from './format/backup-archive.ts'
import { isFileName, shown } from './format/entry-name.ts'
import { BadBackup } from './format/envelope.ts'

/** Folders of files, by the first part of their names in a backup. */
export type FileFolders = {
  /** Null while files of messages are in a bucket. */
  readonly media: string | null
  readonly recordings: string
}

/** Returns the folders of an installation's files: see makeMedia() and recordings.ts. */
export const fileFoldersOf = ({ home, mediaStore }: Pick<Config, 'home' | 'mediaStore'>): FileFolders => {
  const isBucket = mediaStore?.startsWith('s3://') ?? false
  const media = isBucket ? null : resolve(mediaStore ?? join(home, 'media'))
  return { media, recordings: join(resolve(mediaStore === null || isBucket ? home : mediaStore), 'recordings') }
}

/** Returns the name of a bucket without its keys; null for a folder. */
export const bucketOf = (mediaStore: string | null): string | null => {
  if (!mediaStore?.startsWith('s3://')) return null
  const { host, pathname } = new URL(mediaStore)
  return `s3://${host}${pathname}`
}

/** Returns the id of the folder of recordings; null if it has none. */
export const recordingsId = async ({ recordings }: FileFolders): Promise<string | null> => {
  const id = await readFile(join(recordings, 'id'), 'ascii').catch(() => null)
  return id && /^[0-9a-f-]{36}\s*$/.test(id) ? id.trim() : null
}

/**
 * Returns the path of a file of a backup.
 * @throws BadBackup for a name that the platform does not create, or if a bucket holds the files
 */
export const pathOf = (places: FileFolders, kind: 'media' | 'recordings', name: string): string => {
  if (!isFileName(kind, name))
    throw new BadBackup(`The backup has an entry ${shown(`${kind}/${name}`)} with a name that no version gives.`)
  const folder = places[kind]
  if (folder === null)
    throw new BadBackup(
      'The backup holds files of messages, and TRUNKLINE_MEDIA_STORE names a bucket: restore with a folder, or without the setting.',
    )
  return join(folder, ...name.split('/'))
}

export type FoundFile = {
  readonly kind: 'media' | 'recordings'
  readonly name: string
  readonly path: string
  readonly size: number
}

async function* walk(folder: string, below = ''): AsyncGenerator<string> {
  const entries = await opendir(join(folder, below)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  for await (const entry of entries ?? []) {
    const name = below === '' ? entry.name : `${below}${sep}${entry.name}`
    if (entry.isDirectory()) yield* walk(folder, name)
    else if (entry.isFile()) yield name
  }
}

/** Yields every file of the platform in its folders. Skips files that are deleted during the listing. */
export async function* findFiles(places: FileFolders): AsyncGenerator<FoundFile> {
  for (const kind of ['media', 'recordings'] as const) {
    const folder = places[kind]
    if (folder === null) continue
    for await (const found of walk(folder)) {
      const name = found.replaceAll(sep, '/')
      if (!isFileName(kind, name)) continue
      const path = join(folder, found)
      const size = (await stat(path).catch(() => null))?.size
      if (size !== undefined) yield { kind, name, path, size }
    }
  }
}

/** Returns the number and the bytes of those files. */
export const measure = async (places: FileFolders): Promise<{ files: number; bytes: number }> => {
  let [files, bytes] = [0, 0]
  for await (const { size } of findFiles(places)) {
    files += 1
    bytes += size
  }
  return { files, bytes }
}

/** Reads a file up to its size at the listing; null when it was deleted. A current recording grows. */
export const readFound = async ({ path, size }: FoundFile): Promise<AsyncIterable<Buffer> | null> => {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (size === 0) {
    await file?.close()
    return file && (async function* () {})()
  }
  return file && createReadStream(path, { fd: file, end: size - 1 })
}

/** Writes a file of a backup, completely or not at all. */
export const writeFile = async (path: string, { body }: Entry): Promise<void> => {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const beside = `${path}.restoring`
  const file = await open(beside, 'w', 0o600)
  try {
    await pipeline(body, file.createWriteStream({ flush: true }))
    await rename(beside, path)
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
}
