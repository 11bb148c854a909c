import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Encryption } from '../../../platform/lib/encrypted-file.ts'
import { type LocalFile, syncToDisk } from '../../../platform/lib/file-store.ts'
import { maxFetchMs } from '../limits.ts'

// Each process has a folder for files on their way into the store. Processes of several machines may share the parent
// folder.

/**
 * Folder name of this process. The token distinguishes it from an earlier process with the same pid, as in
 * containers.
 */
export const processFolder = `${hostname()}_${process.pid}_${randomUUID()}`

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The process exists, and belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

const isLeft = async (folder: string, name: string): Promise<boolean> => {
  if (name === processFolder) return false
  const [, host, pid] = /^(.*)_(\d+)_[^_]*$/.exec(name) ?? []
  if (host === hostname()) return Number(pid) === process.pid || !isAlive(Number(pid))
  const { mtimeMs } = await stat(join(folder, name))
  return mtimeMs < Date.now() - maxFetchMs
}

/** Removes partial files of processes that are gone. Files that cannot be removed stay for the next start. */
export const removePartial = async (folder: string): Promise<void> => {
  const names = await readdir(folder).catch(() => [])
  await Promise.all(
    names.map(async (name) => {
      if (await isLeft(folder, name).catch(() => false))
        await rm(join(folder, name), { recursive: true, force: true }).catch(() => {})
    }),
  )
}

/** The file exceeds its size limit. */
export class TooLarge extends Error {}

/**
 * Writes a stream to a temporary file in this folder. With encryption no plain byte reaches the disk.
 * @returns size and digest of the stream
 * @throws TooLarge beyond `most` bytes
 */
export const spool = async (
  folder: string,
  body: Readable,
  most: number,
  signal: AbortSignal,
  encryption: Encryption | null = null,
): Promise<LocalFile> => {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, randomUUID())
  const hash = createHash('sha256')
  let size = 0
  const counted = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      size += chunk.length
      if (size > most) throw new TooLarge(`it has more than ${most} bytes`)
      hash.update(chunk)
      yield chunk
    }
  }
  try {
    await pipeline(
      body,
      (chunks: AsyncIterable<Buffer>) => (encryption ? encryption.body(counted(chunks)) : counted(chunks)),
      createWriteStream(path, { mode: 0o600 }),
      { signal },
    )
    await syncToDisk(path)
    return { path, size, digest: hash.digest() }
  } catch (error) {
    await rm(path, { force: true })
    throw error
  }
}
