import { createReadStream, statSync } from 'node:fs'
import { type ClientRequest, request as http } from 'node:http'
import { request as https } from 'node:https'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { UsageError } from '../input/parse-arguments.ts'

/** A file that is read while it is sent. */
export type FileSource = { readonly bytes: Readable; readonly size: number | null }

/** Opens a file, or the standard input for `-`, whose size is unknown. @throws UsageError */
export const openFile = (path: string): FileSource => {
  if (path === '-') return { bytes: process.stdin, size: null }
  try {
    const found = statSync(path)
    return { bytes: createReadStream(path), size: found.isFile() ? found.size : null }
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${error instanceof Error ? error.message : error}`)
  }
}

const megabytes = (bytes: number) => (bytes / 1_000_000).toFixed(1)

/** Formats the progress of an upload. The server reads the file at its processing speed. */
export const progressOf = (sent: number, size: number | null, isSent: boolean): string => {
  if (isSent) return `${megabytes(sent)} MB sent; the server finishes the work`
  const part = size ? ` of ${megabytes(size)} MB (${Math.floor((100 * sent) / size)} %)` : ' MB'
  return `${megabytes(sent)}${part} sent`
}

type Target = { url: URL; method: string; headers: Readonly<Record<string, string>> }

/**
 * Sends a file without a time limit: `fetch` aborts when the response headers take more than five minutes.
 * @param report receives the progress after every megabyte, and after the last one
 */
export const upload = (
  { url, method, headers }: Target,
  { bytes, size }: FileSource,
  report: (line: string) => void,
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
    let [sent, reported] = [0, 0]
    bytes.on('data', (part: Buffer) => {
      sent += part.length
      if (sent - reported < 1_000_000) return
      reported = sent
      report(progressOf(sent, size, false))
    })
    bytes.on('end', () => report(progressOf(sent, size, true)))
    bytes.on('error', (error) => {
      sending.destroy()
      reject(error)
    })
    bytes.pipe(sending)
  })
