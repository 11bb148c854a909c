import type { Config } from '../../../config.ts'
import type { InvalidationBus } from '../../../platform/db/invalidation-bus.ts'
import type { Db, Tx } from '../../../platform/db/sql.ts'
import type { Account } from '../../../platform/http/auth.ts'
import { Problem, refuse } from '../../../platform/http/problem.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { micros } from '../../../platform/lib/money.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import { callerIdOf, type UsableCallerId } from '../../callers/ops.ts'
import { enabledConnections } from '../../connections/ops.ts'
import type { Prices } from '../../prices/ops.ts'
import {
  checkCallLimits,
  checkDestination,
  checkSpending,
  countAttempt,
  getsRecord,
  limitsOf,
} from '../control/call-limits.ts'
import { type Destination, findDestination } from '../control/destination.ts'
import { isVoiceRunning } from '../lease/voice-lease.ts'
import { maxWaitingCalls } from '../limits.ts'
import { beginCall, callEnded, refuseCall } from '../ops.ts'
import type { CallOrder } from '../programs/program-source.ts'
import { type CallRefusal, callRefusals, keyLimitCode, refusals } from '../refusals.ts'
import type { CallRow, NewCall } from '../store.ts'
import * as store from './order-store.ts'

// Calls that wait until the process that runs the calls places them: verification calls, and calls of the API.

export type QueueDeps = {
  readonly seal: Seal
  readonly prices: Prices
  readonly sandboxAccounts: { has(account: string): boolean }
  readonly config: Config
  readonly changes: InvalidationBus
}

/** The destination of an attempt as it was written, for its record. */
const nowhere = (to: string) => ({ to, country: '', isTrunk: false, isTollFree: false, rate: '0' })

/** The account that calls, with the keys that count what the call costs. */
type Caller = Pick<Account, 'id' | 'limitedKeys'>

type Attempt = { readonly id: string; readonly account: Caller }

const newCall = (
  { id, account }: Attempt,
  found: Pick<Destination, 'to' | 'country' | 'isTrunk' | 'isTollFree' | 'rate'>,
  shown: UsableCallerId | null,
  from: string,
): NewCall => ({
  ...{
    account_id: account.id,
    limited_keys: account.limitedKeys,
    id,
    callid: id,
    direction: 'O',
    user_id: null,
    from_number: null,
  },
  ...{ to_number: found.to, iso_country_code: found.country, is_msgapp: false, is_trunk: found.isTrunk },
  ...{ caller_id: shown?.id ?? null, caller_id_used: shown?.number ?? from },
  ...{ virtual_number_id: shown?.virtual_number_id ?? null, toll_free: found.isTollFree, rate: found.rate },
})

/** A refused attempt of a call by the API, with what its record says. */
export class RefusedCall extends Problem {
  readonly call: NewCall
  readonly reason: string

  constructor({ problem, message, code, headers, extraFields, fields }: Problem, call: NewCall, reason: string) {
    super(problem, message, code, { ...headers }, { ...extraFields })
    this.at(...fields)
    this.call = call
    this.reason = reason
  }
}

const destinationOf = async (
  { seal, prices, sandboxAccounts }: QueueDeps,
  tx: Tx,
  account: string,
  to: string,
): Promise<Destination | CallRefusal> => {
  const trunks = await enabledConnections(tx, seal, 'sip-trunk')
  return findDestination({ db: tx, prices, sandboxAccounts, trunks: () => trunks }, account, to)
}

/**
 * Queues a platform call to the telephone network for an account: stores it and holds the first minute. The process
 * that runs the calls places it.
 * @param id of the record, without prefix
 * @param from caller ID to show, E.164; null for any usable one
 * @throws the 402, 403, 404, 409, 422, 429 or 503 Problem
 */
export const queueCall = async (
  deps: QueueDeps,
  tx: Tx,
  caller: Caller,
  { id, to, from }: { id: string; to: string; from: string | null },
): Promise<void> => {
  const { sandboxAccounts, config, changes } = deps
  const { id: account } = caller
  if (!(await isVoiceRunning(tx))) throw refusals.noVoice()
  const found = await destinationOf(deps, tx, account, to)
  if ('code' in found) throw refusals.ofCall(found)
  if (!found.isTrunk) throw refusals.numberOfAccount(to)
  const { attemptsPerMinute, destinations } = await limitsOf(tx, account, config)
  const barred = checkDestination(found.to, destinations)
  if (barred) throw refusals.ofCall(barred)
  if ((await countAttempt(tx, account)) > attemptsPerMinute) throw refusals.tooManyAttempts(attemptsPerMinute)
  const proofs = { simulated: found.isSimulated, isSandbox: sandboxAccounts.has(account) }
  const shown =
    (await callerIdOf(tx, account, from, found.country, proofs)) ??
    (from === null ? refuse(refusals.noCallerId()) : refuse(refusals.unusableCallerId(from)))
  const limited = await checkCallLimits(tx, account, micros(found.rate) ?? 0, config)
  if (limited) throw refusals.ofCall(limited)
  await beginCall(tx, { ...newCall({ id, account: caller }, found, shown, ''), queued: true })
  await changes.invalidate(tx, 'calls')
}

/** A call that the API asks for. `to`: a number, or the printed id of a user; `from`: a caller ID of the account, E.164. */
export type OrderedCall = { readonly to: string; readonly from: string; readonly order: CallOrder }

/**
 * Queues a call of the API, which runs a program: stores it and holds the first minute. Calls of an account are due one
 * after the other, at its pace.
 * @returns the call, and in how many milliseconds it is due
 * @throws the 503 Problem if no process runs calls; RefusedCall for every other refusal: `storeRefusedCall` records it
 */
export const queueOrder = async (
  deps: QueueDeps,
  tx: Tx,
  caller: Caller,
  { to, from, order }: OrderedCall,
): Promise<{ row: CallRow; queuedMs: number }> => {
  const { sandboxAccounts, config, changes } = deps
  const { id: account } = caller
  if (!(await isVoiceRunning(tx))) throw refusals.noVoice()
  const attempt = { id: uuid(), account: caller }
  const found = await destinationOf(deps, tx, account, to)
  const where = 'code' in found ? nowhere(to) : found
  const isSandbox = sandboxAccounts.has(account)
  const proofs = { simulated: 'code' in found ? false : found.isSimulated, isSandbox }
  const shown = await callerIdOf(tx, account, from, where.country, proofs)
  const call = newCall(attempt, where, shown, from)
  const refuseWith = (problem: Problem, reason: string): never => refuse(new RefusedCall(problem, call, reason))
  const refuseCode = (refusal: CallRefusal) => refuseWith(refusals.ofOrder(refusal), refusal.code)

  const { attemptsPerMinute, destinations, callsPerSecond } = await limitsOf(tx, account, config)
  if ((await countAttempt(tx, account)) > attemptsPerMinute)
    refuseWith(refusals.tooManyAttempts(attemptsPerMinute), 'too_many_attempts')
  if ('code' in found) return refuseCode(found)
  const barred = found.isTrunk ? checkDestination(found.to, destinations) : null
  if (barred) refuseCode(barred)
  if (!shown) refuseCode(callRefusals.unknownCallerId(from))
  const { waiting, due_ms: dueMs } = await store.queueOf(tx, account, callsPerSecond)
  if (waiting >= maxWaitingCalls)
    refuseWith(refusals.queueFull(maxWaitingCalls, Math.ceil(dueMs / 1_000)), 'call_queue_full')
  const limited = await checkSpending(tx, account, micros(found.rate) ?? 0, config)
  if (limited) refuseCode(limited)
  try {
    // The order is stored in the same transaction, before anyone sees the call.
    await beginCall(tx, { ...call, queued: true, status: 'QUEUED' })
  } catch (error) {
    if (error instanceof Problem && error.problem === 'balance')
      refuseWith(error, error.code === keyLimitCode ? keyLimitCode : 'balance')
    throw error
  }
  const row = await store.setOrder(tx, account, attempt.id, order, dueMs)
  await changes.invalidate(tx, 'calls')
  return { row, queuedMs: dueMs }
}

/** Records a refused attempt, after its transaction. Endless attempts get a record ever more rarely. */
export const storeRefusedCall = async ({ db, config }: Pick<QueueDeps, 'config'> & { db: Db }, problem: unknown) => {
  if (!(problem instanceof RefusedCall)) return
  const { call, reason } = problem
  await db.begin(async (tx) => {
    const { attemptsPerMinute } = await limitsOf(tx, call.account_id, config)
    const attempts = await countAttempt(tx, call.account_id)
    if (attempts > attemptsPerMinute && !getsRecord(attempts, attemptsPerMinute)) return
    await refuseCall(tx, call, reason)
  })
}

/** Ends a call that still waits. @returns false if it does not wait any more */
export const endQueued = async (tx: Tx, account: string, id: string): Promise<boolean> =>
  await callEnded(tx, account, id, { status: 'CANCELED', reason: '487' })

/** Ends calls that no process placed in time. @returns their number */
export const endExpired = async (tx: Tx, limit: number, maxWaitSeconds: number): Promise<number> => {
  const found = await store.lockExpired(tx, limit, maxWaitSeconds)
  for (const { account_id: account, id, is_order } of found)
    await callEnded(tx, account, id, { status: 'FAILED', reason: is_order ? 'expired' : 'interrupted' })
  return found.length
}
