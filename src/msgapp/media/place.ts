import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { copyFile, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** Bytes of a file from one to another, both included. */
export type Span = { readonly start: number; readonly end: number }

/** A file that came, in a temporary place. */
export type Spooled = { readonly path: string; readonly size: number; readonly digest: Buffer }

/** Where files are kept, under keys such as `<account>/ab/<digest>`. */
export type Place = {
  /** Keeps a spooled file: durable once it resolves. What is there under the key is the same. */
  put(key: string, file: Spooled, mime: string): Promise<void>
  /** @throws Error when it is not there */
  get(key: string, span?: Span): Promise<Readable>
  /** Takes the file away, for good once it resolves; what is not there is no error. It takes 20 s at most. */
  delete(key: string): Promise<void>
}

/** A file grew beyond what is allowed. */
export class TooLarge extends Error {}

const flush = async (path: string): Promise<void> => {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Writes a stream to a temporary file of this folder. @throws TooLarge beyond so many bytes */
export const spool = async (folder: string, body: Readable, most: number, signal: AbortSignal): Promise<Spooled> => {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, randomUUID())
  const hash = createHash('sha256')
  let size = 0
  try {
    await pipeline(
      body,
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          size += chunk.length
          if (size > most) throw new TooLarge(`it has more than ${most} bytes`)
          hash.update(chunk)
          yield chunk
        }
      },
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

const ignoreMissing = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'ENOENT') throw error
}

/** A folder of this machine, or one that several share. */
export const makeFolder = (folder: string): Place => {
  const pathOf = (key: string) => join(resolve(folder), key)
  return {
    put: async (key, { path }) => {
      const target = pathOf(key)
      await mkdir(dirname(target), { recursive: true, mode: 0o700 })
      await rename(path, target).catch(async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EXDEV') throw error
        // Another disk: copied beside it first, so that nobody sees half a file.
        const beside = `${target}.${randomUUID()}`
        await copyFile(path, beside)
        await flush(beside)
        await rename(beside, target)
        await rm(path, { force: true })
      })
      await flush(dirname(target))
    },
    get: async (key, span) => {
      const stream = createReadStream(pathOf(key), span ?? {})
      await new Promise<void>((found, missing) => {
        stream.once('ready', found).once('error', missing)
      })
      return stream
    },
    delete: async (key) => {
      const target = pathOf(key)
      await rm(target, { force: true })
      await flush(dirname(target)).catch(ignoreMissing)
    },
  }
}
