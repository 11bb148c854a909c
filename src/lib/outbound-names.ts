import { Resolver } from 'node:dns/promises'

/** Resolves names to all their addresses. */
export type Names = {
  /** Every IPv4 and IPv6 address of a name; an empty list when there is none. @throws Error when nobody could be asked */
  resolve(name: string): Promise<readonly string[]>
  close(): void
}

const keepMs = 30_000
const keepFailureMs = 5_000
const mostNames = 5_000
/** Of one name: an answer of a thousand addresses would all have to be judged. */
const mostAddresses = 32

const loopback = ['127.0.0.1', '::1']
const none = new Set(['ENOTFOUND', 'ENODATA'])

type Answer = { readonly until: number; readonly addresses: Promise<readonly string[]> }

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')

/**
 * Asks DNS for A and AAAA at once. Not `lookup`: that holds one of the four threads which also read files, for as long as a
 * tenant's name server likes to take. Answers are kept for 30 s, also when they say less: what is connected to is what was
 * judged, so an answer that is changed meanwhile opens nothing.
 * @param servers of DNS instead of those of the machine
 */
export const makeNames = (servers?: readonly string[]): Names => {
  const resolver = new Resolver({ timeout: 1_500, tries: 2 })
  if (servers) resolver.setServers(servers)
  const known = new Map<string, Answer>()

  const ask = async (name: string): Promise<readonly string[]> => {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    const failed = answers.find((answer) => answer.status === 'rejected' && !none.has(codeOf(answer.reason)))
    if (addresses.length === 0 && failed?.status === 'rejected') throw failed.reason
    if (addresses.length > mostAddresses) throw new Error(`${name} has ${addresses.length} addresses`)
    return addresses
  }

  const remember = (name: string): Promise<readonly string[]> => {
    const addresses = ask(name)
    const keep = (milliseconds: number) => known.set(name, { until: performance.now() + milliseconds, addresses })
    // The oldest goes first: Maps are walked in the order in which they were filled.
    if (known.size >= mostNames) for (const [oldest] of known.entries().take(mostNames / 10)) known.delete(oldest)
    keep(keepMs)
    addresses.then(
      (found) => found.length === 0 && keep(keepFailureMs),
      () => keep(keepFailureMs),
    )
    return addresses
  }

  return {
    resolve: (name) => {
      // RFC 6761, 6.3: never asked of DNS.
      if (name === 'localhost' || name.endsWith('.localhost')) return Promise.resolve(loopback)
      const answer = known.get(name)
      if (answer && answer.until > performance.now()) return answer.addresses
      known.delete(name)
      return remember(name)
    },
    close: () => resolver.cancel(),
  }
}
