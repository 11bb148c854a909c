import { exchange, OutboundError } from '../../platform/lib/outbound-exchange.ts'
import { type CheckedTarget, makeConnectionPool } from '../../platform/lib/outbound-pool.ts'
import { makeTargetResolver } from '../../platform/lib/outbound-resolver.ts'
import { maxAnswerBytes } from './limits.ts'
import type { ProviderAnswer, ProviderRequest } from './provider.ts'

/** Result of a request. `unsent`: the provider certainly did not get it. `lost`: it may have. */
export type RequestResult =
  | { readonly kind: 'answer'; readonly answer: ProviderAnswer }
  | { readonly kind: 'unsent' | 'lost'; readonly detail: string }

/** HTTP client of one carrier. Operators choose its addresses, so private ones are allowed. */
export type HttpClient = {
  /** Never rejects. Follows no redirects, and never sends a request twice. */
  request(request: ProviderRequest, timeoutMs: number): Promise<RequestResult>
  /** Ends what is under way. */
  close(): void
}

/** Returns the seconds of the header Retry-After (RFC 9110, 10.2.3): a number, or a date. */
const retryAfterSeconds = (value: string | undefined): number | null => {
  if (value === undefined) return null
  if (/^[0-9]{1,6}$/.test(value)) return Number(value)
  const at = Date.parse(value)
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1_000))
}

export const makeHttpClient = (): HttpClient => {
  const resolver = makeTargetResolver({ allowPrivate: true })
  const pool = makeConnectionPool()
  const stop = new AbortController()

  /** Checks the origin alone: the path and query of each message differ, and may be long. */
  const targetOf = async (url: string): Promise<CheckedTarget> => {
    if (!URL.canParse(url)) throw new OutboundError('refused', 'the address is not a web address')
    const { origin, username, password, pathname, search } = new URL(url)
    if (username !== '' || password !== '')
      throw new OutboundError('refused', 'the address contains a user or a password')
    const checked = await resolver.resolve(`${origin}/`)
    return { ...checked, target: { ...checked.target, path: pathname + search } }
  }

  const send = async ({ method, url, headers, body }: ProviderRequest, timeoutMs: number): Promise<ProviderAnswer> => {
    const target = await targetOf(url)
    const { signal } = stop
    if (signal.aborted) throw new OutboundError('closed', 'the connection is closing', false)
    const options = { method, headers, body, timeoutMs, maxBytes: maxAnswerBytes, signal, isRepeatable: false }
    const { status, headers: answered, body: octets } = await exchange(pool, target, options)
    // A repeated header is a list, despite its type.
    const retryAfter = retryAfterSeconds([answered['retry-after']].flat()[0])
    return { status, body: octets.toString('utf8'), retryAfter }
  }

  return {
    request: async (request, timeoutMs) => {
      try {
        return { kind: 'answer', answer: await send(request, timeoutMs) }
      } catch (error) {
        // Any other error is of the request itself, before it was written.
        const isLost = error instanceof OutboundError && error.mayHaveArrived
        return { kind: isLost ? 'lost' : 'unsent', detail: error instanceof Error ? error.message : String(error) }
      }
    },
    close: () => {
      stop.abort()
      resolver.close()
      pool.close()
    },
  }
}
