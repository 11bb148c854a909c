import { Socket } from 'node:net'
import pg from 'pg'
import { hostUrls } from './database-address.ts'
import { asDatabaseError } from './unavailability.ts'

// An address may name several hosts, as libpq writes them: postgres://user:password@a:5432,b:5432/database. They are
// tried in turn. A connection counts only if it may write, so one of them has to be the primary.

/** Milliseconds within which one of several hosts must answer. The next one is tried after that. */
const hostTimeoutMs = 2_000

/** Milliseconds within which a refused connection is closed. */
const endMs = 500

/** The hosts of an address, and the one to try next: the primary, as far as this process knows. */
export type DatabaseHosts = {
  readonly urls: readonly string[]
  current(): string
  /** Notes that a host cannot be reached, or may not be written: the next one is tried. @param error with which it failed */
  failed(url: string, error: unknown): void
  /** Notes that a host can be used. */
  succeeded(url: string): void
  /** The error with which a host failed last; undefined if it can be used, or was not tried. */
  faultOf(url: string): unknown
}

const known = new Map<string, DatabaseHosts>()

/** Returns the hosts of an address. All connections of the process share what one of them finds out. */
export const hostsOf = (url: string): DatabaseHosts => {
  const found = known.get(url)
  if (found) return found
  const urls = hostUrls(url)
  let index = 0
  const faults = new Map<string, unknown>()
  const current = () => urls[index] ?? url
  const hosts: DatabaseHosts = {
    urls,
    current,
    failed: (one, error) => {
      faults.set(one, error)
      if (one === current()) index = (index + 1) % urls.length
    },
    succeeded: (one) => void faults.delete(one),
    faultOf: (one) => faults.get(one),
  }
  known.set(url, hosts)
  return hosts
}

type ConnectCallback = ((error: Error) => void) | ((error: null, client: pg.Client) => void)

/** A connection to the host that was current when it was made. */
export class HostClient extends pg.Client {
  readonly url: string
  readonly #hosts: DatabaseHosts
  readonly #socket: Socket

  constructor(hosts: DatabaseHosts, config: pg.ClientConfig = {}) {
    const url = hosts.current()
    const socket = new Socket()
    super({
      ...config,
      connectionString: url,
      stream: () => socket,
      ...(hosts.urls.length > 1 ? { connectionTimeoutMillis: hostTimeoutMs } : {}),
    })
    this.url = url
    this.#hosts = hosts
    this.#socket = socket
  }

  override connect(): Promise<pg.Client>
  override connect(callback: ConnectCallback): void
  override connect(callback?: ConnectCallback): Promise<pg.Client> | undefined {
    const note = (error: Error) => {
      this.failed(error)
      return asDatabaseError(error)
    }
    if (!callback)
      return super.connect().catch((error: Error) => {
        throw note(error)
      })
    // A cast: `pg` calls it with an error, or with null and the client.
    const done = callback as (error: Error | null) => void
    super.connect((error: Error | null) => done(error && note(error)))
    return undefined
  }

  /** Notes that the host may not be used. */
  failed(error: unknown): void {
    this.#hosts.failed(this.url, error)
  }

  /** Notes that the host may be used. */
  succeeded(): void {
    this.#hosts.succeeded(this.url)
  }

  /** Breaks the connection without waiting for a peer that may be gone. A pool then drops it. */
  abandon(): void {
    this.#socket.destroy()
  }

  /** Ends the session, and the connection after a moment, whether or not the peer answers. */
  endSoon(milliseconds: number): void {
    void this.end().catch(() => {})
    this.#socket.destroySoon()
    setTimeout(() => this.#socket.destroy(), milliseconds).unref()
  }
}

/**
 * Returns a function that notes the error of a connection of a pool. If the host became read-only, it breaks all
 * connections to it: idle ones at once, those in use when they are returned.
 */
export const makeRetire = (pool: pg.Pool): ((error: unknown, client: unknown) => void) => {
  const uses = new Map<unknown, 'idle' | 'used' | 'retired'>()
  pool.on('acquire', (client) => uses.set(client, 'used'))
  pool.on('remove', (client) => uses.delete(client))
  pool.on('release', (_error, client) => {
    if (uses.get(client) !== 'retired') uses.set(client, 'idle')
    else if (client instanceof HostClient) setImmediate(() => client.abandon())
  })
  return (error, client) => {
    const isReadOnly = error instanceof Error && 'code' in error && error.code === '25006'
    if (!isReadOnly || !(client instanceof HostClient)) return
    client.failed(error)
    for (const [other, use] of uses) {
      if (!(other instanceof HostClient) || other.url !== client.url) continue
      if (use === 'idle') other.abandon()
      else uses.set(other, 'retired')
    }
  }
}

/**
 * Opens one connection: to each host in turn, until one can be prepared.
 * @param prepare throws for a host that must not be used
 * @throws the error of the last host
 */
export const openClient = async (
  url: string,
  config: pg.ClientConfig,
  prepare: (client: HostClient) => Promise<void>,
): Promise<HostClient> => {
  const hosts = hostsOf(url)
  for (let attempt = 1; ; attempt++) {
    const client = new HostClient(hosts, config)
    // The running statement is rejected; the additional event must not end the process.
    client.on('error', asDatabaseError)
    try {
      await client.connect()
      await prepare(client)
      client.succeeded()
      return client
    } catch (error) {
      client.failed(error)
      client.endSoon(endMs)
      if (attempt >= hosts.urls.length) throw asDatabaseError(error)
    }
  }
}
