import type { Readable } from 'node:stream'
import { makeFairLimiter } from './fair-limiter.ts'
import { type AddressPolicy, makeAddressJudge } from './outbound-address.ts'
import { download, makeAgents } from './outbound-download.ts'
import { exchange, OutboundError } from './outbound-exchange.ts'
import { type Judged, judged, makeLinks } from './outbound-links.ts'
import { makeNames } from './outbound-names.ts'
import { readTarget, type Target } from './outbound-target.ts'

export type OutboundPolicy = AddressPolicy & {
  /** Takes `http:` addresses too; as `allowPrivate` unless told. */
  readonly http?: boolean
  /** DNS servers instead of those of the machine. */
  readonly dns?: readonly string[]
  /** Exchanges at a time: with one receiver, and in all. Others wait. */
  readonly most?: { readonly each: number; readonly all: number }
}

export type Post = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** From the connection to the last byte of the answer, in milliseconds; names are resolved before, in 5 s at most. */
  readonly timeoutMs: number
  /** Of the answer. */
  readonly maxBytes: number
  readonly signal?: AbortSignal
}

export type Posted = {
  readonly status: number
  readonly retryAfter: string | null
  /** The beginning of the answer's body: as text that a database keeps, whatever the bytes were. */
  readonly excerpt: string
  readonly ms: number
}

export type Get = {
  readonly url: string
  /** Longest silence, in milliseconds. */
  readonly idleMs: number
  readonly signal?: AbortSignal
}

/** The body is not bounded: whoever reads it counts, and destroys it. */
export type Got = {
  readonly status: number
  readonly type: string | null
  readonly length: number | null
  readonly retryAfter: string | null
  readonly body: Readable
}

/** Fetches what tenants name, and nothing within our own network: the only way in which their addresses are called. */
export type Outbound = {
  /** Why an address is refused, to be put after its name; null when nothing speaks against it now. A name that cannot be
   *  resolved at this moment is not held against it: it is judged again whenever it is called. */
  judge(url: string): Promise<string | null>
  /** @throws OutboundError when there was no answer */
  post(post: Post): Promise<Posted>
  /** A file, over three redirects at most, each judged like the first address. @throws OutboundError when there was no answer */
  get(get: Get): Promise<Got>
  close(): void
}

/** What accounts of the sandbox may reach, and what all others may. */
export type OutboundPair = { of(isSandbox: boolean): Outbound; close(): void }

const mostKnown = 5_000
const mostRedirects = 3
const redirects = new Set([301, 302, 303, 307, 308])

const excerptOf = (body: Buffer): string =>
  // As a stream: a character that is cut at the end is left out.
  new TextDecoder().decode(body, { stream: true }).replaceAll('\0', '\ufffd')

/** @throws TypeError when the policy names something that is no network */
export const makeOutbound = (policy: OutboundPolicy): Outbound => {
  const { allowPrivate, http = allowPrivate, most = { each: 64, all: 1_024 } } = policy
  const faultOf = makeAddressJudge(policy)
  const names = makeNames(policy.dns)
  const posting = makeLinks()
  const getting = makeAgents()
  const exchanges = makeFairLimiter({ perKey: most.each, total: most.all })
  const targets = new Map<string, Target | string>()
  const ways = new Map<string, Judged>()
  let closed = false

  const remember = <T>(map: Map<string, T>, key: string, value: T): T => {
    if (map.size >= mostKnown) map.clear()
    map.set(key, value)
    return value
  }

  const targetOf = (url: string) => targets.get(url) ?? remember(targets, url, readTarget(url, { allowPrivate, http }))

  /** Of all its addresses: one bad one among good ones is a trap. */
  const addressFault = ({ host, isAddress }: Target, addresses: readonly string[]): string | null => {
    for (const address of addresses) {
      const fault = faultOf(address)
      if (fault) return isAddress ? `leads to ${fault}` : `leads to ${fault}, by the name ${host}`
    }
    return null
  }

  const wayOf = (target: Target, addresses: readonly string[]): Judged => {
    const key = `${target.isSecure} ${target.hostHeader} ${target.path} ${addresses.join()}`
    const known = ways.get(key)
    if (known) return known
    const fault = addressFault(target, addresses)
    if (fault) throw new OutboundError('refused', fault)
    return remember(ways, key, judged(target, addresses))
  }

  const resolve = async (target: Target): Promise<Judged> => {
    const addresses = await names.resolve(target.host).catch((error: unknown) => {
      const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
      throw new OutboundError('dns', `${target.host} cannot be resolved (${code})`)
    })
    if (addresses.length === 0) throw new OutboundError('dns', `there is no host ${target.host}`)
    return wayOf(target, addresses)
  }

  const wayTo = (target: Target): Judged | Promise<Judged> =>
    target.isAddress ? wayOf(target, [target.host]) : resolve(target)

  const enter = async ({ receiver }: Judged, signal?: AbortSignal): Promise<void> => {
    await exchanges.acquire(receiver, { signal })?.catch(() => {
      throw new OutboundError('closed', 'given up before there was room for it')
    })
  }

  const post = async ({ url, ...given }: Post): Promise<Posted> => {
    const target = targetOf(url)
    if (typeof target === 'string') throw new OutboundError('refused', target)
    const way = await wayTo(target)
    await enter(way, given.signal)
    const began = performance.now()
    try {
      if (closed || given.signal?.aborted) throw new OutboundError('closed', 'given up: the program is stopping')
      const { status, headers, body } = await exchange(posting, way, { ...given, method: 'POST' })
      // Sent twice, it comes as a list, whatever its type says: the first counts.
      const retryAfter = [headers['retry-after']].flat()[0] ?? null
      return { status, retryAfter, excerpt: excerptOf(body), ms: Math.round(performance.now() - began) }
    } finally {
      exchanges.release(way.receiver)
    }
  }

  const open = async (url: string, given: Omit<Get, 'url'>) => {
    const target = targetOf(url)
    if (typeof target === 'string') throw new OutboundError('refused', target)
    const way = await wayTo(target)
    await enter(way, given.signal)
    try {
      if (closed || given.signal?.aborted) throw new OutboundError('closed', 'given up: the program is stopping')
      const answer = await download(getting, way, given)
      answer.once('close', () => exchanges.release(way.receiver))
      return answer
    } catch (error) {
      exchanges.release(way.receiver)
      throw error
    }
  }

  const get = async ({ url, ...given }: Get): Promise<Got> => {
    for (let address = url, hops = 0; ; hops++) {
      const answer = await open(address, given)
      const { statusCode: status = 0, headers } = answer
      const { location } = headers
      if (
        hops === mostRedirects ||
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
    judge: async (url) => {
      const target = targetOf(url)
      if (typeof target === 'string') return target
      try {
        await wayTo(target)
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
      posting.close()
      getting.destroy()
    },
  }
}

const isSame = (one: OutboundPolicy, other: OutboundPolicy): boolean =>
  one.allowPrivate === other.allowPrivate && one.http === other.http

/** @param policy of accounts outside the sandbox; `sandbox` is what differs for those in it */
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
