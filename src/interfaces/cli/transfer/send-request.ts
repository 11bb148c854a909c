import type { Request } from '../input/build-request.ts'
import { UsageError } from '../input/parse-arguments.ts'
import { serverTimeoutMs } from '../limits.ts'
import { type FileSource, upload } from './upload-file.ts'

type Reply = Record<string, unknown>

/** The server refused the request, or could not be reached. */
export class CallError extends Error {
  /** The server's reply. */
  readonly reply: Reply

  constructor(message: string, reply: Reply = {}) {
    super(message)
    this.reply = reply
  }
}

const isObject = (value: unknown): value is Reply => typeof value === 'object' && value !== null

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return `no answer within ${serverTimeoutMs / 1000} s`
  if ('code' in error && typeof error.code === 'string') return error.code
  const { cause } = error
  return cause instanceof Error ? ('code' in cause ? String(cause.code) : cause.message) : error.message
}

/** Opens the file of a request, and receives the progress. */
export type FileAccess = { open(path: string): FileSource; report(line: string): void }

const exchange = async (
  address: string,
  { method, headers, body, file }: Request,
  files: FileAccess,
): Promise<{ status: number; text: string; bytes: Buffer }> => {
  if (file !== null) {
    const answer = await upload({ url: new URL(address), method, headers }, files.open(file), files.report)
    return { ...answer, bytes: Buffer.from(answer.text) }
  }
  // A redirect is not followed: it would carry the key elsewhere.
  const signal = AbortSignal.timeout(serverTimeoutMs)
  const answer = await fetch(address, { method, headers, body, redirect: 'manual', signal })
  const bytes = Buffer.from(await answer.arrayBuffer())
  return { status: answer.status, text: bytes.toString('utf8'), bytes }
}

/**
 * Sends a request and returns the reply; the bytes if that is a file.
 * @throws CallError with the server's message and error_code, or with the reason why there is no reply
 */
export const sendRequest = async (
  base: URL,
  request: Request,
  files: FileAccess,
  isFile: boolean,
): Promise<Reply | Buffer> => {
  const address = base.href.replace(/\/$/, '') + request.path
  let status: number
  let text: string
  try {
    const answer = await exchange(address, request, files)
    status = answer.status
    text = answer.text
    if (isFile && status >= 200 && status < 300) return answer.bytes
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new CallError(
      `${base.origin} cannot be reached (${reasonOf(error)}); is the server running? --url or TRUNKLINE_URL names another`,
    )
  }
  let reply: unknown = null
  try {
    reply = JSON.parse(text)
  } catch {
    // Not a Trunkline server; reported below.
  }
  if (!isObject(reply)) throw new CallError(`${base.origin} answered ${status} without JSON; is it Trunkline?`)
  if (status >= 200 && status < 300) return reply
  const { error_message, error_code, request_id } = reply
  throw new CallError(
    `${error_message ?? 'refused'} (${[error_code ?? status, request_id].filter(Boolean).map(String).join(', ')})`,
    reply,
  )
}
