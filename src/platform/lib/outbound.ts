import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { makeFairLimiter } from './fair-limiter.ts'
import { download, makeAgents } from './outbound-download.ts'
import { exchange, OutboundError } from './outbound-exchange.ts'
import { type CheckedTarget, makeConnectionPool } from './outbound-pool.ts'
import { makeTargetResolver, type ResolverPolicy } from './outbound-resolver.ts'
import { storable } from './storable.ts'

export type OutboundPolicy = ResolverPolicy & {
  /** Maximum number of concurrent exchanges, per receiver and in all. Others wait. */
  readonly concurrency?: { readonly each: number; readonly all: number }
}

export type PostRequest = {
  /** Default: POST. */
  readonly method?: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
  /** Time from the connection to the last byte of the response, in ms. Names are resolved before, in at most 5 s. */
  readonly timeoutMs: number
  /** Time until the connection is ready for the request, in ms. Default: that of `timeoutMs`. */
  readonly connectMs?: number
  /** Maximum size of the response body. */
  readonly maxBytes: number
  readonly signal?: AbortSignal
}

export type PostResult = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly retryAfter: string | null
  /** Beginning of the response body, as text that the database can store. */
  readonly excerpt: string
  readonly ms: number
}

export type GetRequest = {
  readonly url: string
  /** Headers for the origin of the URL: a redirect to another one gets none of them. Default: none. */
  readonly headers?: Readonly<Record<string, string>>
  /** Maximum pause, in milliseconds. */
  readonly idleMs: number
  /** Redirects that are followed; the response of a further one is returned. Default: three. */
  readonly maxRedirects?: number
  readonly signal?: AbortSignal
}

/** A response to `get`. The caller must bound the body and destroy it. */
export type GetResult = {
  readonly status: number
  readonly type: string | null
  readonly length: number | null
  readonly retryAfter: string | null
  readonly headers: IncomingHttpHeaders
  readonly body: Readable
}

/** HTTP client for URLs that tenants supply. It refuses addresses of our own network; no other client may call them. */
export type Outbound = {
  /** Returns why a URL is refused, as a predicate to follow its name; null if it is allowed. A name that cannot be
   *  resolved now is allowed: each call checks it again. */
  check(url: string): Promise<string | null>
  /** Returns the target of a URL with its addresses, for a client of another protocol. It must connect to these alone.
   *  @throws OutboundError `refused` for a forbidden URL or address, `dns` if the name has no address */
  resolve(url: string): Promise<Pick<CheckedTarget, 'target' | 'addresses'>>
  /** Sends a request, and does not follow redirects. @throws OutboundError if there is no response */
  post(post: PostRequest): Promise<PostResult>
  /** Downloads a file over at most three redirects, each checked like the first URL.
   *  @throws OutboundError if there is no response */
  get(get: GetRequest): Promise<GetResult>
  close(): void
}

/** The client for sandbox accounts and the one for all others. */
export type OutboundPair = { of(isSandbox: boolean): Outbound; close(): void }

const defaultRedirects = 3
const redirects = new Set([301, 302, 303, 307, 308])

const isSameOrigin = (one: string, other: string): boolean =>
  one === other || new URL(one).origin === new URL(other).origin

const excerptOf = (body: Buffer): string =>
  // `stream` drops an incomplete character at the end.
  storable(new TextDecoder().decode(body, { stream: true }))

/** @throws TypeError if the policy has an invalid network */
export const makeOutbound = (policy: OutboundPolicy): Outbound => {
  const { concurrency = { each: 64, all: 1_024 } } = policy
  const resolver = makeTargetResolver(policy)
  const pool = makeConnectionPool()
  const agents = makeAgents()
  const exchanges = makeFairLimiter({ perKey: concurrency.each, total: concurrency.all })
  let closed = false

  const acquire = async ({ receiver }: CheckedTarget, signal?: AbortSignal): Promise<void> => {
    await exchanges.acquire(receiver, { signal })?.catch(() => {
      throw new OutboundError('closed', 'cancelled while it waited for capacity')
    })
  }

  const post = async ({ url, method = 'POST', ...options }: PostRequest): Promise<PostResult> => {
    const target = await resolver.resolve(url)
    await acquire(target, options.signal)
    const began = performance.now()
    try {
      if (closed || options.signal?.aborted) throw new OutboundError('closed', 'cancelled: the program is stopping')
      const { status, headers, body } = await exchange(pool, target, { ...options, method })
      // A repeated header is a list, despite its type: the first value counts.
      const retryAfter = [headers['retry-after']].flat()[0] ?? null
      return { status, headers, retryAfter, excerpt: excerptOf(body), ms: Math.round(performance.now() - began) }
    } finally {
      exchanges.release(target.receiver)
    }
  }

  const open = async (url: string, options: Omit<GetRequest, 'url'>) => {
    const target = await resolver.resolve(url)
    await acquire(target, options.signal)
    try {
      if (closed || options.signal?.aborted) throw new OutboundError('closed', 'cancelled: the program is stopping')
      const answer = await download(agents, target, options)
      answer.once('close', () => exchanges.release(target.receiver))
      return answer
    } catch (error) {
      exchanges.release(target.receiver)
      throw error
    }
  }

  const get = async ({
    url,
    headers: own = {},
    maxRedirects = defaultRedirects,
    ...options
  }: GetRequest): Promise<GetResult> => {
    for (let address = url, hops = 0; ; hops++) {
      const answer = await open(address, { ...options, headers: isSameOrigin(address, url) ? own : {} })
      const { statusCode: status = 0, headers } = answer
      const { location } = headers
      if (
        hops === maxRedirects ||
        location === undefined ||
        !redirects.has(status) ||
        !URL.canParse(location, address)
      ) {
        const length = Number(headers['content-length'] ?? Number.NaN)
        return {
          status,
          type: headers['content-type'] ?? null,
          length: Number.isFinite(length) ? length : null,
          retryAfter: headers['retry-after'] ?? null,
          headers,
          body: answer,
        }
      }
      answer.destroy()
      address = new URL(location, address).href
    }
  }

  return {
    check: async (url) => {
      try {
        await resolver.resolve(url)
        return null
      } catch (error) {
        if (!(error instanceof OutboundError)) throw error
        return error.code === 'refused' ? error.message : null
      }
    },
    resolve: (url) => resolver.resolve(url),
    post,
    get,
    close: () => {
      closed = true
      resolver.close()
      pool.close()
      agents.destroy()
    },
  }
}

const isSame = (one: OutboundPolicy, other: OutboundPolicy): boolean =>
  one.allowPrivate === other.allowPrivate && one.http === other.http

/** @param policy of accounts outside the sandbox @param sandbox differences for sandbox accounts */
export const makeOutboundPair = (
  policy: OutboundPolicy,
  sandbox: Pick<OutboundPolicy, 'allowPrivate' | 'http'>,
): OutboundPair => {
  const strict = makeOutbound(policy)
  const lenient = isSame(policy, sandbox) ? strict : makeOutbound({ ...policy, ...sandbox })
  return {
    of: (isSandbox) => (isSandbox ? lenient : strict),
    close: () => {
      strict.close()
      lenient.close()
    },
  }
}
