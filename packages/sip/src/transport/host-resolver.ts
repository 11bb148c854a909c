import { Resolver } from 'node:dns/promises'

/** Resolves host names. */
export type HostResolver = {
  /** Returns all IPv4 and IPv6 addresses of a name, or an empty list. @throws Error if no server answered */
  resolve(name: string): Promise<readonly string[]>
  close(): void
}

const cacheMs = 30_000
const cacheFailureMs = 5_000
const maxNames = 5_000
/** Maximum number of addresses per name, as each one must be checked. */
const maxAddresses = 32

const loopback = ['127.0.0.1', '::1']
const notFoundCodes = new Set(['ENOTFOUND', 'ENODATA'])

type CachedAnswer = { readonly until: number; readonly addresses: Promise<readonly string[]> }

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')

/**
 * Queries A and AAAA records concurrently. Does not use `lookup`: a tenant's slow name server would block one of the
 * four threads that also read files. Answers are cached for 30 s, even with a shorter TTL. A record that changes
 * meanwhile has no effect, as only checked addresses are connected to.
 * @param servers DNS servers. Default: those of the machine.
 */
export const makeHostResolver = (servers?: readonly string[]): HostResolver => {
  const resolver = new Resolver({ timeout: 1_500, tries: 2 })
  if (servers) resolver.setServers(servers)
  const known = new Map<string, CachedAnswer>()

  const ask = async (name: string): Promise<readonly string[]> => {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    const failed = answers.find((answer) => answer.status === 'rejected' && !notFoundCodes.has(codeOf(answer.reason)))
    if (addresses.length === 0 && failed?.status === 'rejected') throw failed.reason
    if (addresses.length > maxAddresses) throw new Error(`${name} has ${addresses.length} addresses`)
    return addresses
  }

  const remember = (name: string): Promise<readonly string[]> => {
    const addresses = ask(name)
    const keep = (milliseconds: number) => known.set(name, { until: performance.now() + milliseconds, addresses })
    // Evicts the oldest: Maps iterate in insertion order.
    if (known.size >= maxNames) for (const [oldest] of known.entries().take(maxNames / 10)) known.delete(oldest)
    keep(cacheMs)
    addresses.then(
      (found) => found.length === 0 && keep(cacheFailureMs),
      () => keep(cacheFailureMs),
    )
    return addresses
  }

  return {
    resolve: (name) => {
      // RFC 6761, 6.3: DNS is never queried.
      if (name === 'localhost' || name.endsWith('.localhost')) return Promise.resolve(loopback)
      const answer = known.get(name)
      if (answer && answer.until > performance.now()) return answer.addresses
      known.delete(name)
      return remember(name)
    },
    close: () => resolver.cancel(),
  }
}
