import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Db } from '../db/sql.ts'
import { actorOfSession, auditRefusedAccess, type RefusedCaller, targetsOfPath, userAgentOf } from './audit.ts'
import type { AccountKey } from './auth.ts'
import { type AuthThrottle, lookUp } from './auth-throttle.ts'
import type { Contract } from './endpoint.ts'
import {
  maxRefusedCallers,
  maxRefusedCallersOfAccount,
  maxRefusedOperations,
  refusedFlushSize,
  refusedWindowMs,
} from './limits.ts'
import type { Problem } from './problem.ts'
import { refusals } from './refusals.ts'
import type { Session, Sessions } from './session.ts'
import { sessionTokenOf } from './session-cookie.ts'

/** Codes of 403 by which a caller lacks a right. The others refuse the state of things, such as a blocked account. */
export const rightsCodes: ReadonlySet<string> = new Set([
  'role',
  'scope_missing',
  'exceeds_own_key',
  'key_limited',
  'contents_not_visible',
  'address_not_allowed',
  'program_not_allowed',
  'second_factor_required',
  'csrf',
])

/** True for a refusal that the audit trail has. */
const isOfRights = ({ problem, code }: Problem): boolean => problem === 'forbidden' && rightsCodes.has(code)

type Origin = { readonly address: string; readonly userAgent: string | null; readonly requestId: string | null }

type Refusal = Origin & { readonly operation: string; readonly code: string; readonly targets: readonly string[] }

/** Refusals of a caller since a time. The first one has its row; `count` more have none yet. */
type Window = {
  readonly caller: RefusedCaller
  readonly began: number
  last: Refusal
  count: number
  readonly operations: Set<string>
  readonly codes: Set<string>
}

/** Records refusals for lack of rights in the audit trail. */
export type RefusedAccess = {
  /** Records a refused request; null if it is none of those, or its caller is unknown. */
  note(request: FastifyRequest, contract: Contract, problem: Problem): Promise<void> | null
  /** Records the refusal of a key outside the endpoints. */
  noteKey(key: AccountKey, operation: string, problem: Problem, origin: Origin): Promise<void>
  /** Writes the rows of windows that ended. @param isLast also those of windows that have not */
  flush(isLast?: boolean): Promise<void>
}

type RefusedAccessDeps = {
  readonly db: Db
  readonly log: Pick<Logger, 'error' | 'warn'>
  readonly sessions: Pick<Sessions, 'tokens'>
  readonly authThrottle: AuthThrottle
}

const callerOfSession = (session: Session, contract: Contract, request: FastifyRequest): RefusedCaller => {
  const [first, ...others] = session.accounts
  const only = first && others.length === 0 ? first : null
  const isOperator = request.sessionAccount?.isOperator ?? (contract.auth === 'operator' && session.operator !== null)
  const actor = actorOfSession(session, isOperator)
  const entered = request.sessionAccount ?? (isOperator ? null : only)
  return {
    account: entered?.account.id ?? null,
    actor,
    key: actor ? null : (only?.key.id ?? null),
    session: session.id,
  }
}

/** Finds the session of a request that was refused before its session was looked up. */
const sessionBehind = async (
  { sessions: { tokens }, authThrottle }: RefusedAccessDeps,
  request: FastifyRequest,
): Promise<Session | null> => {
  const token = sessionTokenOf(request.raw)
  if (token === null) return null
  const session = tokens.cached(token) ?? lookUp(authThrottle, request.ip, token, tokens, refusals.sessionExpired)
  return await Promise.resolve(session).catch(() => null)
}

const callerOf = async (
  deps: RefusedAccessDeps,
  request: FastifyRequest,
  contract: Contract,
): Promise<RefusedCaller | null> => {
  const { accountKey, operator } = request
  const session = request.session ?? (accountKey || operator ? null : await sessionBehind(deps, request))
  if (session) return callerOfSession(session, contract, request)
  if (operator) return { account: null, actor: { kind: 'operator', ...operator }, key: null, session: null }
  return accountKey ? { account: accountKey.account.id, actor: null, key: accountKey.id, session: null } : null
}

const idOf = ({ account, actor, key, session }: RefusedCaller): string =>
  [account ?? '', actor?.id ?? '', key ?? '', session ?? ''].join(' ')

/** Makes the counters of refusals. */
const makeWindows = () => {
  const windows = new Map<string, Window>()
  /** Windows by account; `''`: without one. */
  const open = new Map<string, number>()
  let dropped = 0

  return {
    /** Counts a refusal. @returns its window if it is the first */
    count: (caller: RefusedCaller, refusal: Refusal): Window | null => {
      const account = caller.account ?? ''
      const own = idOf(caller)
      const used = open.get(account) ?? 0
      // Further callers of the account share the window of the first of them.
      const id = windows.has(own) || used < maxRefusedCallersOfAccount ? own : `${account} others`
      const known = windows.get(id)
      if (known) {
        known.count++
        known.last = refusal
        if (known.operations.size < maxRefusedOperations) known.operations.add(refusal.operation)
        known.codes.add(refusal.code)
        return null
      }
      if (windows.size >= maxRefusedCallers) {
        dropped++
        return null
      }
      const [operations, codes] = [new Set([refusal.operation]), new Set([refusal.code])]
      const fresh = { caller, began: performance.now(), last: refusal, count: 0, operations, codes }
      windows.set(id, fresh)
      open.set(account, used + 1)
      return fresh
    },
    /** Removes and returns the windows that ended. @param isLast also those that have not */
    takeEnded: (isLast: boolean): Window[] => {
      const before = performance.now() - refusedWindowMs
      const ended = [...windows].filter(([, { began }]) => isLast || began <= before)
      for (const [id, { caller }] of ended) {
        windows.delete(id)
        const account = caller.account ?? ''
        const left = (open.get(account) ?? 0) - 1
        if (left > 0) open.set(account, left)
        else open.delete(account)
      }
      return ended.map(([, window]) => window)
    },
    /** Returns the number of refusals that found no window since the last call. */
    takeDropped: (): number => {
      const count = dropped
      dropped = 0
      return count
    },
  }
}

/**
 * Makes the recorder. The first refusal of a caller is recorded before its response; those of the next minute share one
 * row. A caller can therefore add two rows a minute, however often it is refused.
 */
export const makeRefusedAccess = (deps: RefusedAccessDeps): RefusedAccess => {
  const { db, log } = deps
  const windows = makeWindows()

  const write = (rows: readonly { caller: RefusedCaller; refusal: Refusal; count: number; seen: Window }[]) =>
    db.begin(async (tx) => {
      for (const { caller, refusal, count, seen } of rows)
        await auditRefusedAccess(tx, caller, refusal, {
          operations: [...seen.operations],
          error_codes: [...seen.codes],
          refusals: count,
        })
    })

  const record = async (caller: RefusedCaller, refusal: Refusal): Promise<void> => {
    const first = windows.count(caller, refusal)
    if (!first) return
    try {
      // Concurrent refusals change the sets of the window meanwhile.
      const seen = { ...first, operations: new Set(first.operations), codes: new Set(first.codes) }
      await write([{ caller, refusal, count: 1, seen }])
    } catch (error) {
      // The refusal itself needs no database.
      log.error({ err: error, operation: refusal.operation }, 'audit: refusal not recorded')
    }
  }

  const flush = async (isLast = false): Promise<void> => {
    const rows = windows
      .takeEnded(isLast)
      .map((seen) => ({ caller: seen.caller, refusal: seen.last, count: seen.count, seen }))
      .filter(({ count }) => count > 0)
    for (let at = 0; at < rows.length; at += refusedFlushSize) await write(rows.slice(at, at + refusedFlushSize))
    const dropped = windows.takeDropped()
    if (dropped > 0) log.warn({ count: dropped }, 'audit: refusals not recorded, too many callers')
  }

  return {
    note: (request, contract, problem) => {
      if (!isOfRights(problem)) return null
      return callerOf(deps, request, contract).then(
        (caller) =>
          caller
            ? record(caller, {
                operation: contract.id,
                code: problem.code,
                targets: targetsOfPath(request),
                address: request.ip,
                userAgent: userAgentOf(request),
                requestId: request.id,
              })
            : undefined,
        (error) => log.error({ err: error }, 'audit: refusal not recorded'),
      )
    },
    noteKey: async (key, operation, problem, origin) => {
      if (!isOfRights(problem)) return
      const caller = { account: key.account.id, actor: null, key: key.id, session: null }
      await record(caller, { ...origin, operation, code: problem.code, targets: [] })
    },
    flush,
  }
}
