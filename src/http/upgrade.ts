import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { isUnavailable } from '../db/sql.ts'
import { type AccountKey, type Auth, blocked, keyRefusal, missingKey, scopeRefusal, wrongKey } from './auth.ts'
import { type AuthThrottle, lookUp } from './auth-throttle.ts'
import type { Capability } from './capability.ts'
import type { Cors } from './cors.ts'
import type { Meter } from './limit.ts'
import type { Naming } from './naming.ts'
import { Problem } from './problem.ts'
import { refuseWith } from './socket.ts'
import { requestFault } from './strict.ts'

/** A path at which a connection leaves HTTP for WebSocket. */
export type Upgrade = {
  readonly path: string
  /** Takes the connection over. What it throws is answered as any other refusal, so it throws before it answers. */
  open(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
}

type UpgradeParts = {
  readonly naming: Naming
  readonly log: Logger
  readonly life: { readonly stopping: boolean }
  publicUrl(): string
}

const isOf = (origin: string, host: string | undefined): boolean =>
  host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase()

/** Browsers name the page that connects (RFC 6455, 10.2), and no same-origin policy stops it. Other clients name none.
 *  @throws Problem for a page that is neither ours nor of a configured origin */
const admitOrigin = ({ headers: { origin, host } }: IncomingMessage, cors: Cors, publicUrl: string): void => {
  if (origin === undefined || cors.admits(origin) || isOf(origin, host)) return
  if (isOf(origin, new URL(publicUrl).host)) return
  throw new Problem(
    'forbidden',
    `Pages of ${origin} may not connect here: name the origin in TRUNKLINE_CORS_ORIGINS`,
    'origin_not_allowed',
  )
}

type KeyParts = { readonly auth: Auth; readonly meter: Meter; readonly throttle: AuthThrottle }

/** Why a key may not be used for an upgrade, or for what it became; null when it may. @param address of its user */
export const upgradeRefusal = (key: AccountKey, address: string, needs: Capability): Problem | null =>
  keyRefusal(key, { ip: address }) ?? (key.account.blocked ? blocked(key.account) : scopeRefusal(key, needs))

/** The key behind a request for an upgrade, held to the pace of its account like any other call of it. @throws Problem */
export const admitUpgrade = async (
  { auth, meter, throttle }: KeyParts,
  { headers }: IncomingMessage,
  address: string,
  needs: Capability,
): Promise<AccountKey> => {
  const text = headers['x-user-api-key']
  if (typeof text !== 'string' || text === '') throw missingKey()
  const { accounts } = auth
  const key = accounts.known(text) ?? (await lookUp(throttle, address, text, accounts, wrongKey))
  const refusal = upgradeRefusal(key, address, needs)
  if (refusal) throw refusal
  await meter.take(key.account)
  return key
}

const asProblem = (error: unknown): Problem | null => {
  if (error instanceof Problem) return error
  return isUnavailable(error) ? new Problem('unavailable', 'The database cannot be reached at the moment') : null
}

/** How Node's server is to treat requests that want to leave HTTP. What is not one of ours is answered as if it had not
 *  asked: some clients offer h2c with every request. */
export const makeUpgrades = (
  upgrades: readonly Upgrade[],
  cors: Cors,
  { naming, log, life, publicUrl }: UpgradeParts,
) => {
  const found = (request: IncomingMessage): Upgrade | undefined => {
    const url = naming.inbound?.(request) ?? request.url ?? ''
    const path = url.split('?', 1)[0]
    return request.headers.upgrade?.toLowerCase() === 'websocket'
      ? upgrades.find((one) => one.path === path)
      : undefined
  }
  const open = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    try {
      if (life.stopping) throw new Problem('unavailable', 'The server is stopping: try again in a moment')
      const fault = requestFault(request)
      if (fault) throw fault
      admitOrigin(request, cors, publicUrl())
      await found(request)?.open(request, socket, head)
    } catch (error) {
      const problem = asProblem(error)
      if (!problem) log.error({ err: error, route: request.url?.split('?', 1)[0] }, 'an upgrade failed')
      refuseWith(problem ?? new Problem('internal', 'Something went wrong on our side'), socket)
    }
  }
  return {
    wanted: (request: IncomingMessage): boolean => found(request) !== undefined,
    open: (request: IncomingMessage, socket: Duplex, head: Buffer): void => void open(request, socket, head),
  }
}
