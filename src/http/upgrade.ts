import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { isUnavailable } from '../db/sql.ts'
import { type Account, type Auth, blocked, missingKey, wrongKey } from './auth.ts'
import type { Meter } from './limit.ts'
import type { Naming } from './naming.ts'
import { Problem } from './problem.ts'
import { refuseWith } from './socket.ts'

/** A path at which a connection leaves HTTP for WebSocket. */
export type Upgrade = {
  readonly path: string
  /** Takes the connection over. What it throws is answered as any other refusal, so it throws before it answers. */
  open(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
}

type UpgradeParts = { readonly naming: Naming; readonly log: Logger; readonly life: { readonly stopping: boolean } }

/** The account behind a request for an upgrade, held to its pace like any other call of it. @throws Problem */
export const admitUpgrade = async (
  auth: Auth,
  meter: Meter,
  { headers, socket }: IncomingMessage,
): Promise<Account> => {
  const key = headers['x-user-api-key']
  if (typeof key !== 'string' || key === '') throw missingKey()
  const account = (await auth.account(key, { ip: socket.remoteAddress ?? '' })) ?? null
  if (!account) throw wrongKey()
  if (account.blocked) throw blocked(account)
  await meter.take(account)
  return account
}

const asProblem = (error: unknown): Problem | null => {
  if (error instanceof Problem) return error
  return isUnavailable(error) ? new Problem('unavailable', 'The database cannot be reached at the moment') : null
}

/** How Node's server is to treat requests that want to leave HTTP. What is not one of ours is answered as if it had not
 *  asked: some clients offer h2c with every request. */
export const makeUpgrades = (upgrades: readonly Upgrade[], { naming, log, life }: UpgradeParts) => {
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
