import { takeEarly } from './early.ts'
import { ApiError, isPassing } from './errors.ts'

/** The parts of a request that fill its address and its body. */
export type RequestParts = {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

type SendOptions = {
  readonly signal?: AbortSignal
  readonly idempotencyKey?: string
  readonly account?: string
  /** Further headers, such as the name of a file. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Dialogs that let a refused request succeed. The shell sets them; each resolves true once the person is done. */
export const recovery = {
  /** The session ended. */
  signIn: async (): Promise<boolean> => false,
  /** The session must prove itself again. */
  prove: async (): Promise<boolean> => false,
}

/** The account that requests act for, and the measure of the connection. */
export const requestContext = { account: '', onReached: (_isReached: boolean): void => {} }

/** Milliseconds after which a request without a response is given up. */
const timeout = 30_000

/** Returns a new Idempotency-Key. `crypto.randomUUID` is missing on plain HTTP. */
export const newIdempotencyKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** Returns the address of a route with its parameters and query. */
export const addressOf = (url: string, { params = {}, query = {} }: RequestParts): string => {
  const path = url.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name] ?? '')))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === '') continue
    for (const each of Array.isArray(value) ? value : [value]) search.append(name, String(each))
  }
  return search.size > 0 ? `${path}?${search}` : path
}

const readBody = async (response: Response): Promise<Record<string, unknown>> => {
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  return isJson ? ((await response.json()) as Record<string, unknown>) : {}
}

const attempt = async (method: string, url: string, body: unknown, options: SendOptions): Promise<unknown> => {
  const account = options.account ?? requestContext.account
  const isFile = body instanceof Blob
  const headers = new Headers(options.headers)
  if (method !== 'GET') headers.set('x-trunkline-console', '1')
  if (account && url.startsWith('/open/')) headers.set('x-account', account)
  if (options.idempotencyKey) headers.set('idempotency-key', options.idempotencyKey)
  if (body !== undefined) headers.set('content-type', isFile ? body.type : 'application/json')
  const signals = [AbortSignal.timeout(timeout), ...(options.signal ? [options.signal] : [])]
  let response: Response
  try {
    response = await (takeEarly(method, url) ??
      fetch(url, {
        method,
        headers,
        credentials: 'same-origin',
        cache: 'no-store',
        signal: AbortSignal.any(signals),
        ...(body === undefined ? {} : { body: isFile ? body : JSON.stringify(body) }),
      }))
  } catch (error) {
    if (options.signal?.aborted) throw error
    requestContext.onReached(false)
    throw new ApiError(0, {})
  }
  requestContext.onReached(true)
  const reply = await readBody(response)
  if (response.ok) return reply
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  throw new ApiError(response.status, reply, Number.isFinite(seconds) ? seconds : undefined)
}

const wait = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Milliseconds before an attempt is repeated, with jitter; undefined if it is not. A repeated POST needs its key. */
const pauseBefore = (error: ApiError, tries: number, method: string, key: string | undefined): number | undefined => {
  const isSafe = method === 'GET' || method === 'PUT' || method === 'DELETE' || key !== undefined
  if (tries >= 3 || !isSafe || !isPassing(error)) return undefined
  if ((error.retryAfter ?? 0) > 5) return undefined
  return error.retryAfter !== undefined ? error.retryAfter * 1000 : 300 * 2 ** tries * (0.75 + Math.random() / 2)
}

/** Addresses whose 401 is an answer and not the end of a session. */
const isSignIn = (url: string): boolean => url.startsWith('/console/')

/** Repeats an attempt after passing faults, after signing in again, and after a new proof. */
export const send = async (
  route: string,
  parts: RequestParts,
  options: SendOptions & { readonly recover?: boolean } = {},
): Promise<unknown> => {
  const [method = '', url = ''] = route.split(' ')
  const address = addressOf(url, parts)
  let recovered = options.recover === false ? 2 : 0
  for (let tries = 0; ; tries += 1) {
    try {
      return await attempt(method, address, parts.body, options)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const isProof = error.status === 403 && error.code === 'reauthentication_required'
      if (recovered < 2 && ((error.status === 401 && !isSignIn(url)) || isProof)) {
        recovered += 1
        if (await (isProof ? recovery.prove() : recovery.signIn())) continue
        throw error
      }
      const pause = pauseBefore(error, tries, method, options.idempotencyKey)
      if (pause === undefined) throw error
      await wait(pause)
    }
  }
}
