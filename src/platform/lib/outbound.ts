import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { makeHostResolver } from '@trunkline/sip/transport/host-resolver.ts'
import { makeFairLimiter } from './fair-limiter.ts'
import { type AddressPolicy, makeAddressCheck } from './outbound-address.ts'
import { download, makeAgents } from './outbound-download.ts'
import { exchange, OutboundError } from './outbound-exchange.ts'
import { type CheckedTarget, checkedTarget, makeConnectionPool } from './outbound-pool.ts'
import { readTarget, type Target } from './outbound-target.ts'
import { storable } from './storable.ts'

export type OutboundPolicy = AddressPolicy & {
  /** Allows `http:` URLs. Default: the value of `allowPrivate`. */
  readonly http?: boolean
  /** DNS servers. Default: those of the machine. */
  readonly dns?: readonly string[]
  /** Maximum number of concurrent exchanges, per receiver and in all. Others wait. */
  readonly concurrency?: { readonly each: number; readonly all: number }
}

export type PostRequest = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  /** Time from the connection to the last byte of the response, in ms. Names are resolved before, in at most 5 s. */
  readonly timeoutMs: number
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
  /** Maximum pause, in milliseconds. */
  readonly idleMs: number
  readonly signal?: AbortSignal
}

/** A response to `get`. The caller must bound the body and destroy it. */
export type GetResult = {
  readonly status: number
  readonly type: string | null
  readonly length: number | null
  readonly retryAfter: string | null
  readonly body: Readable
}

/** HTTP client for URLs that tenants supply. It refuses addresses of our own network; no other client may call them. */
export type Outbound = {
  /** Returns why a URL is refused, as a predicate to follow its name; null if it is allowed. A name that cannot be
   *  resolved now is allowed: each call checks it again. */
  check(url: string): Promise<string | null>
  /** @throws OutboundError if there is no response */
  post(post: PostRequest): Promise<PostResult>
  /** Downloads a file over at most three redirects, each checked like the first URL.
   *  @throws OutboundError if there is no response */
  get(get: GetRequest): Promise<GetResult>
  close(): void
}

/** The client for sandbox accounts and the one for all others. */
export type OutboundPair = { of(isSandbox: boolean): Outbound; close(): void }

const maxCached = 5_000
const maxRedirects = 3
const redirects = new Set([301, 302, 303, 307, 308])

const excerptOf = (body: Buffer): string =>
  // `stream` drops an incomplete character at the end.
  storable(new TextDecoder().decode(body, { stream: true }))

/** @throws TypeError if the policy has an invalid network */
export const makeOutbound = (policy: OutboundPolicy): Outbound => {
  const { allowPrivate, http = allowPrivate, concurrency = { each: 64, all: 1_024 } } = policy
  const faultOf = makeAddressCheck(policy)
  const names = makeHostResolver(policy.dns)
  const pool = makeConnectionPool()
  const agents = makeAgents()
  const exchanges = makeFairLimiter({ perKey: concurrency.each, total: concurrency.all })
  const targets = new Map<string, Target | string>()
  const checkedTargets = new Map<string, CheckedTarget>()
  let closed = false

  const remember = <T>(map: Map<string, T>, key: string, value: T): T => {
    if (map.size >= maxCached) map.clear()
    map.set(key, value)
    return value
  }

  const targetOf = (url: string) => targets.get(url) ?? remember(targets, url, readTarget(url, { allowPrivate, http }))

  /** Checks all addresses: a single forbidden one refuses the target. */
  const addressFault = ({ host, isAddress }: Target, addresses: readonly string[]): string | null => {
    for (const address of addresses) {
      const fault = faultOf(address)
      if (fault) return isAddress ? `leads to ${fault}` : `leads to ${fault}, by the name ${host}`
    }
    return null
  }

  const checkAddresses = (target: Target, addresses: readonly string[]): CheckedTarget => {
    const key = `${target.isSecure} ${target.hostHeader} ${target.path} ${addresses.join()}`
    const known = checkedTargets.get(key)
    if (known) return known
    const fault = addressFault(target, addresses)
    if (fault) throw new OutboundError('refused', fault)
    return remember(checkedTargets, key, checkedTarget(target, addresses))
  }

  const resolve = async (target: Target): Promise<CheckedTarget> => {
    const addresses = await names.resolve(target.host).catch((error: unknown) => {
      const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
      throw new OutboundError('dns', `${target.host} cannot be resolved (${code})`)
    })
    if (addresses.length === 0) throw new OutboundError('dns', `the host ${target.host} does not exist`)
    return checkAddresses(target, addresses)
  }

  const resolveTarget = (target: Target): CheckedTarget | Promise<CheckedTarget> =>
    target.isAddress ? checkAddresses(target, [target.host]) : resolve(target)

  const acquire = async ({ receiver }: CheckedTarget, signal?: AbortSignal): Promise<void> => {
    await exchanges.acquire(receiver, { signal })?.catch(() => {
      throw new OutboundError('closed', 'cancelled while it waited for capacity')
    })
  }

  const post = async ({ url, ...given }: PostRequest): Promise<PostResult> => {
    const target = targetOf(url)
    if (typeof target === 'string') throw new OutboundError('refused', target)
    const way = await resolveTarget(target)
    await acquire(way, given.signal)
    const began = performance.now()
    try {
      if (closed || given.signal?.aborted) throw new OutboundError('closed', 'cancelled: the program is stopping')
      const { status, headers, body } = await exchange(pool, way, { ...given, method: 'POST' })
      // A repeated header is a list, despite its type: the first value counts.
      const retryAfter = [headers['retry-after']].flat()[0] ?? null
      return { status, headers, retryAfter, excerpt: excerptOf(body), ms: Math.round(performance.now() - began) }
    } finally {
      exchanges.release(way.receiver)
    }
  }

  const open = async (url: string, given: Omit<GetRequest, 'url'>) => {
    const target = targetOf(url)
    if (typeof target === 'string') throw new OutboundError('refused', target)
    const way = await resolveTarget(target)
    await acquire(way, given.signal)
    try {
      if (closed || given.signal?.aborted) throw new OutboundError('closed', 'cancelled: the program is stopping')
      const answer = await download(agents, way, given)
      answer.once('close', () => exchanges.release(way.receiver))
      return answer
    } catch (error) {
      exchanges.release(way.receiver)
      throw error
    }
  }

  const get = async ({ url, ...given }: GetRequest): Promise<GetResult> => {
    for (let address = url, hops = 0; ; hops++) {
      const answer = await open(address, given)
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
          body: answer,
        }
      }
      answer.destroy()
      address = new URL(location, address).href
    }
  }

  return {
    check: async (url) => {
      const target = targetOf(url)
      if (typeof target === 'string') return target
      try {
        await resolveTarget(target)
        return null
      } catch (error) {
        if (!(error instanceof OutboundError)) throw error
        return error.code === 'refused' ? error.message : null
      }
    },
    post,
    get,
    close: () => {
      closed = true
      names.close()
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
