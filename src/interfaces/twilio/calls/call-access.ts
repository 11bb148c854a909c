import {
  type CallCommand,
  type CallRow,
  type CommandOutcome,
  callOf,
  runCommandOnCall,
  visibleCalls,
} from '../../../domains/calls/compat/ops.ts'
import { type NarrowingCall, narrowingOf } from '../../../domains/inbox/narrowing/ops.ts'
import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { Account } from '../../../platform/http/auth.ts'
import type { Capability } from '../../../platform/http/capability.ts'
import { Problem, refuse } from '../../../platform/http/problem.ts'
import { parseSid, printSid } from '../../../platform/lib/sid.ts'
import { refusals } from '../refusals.ts'
import * as store from '../store.ts'

type CallFinder = (sql: Sql, call: NarrowingCall, sid: string, unless?: Capability) => Promise<CallRow>

/** Finds a call that a caller may see, and so command. @param unless as in `narrowingOf` @throws Problem 404 */
export const findVisibleCall: CallFinder = async (sql, call, sid, unless) => {
  const { account } = call
  const id = parseSid('CA', sid)
  const row = id === null ? null : await callOf(sql, account.id, id)
  const unknown = () => refuse(refusals.unknownResource(`Calls/${sid}`))
  if (row === null || (await store.deletedCallsAmong(sql, account.id, [row.id])).has(row.id)) return unknown()
  const narrowing = await narrowingOf(sql, call, unless)
  return narrowing === null || (await visibleCalls(sql, narrowing, [row.id])).has(row.id) ? row : unknown()
}

type CommandDeps = Parameters<typeof runCommandOnCall>[0]

/**
 * Gives a command to a call in progress, and waits for its outcome; null: it may still be carried out.
 * @param note writes what the request leaves, in the transaction of the command
 * @throws Problem 400 for a call that cannot do it, 404 for a hang-up after the end
 */
export const commandCall = async (
  deps: CommandDeps,
  { limitedKeys }: Pick<Account, 'limitedKeys'>,
  row: CallRow,
  command: CallCommand,
  note: (tx: Tx) => Promise<void>,
): Promise<Extract<CommandOutcome, { ok: true }> | null> => {
  // A hang-up that comes too late finds no call, as in Twilio's interface: agents rely on it.
  const over = (why: string) =>
    command.command === 'hangup'
      ? refusals.unknownResource(`Calls/${printSid('CA', row.id)}`)
      : refusals.notInProgress(why)
  try {
    const outcome = await runCommandOnCall(deps, row, command, limitedKeys, note)
    if (outcome !== null && !outcome.ok)
      throw outcome.code === 'call_ended' ? over(outcome.reason) : refusals.notInProgress(outcome.reason)
    return outcome
  } catch (error) {
    throw error instanceof Problem && error.code === 'call_ended' ? over(error.message) : error
  }
}
