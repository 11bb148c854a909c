import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { copyFile, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { folderIdFile } from './folder-id.ts'

/** First and last byte of a part of a file, both included. */
export type ByteRange = { readonly start: number; readonly end: number }

/** A local file. `digest` is its SHA-256. */
export type LocalFile = { readonly path: string; readonly size: number; readonly digest: Buffer }

/** Returns the size and digest of a file, which it reads completely. */
export const localFile = async (path: string): Promise<LocalFile> => {
  const hash = createHash('sha256')
  let size = 0
  for await (const piece of createReadStream(path)) {
    size += piece.length
    hash.update(piece)
  }
  return { path, size, digest: hash.digest() }
}

export const fileExists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** A store of files under keys such as `<account>/ab/<digest>`. */
export type FileStore = {
  /** Stores a file: durable once it resolves. May move the local file. A file that exists has the same content. */
  put(key: string, file: LocalFile, mime: string, signal?: AbortSignal): Promise<void>
  /** @throws FileNotFound if the file is missing, another Error if the store cannot be read */
  get(key: string, span?: ByteRange): Promise<Readable>
  /** Deletes a file: durable once it resolves. A missing file is no error. Takes at most 20 s. */
  delete(key: string, signal?: AbortSignal): Promise<void>
}

/** The store has no file under this key. */
export class FileNotFound extends Error {}

/** The store cannot be read, such as a folder that is not mounted. */
export class FileStoreUnavailable extends Error {}

/** Flushes a file, or the names in a folder, to disk (fsync), so that it survives a power loss. */
export const syncToDisk = async (path: string): Promise<void> => {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const ignoreMissing = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'ENOENT') throw error
}

/** Opens a stream of a file, or of a part of it. @throws FileNotFound */
export const openFile = async (path: string, span?: ByteRange): Promise<Readable> => {
  const stream = createReadStream(path, span ?? {})
  await new Promise<void>((found, missing) => {
    stream.once('ready', found).once('error', missing)
  }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? new FileNotFound(error.message) : error
  })
  return stream
}

/** Moves a file, also to another disk. The caller flushes the folder. */
export const moveFile = async (path: string, target: string): Promise<void> => {
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  await rename(path, target).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EXDEV') throw error
    // Another disk: copies to a temporary name in the target folder first, so that no reader sees a partial file.
    const temporary = `${target}.${randomUUID()}`
    await copyFile(path, temporary)
    await syncToDisk(temporary)
    await rename(temporary, target)
    await rm(path, { force: true })
  })
}

/**
 * Returns the key of a file; rows of a restored backup may have any.
 * @throws FileNotFound for one that could lead out of the store
 */
export const checkedKey = (key: string): string => {
  const isInside = !/[\0\\]/.test(key) && key.split('/').every((part) => !['', '.', '..'].includes(part))
  if (isInside) return key
  throw new FileNotFound(`${JSON.stringify(key)} is no key of a file`)
}

/**
 * Returns the store of a folder, local or shared between machines. A folder that had an id (folder-id.ts) and has none
 * any more is not mounted: its files are not missing.
 */
export const makeFolderStore = (folder: string): FileStore => {
  const pathOf = (key: string) => join(resolve(folder), checkedKey(key))
  const hasId = () => fileExists(join(resolve(folder), folderIdFile))
  let hadId = false
  const explainMissing = async (error: unknown): Promise<never> => {
    if (error instanceof FileNotFound && hadId && !(await hasId()))
      throw new FileStoreUnavailable(`${folder} has no ${folderIdFile} any more: is the folder mounted?`)
    throw error
  }
  return {
    put: async (key, { path }) => {
      const target = pathOf(key)
      await moveFile(path, target)
      await syncToDisk(dirname(target))
    },
    get: async (key, span) => {
      hadId ||= await hasId()
      return await openFile(pathOf(key), span).catch(explainMissing)
    },
    delete: async (key) => {
      const target = pathOf(key)
      await rm(target, { force: true })
      await syncToDisk(dirname(target)).catch(ignoreMissing)
    },
  }
}
