import type { Request } from './request.ts'

/** The server refused, or could not be asked. */
export class CallError extends Error {}

const patience = 60_000

type Reply = Record<string, unknown>

const isObject = (value: unknown): value is Reply => typeof value === 'object' && value !== null

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return `no answer within ${patience / 1000} s`
  const { cause } = error
  return cause instanceof Error ? ('code' in cause ? String(cause.code) : cause.message) : error.message
}

/**
 * Sends a request, and gives what is answered.
 * @throws CallError with the server's message and error_code, or with the reason why there is no answer
 */
export const send = async (base: URL, { method, path, headers, body }: Request): Promise<Reply> => {
  const address = base.href.replace(/\/$/, '') + path
  let status: number
  let text: string
  try {
    // A redirect is not followed: it would carry the key elsewhere.
    const answer = await fetch(address, {
      method,
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(patience),
    })
    status = answer.status
    text = await answer.text()
  } catch (error) {
    throw new CallError(
      `${base.origin} cannot be reached (${reasonOf(error)}); is the server running? --url or TRUNKLINE_URL names another`,
    )
  }
  let reply: unknown = null
  try {
    reply = JSON.parse(text)
  } catch {
    // Whatever stands there, it is not Trunkline; said below.
  }
  if (!isObject(reply)) throw new CallError(`${base.origin} answered ${status} without JSON; is it Trunkline?`)
  if (status >= 200 && status < 300) return reply
  const { error_message, error_code, request_id } = reply
  throw new CallError(
    `${error_message ?? 'refused'} (${[error_code ?? status, request_id].filter(Boolean).map(String).join(', ')})`,
  )
}
