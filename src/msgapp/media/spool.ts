import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Encryption } from '../../lib/encrypted-file.ts'
import { flush, type LocalFile } from '../../lib/files.ts'

// Files on their way into the store lie in a folder of each process. Processes of several machines may share the place.

/** Where this process's files lie. The token tells it from one before it that had the same number, as in containers. */
export const ownName = `${hostname()}_${process.pid}_${randomUUID()}`

/** After that nothing is on its way any more. */
const longestMs = 86_400_000

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It is there, and another user's.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

const isLeft = async (folder: string, name: string): Promise<boolean> => {
  if (name === ownName) return false
  const [, host, pid] = /^(.*)_(\d+)_[^_]*$/.exec(name) ?? []
  if (host === hostname()) return Number(pid) === process.pid || !isAlive(Number(pid))
  const { mtimeMs } = await stat(join(folder, name))
  return mtimeMs < Date.now() - longestMs
}

/** Removes what processes that are gone left half-fetched. What cannot be removed stays for the next start. */
export const sweep = async (folder: string): Promise<void> => {
  const names = await readdir(folder).catch(() => [])
  await Promise.all(
    names.map(async (name) => {
      if (await isLeft(folder, name).catch(() => false))
        await rm(join(folder, name), { recursive: true, force: true }).catch(() => {})
    }),
  )
}

/** A file grew beyond what is allowed. */
export class TooLarge extends Error {}

/**
 * Writes a stream to a temporary file of this folder, encrypted where it should be: its plain bytes are never on the disk then.
 * @returns size and digest of what was read
 * @throws TooLarge beyond so many bytes
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
    await flush(path)
    return { path, size, digest: hash.digest() }
  } catch (error) {
    await rm(path, { force: true })
    throw error
  }
}
