import { createReadStream, statSync } from 'node:fs'
import { type ClientRequest, request as http } from 'node:http'
import { request as https } from 'node:https'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { UsageError } from './args.ts'

/** A file, to be read as it is sent. */
export type Source = { readonly bytes: Readable; readonly size: number | null }

/** Opens a file, or the standard input for `-`, whose size nobody knows. @throws UsageError */
export const openFile = (path: string): Source => {
  if (path === '-') return { bytes: process.stdin, size: null }
  try {
    const found = statSync(path)
    return { bytes: createReadStream(path), size: found.isFile() ? found.size : null }
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${error instanceof Error ? error.message : error}`)
  }
}

const megabytes = (bytes: number) => (bytes / 1_000_000).toFixed(1)

/** How far a file has come. The server takes it no faster than it works on it. */
export const progressOf = (sent: number, size: number | null, isSent: boolean): string => {
  if (isSent) return `${megabytes(sent)} MB sent; the server finishes the work`
  const part = size ? ` of ${megabytes(size)} MB (${Math.floor((100 * sent) / size)} %)` : ' MB'
  return `${megabytes(sent)}${part} sent`
}

type Target = { url: URL; method: string; headers: Readonly<Record<string, string>> }

/**
 * Sends a file, however long it takes: `fetch` gives up when the head of the answer is not there after five minutes.
 * @param tell is told of every megabyte, and when all is sent
 */
export const upload = (
  { url, method, headers }: Target,
  { bytes, size }: Source,
  tell: (line: string) => void,
): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const sending: ClientRequest = (url.protocol === 'https:' ? https : http)(url, {
      method,
      headers: { ...headers, ...(size === null ? {} : { 'content-length': String(size) }) },
    })
    let isAnswered = false
    sending.on('response', (answer) => {
      isAnswered = true
      text(answer).then((all) => resolve({ status: answer.statusCode ?? 0, text: all }), reject)
    })
    // A server that refuses at once may close while the file is still being sent.
    sending.on('error', (error) => isAnswered || reject(error))
    let [sent, told] = [0, 0]
    bytes.on('data', (part: Buffer) => {
      sent += part.length
      if (sent - told < 1_000_000) return
      told = sent
      tell(progressOf(sent, size, false))
    })
    bytes.on('end', () => tell(progressOf(sent, size, true)))
    bytes.on('error', (error) => {
      sending.destroy()
      reject(error)
    })
    bytes.pipe(sending)
  })
