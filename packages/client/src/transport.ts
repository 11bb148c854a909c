import type { CallOptions, FileContent } from './call-options.ts'
import { ApiError, apiError, ConnectionError, TimeoutError, TrunklineError } from './errors.ts'
import { pause, retryPauseMs } from './retry.ts'

/** Options of a client. */
export type ClientOptions = {
  /** Default: the environment variable TRUNKLINE_API_KEY; of the operator client TRUNKLINE_OPERATOR_KEY. */
  readonly apiKey?: string
  /** Address of the installation. Default: TRUNKLINE_URL, else http://127.0.0.1:8080. */
  readonly baseUrl?: string
  /** Milliseconds for one attempt. Default: 30,000. */
  readonly timeoutMs?: number
  /** Repetitions after connection errors and temporary refusals. Default: 2. */
  readonly maxRetries?: number
  /** Default: the global fetch. */
  readonly fetch?: typeof globalThis.fetch
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Permits a key in a browser, where every visitor can read it. Meant for sandboxes. */
  readonly dangerouslyAllowBrowser?: boolean
}

/** One HTTP request. */
export type HttpRequest = {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly body?: string | FileContent
  readonly mediaType?: string
  /** True if the server takes an Idempotency-Key. */
  readonly takesIdempotencyKey: boolean
  /** True if a repetition has no further effect, with the key where one is taken. */
  readonly isRepeatable: boolean
}

/** Sends requests, with retries. Rejects with `ApiError` or `ConnectionError`. */
export type Transport = {
  readonly baseUrl: string
  readonly apiKey: string
  send(request: HttpRequest, options?: CallOptions): Promise<Response>
}

/** Header of a key, and the environment variable that has its default. */
export type KeyKind = { readonly header: string; readonly variable: string }

const environment = (name: string): string | undefined => {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
  return process?.env?.[name] || undefined
}

const isBrowser = (): boolean => 'document' in globalThis || 'WorkerGlobalScope' in globalThis

const readRefusal = async (response: Response): Promise<ApiError> => {
  const text = await response.text()
  let body: unknown = text
  try {
    body = JSON.parse(text)
  } catch {}
  const fields: Readonly<Record<string, unknown>> = { ...(typeof body === 'object' ? body : {}) }
  const after = Number(response.headers.get('retry-after') ?? Number.NaN)
  return apiError({
    status: response.status,
    code: typeof fields.error_code === 'string' ? fields.error_code : 'unknown',
    message: typeof fields.error_message === 'string' ? fields.error_message : `The server answered ${response.status}`,
    field: typeof fields.field === 'string' ? fields.field : undefined,
    requestId: typeof fields.request_id === 'string' ? fields.request_id : undefined,
    retryAfter: Number.isFinite(after) ? after : undefined,
    body,
  })
}

/** @throws TrunklineError if the key is missing, or would be exposed in a browser */
export const makeTransport = (options: ClientOptions, { header, variable }: KeyKind): Transport => {
  const apiKey = options.apiKey ?? environment(variable)
  if (!apiKey) throw new TrunklineError(`The key is missing: give apiKey, or set ${variable}.`)
  if (isBrowser() && !options.dangerouslyAllowBrowser)
    throw new TrunklineError(
      'A key in a browser can be read by every visitor. Call from a server, or set dangerouslyAllowBrowser for a sandbox.',
    )
  const baseUrl = (options.baseUrl ?? environment('TRUNKLINE_URL') ?? 'http://127.0.0.1:8080').replace(/\/+$/, '')
  const fetch = options.fetch ?? globalThis.fetch.bind(globalThis)

  const attempt = async (
    { method, path, body }: HttpRequest,
    headers: Readonly<Record<string, string>>,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Response> => {
    const limit = AbortSignal.timeout(timeoutMs)
    const either = signal ? AbortSignal.any([signal, limit]) : limit
    let response: Response
    try {
      response = await fetch(baseUrl + path, {
        method,
        headers,
        signal: either,
        ...(body === undefined ? {} : { body }),
      })
      if (!response.ok) throw await readRefusal(response)
      return response
    } catch (error) {
      if (error instanceof ApiError) throw error
      signal?.throwIfAborted()
      if (limit.aborted)
        throw new TimeoutError(`${method} ${path}: no response within ${timeoutMs} ms`, { cause: error })
      throw new ConnectionError(`${method} ${path}: no response from ${baseUrl}`, { cause: error })
    }
  }

  const send = async (request: HttpRequest, call: CallOptions = {}): Promise<Response> => {
    const { takesIdempotencyKey, isRepeatable, mediaType } = request
    const idempotencyKey = call.idempotencyKey ?? crypto.randomUUID()
    const headers = {
      ...options.headers,
      ...call.headers,
      [header]: apiKey,
      ...(mediaType ? { 'content-type': mediaType } : {}),
      ...(takesIdempotencyKey ? { 'idempotency-key': idempotencyKey } : {}),
    }
    const timeoutMs = call.timeoutMs ?? options.timeoutMs ?? 30_000
    const maxRetries = isRepeatable ? (call.maxRetries ?? options.maxRetries ?? 2) : 0
    for (let tries = 0; ; tries++)
      try {
        return await attempt(request, headers, timeoutMs, call.signal)
      } catch (error) {
        const wait = tries < maxRetries ? retryPauseMs(error, tries) : null
        if (wait === null) throw error
        await pause(wait, call.signal)
      }
  }

  return { baseUrl, apiKey, send }
}
