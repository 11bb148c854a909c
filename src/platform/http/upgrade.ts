import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { isUnavailable } from '../db/sql.ts'
import type { Alias } from './alias.ts'
import { userAgentOf } from './audit.ts'
import { type AccountKey, type Auth, blockedRefusal, keyRefusal, scopeRefusal } from './auth.ts'
import { type AuthThrottle, lookUp } from './auth-throttle.ts'
import type { Capability } from './capability.ts'
import type { Cors } from './cors.ts'
import { Problem } from './problem.ts'
import { protocolViolation } from './protocol-violation.ts'
import type { RateLimiter } from './rate-limiter.ts'
import { refusals } from './refusals.ts'
import type { RefusedAccess } from './refused-access.ts'
import { isOwnOrigin, type OwnOriginDeps } from './session-cookie.ts'
import { endWithProblem } from './socket.ts'

/** A path that upgrades to WebSocket. */
export type Upgrade = {
  readonly path: string
  /** Takes over the connection. Must throw before it writes: the error is sent as an HTTP response. */
  open(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
}

type UpgradeDeps = OwnOriginDeps & {
  readonly alias: Alias
  readonly log: Logger
  readonly lifecycle: { readonly stopping: boolean }
}

/** Checks the Origin that browsers send (RFC 6455, 10.2), as no same-origin policy applies. Other clients send none.
 *  @throws Problem for an origin that is neither ours nor configured */
const checkOrigin = (parts: OwnOriginDeps, request: IncomingMessage, cors: Cors): void => {
  const { origin } = request.headers
  if (origin === undefined || cors.admits(origin) || isOwnOrigin(parts, origin, request)) return
  throw refusals.originNotAllowed(origin)
}

type KeyDeps = {
  readonly auth: Auth
  readonly rateLimiter: RateLimiter
  readonly authThrottle: AuthThrottle
  readonly refusedAccess: RefusedAccess
}

/** Returns the refusal of a key for an upgrade or an open connection; null if it may be used.
 *  @param address of the client */
export const upgradeRefusal = (key: AccountKey, address: string, needs: Capability): Problem | null =>
  keyRefusal(key, { ip: address }) ?? (key.account.blocked ? blockedRefusal(key.account) : scopeRefusal(key, needs))

/** Authenticates an upgrade request; it counts for the rate limit of the account.
 *  @param operation its name in the audit trail, if the key lacks the right @throws Problem */
export const authenticateUpgrade = async (
  { auth, rateLimiter, authThrottle, refusedAccess }: KeyDeps,
  { headers }: IncomingMessage,
  address: string,
  { needs, operation }: { needs: Capability; operation: string },
): Promise<AccountKey> => {
  const text = headers['x-user-api-key']
  if (typeof text !== 'string' || text === '') throw refusals.missingKey()
  const { accounts } = auth
  const key = accounts.cached(text) ?? (await lookUp(authThrottle, address, text, accounts, refusals.wrongKey))
  const refusal = upgradeRefusal(key, address, needs)
  if (refusal) {
    const origin = { address, userAgent: userAgentOf({ headers }), requestId: null }
    await refusedAccess.noteKey(key, operation, refusal, origin)
    throw refusal
  }
  await rateLimiter.take(key.account)
  return key
}

const asProblem = (error: unknown): Problem | null => {
  if (error instanceof Problem) return error
  return isUnavailable(error) ? refusals.databaseUnreachable() : null
}

/** Returns the upgrade handlers of Node's server. An unknown upgrade is answered as a plain request: some clients offer
 *  h2c with every request. */
export const makeUpgrades = (upgrades: readonly Upgrade[], cors: Cors, parts: UpgradeDeps) => {
  const { alias, log, lifecycle } = parts
  const found = (request: IncomingMessage): Upgrade | undefined => {
    const url = alias.rewriteUrl?.(request) ?? request.url ?? ''
    const path = url.split('?', 1)[0]
    return request.headers.upgrade?.toLowerCase() === 'websocket'
      ? upgrades.find((one) => one.path === path)
      : undefined
  }
  const open = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    try {
      if (lifecycle.stopping) throw refusals.serverStopping()
      const fault = protocolViolation(request)
      if (fault) throw fault
      checkOrigin(parts, request, cors)
      await found(request)?.open(request, socket, head)
    } catch (error) {
      const problem = asProblem(error)
      if (!problem) log.error({ err: error, route: request.url?.split('?', 1)[0] }, 'http: upgrade failed')
      endWithProblem(problem ?? refusals.upgradeFailed(), socket)
    }
  }
  return {
    isUpgrade: (request: IncomingMessage): boolean => found(request) !== undefined,
    open: (request: IncomingMessage, socket: Duplex, head: Buffer): void => void open(request, socket, head),
  }
}
