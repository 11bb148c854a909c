import type { InvalidationBus } from '../../../platform/db/invalidation-bus.ts'
import type { Db, Sql, Tx } from '../../../platform/db/sql.ts'
import { uuid } from '../../../platform/lib/id.ts'
import type { LimitedKeys } from '../../ledger/ops.ts'
import { isVoiceRunning } from '../lease/voice-lease.ts'
import { commandPollMs, commandWaitMs } from '../limits.ts'
import { type CallCommand, type CommandOutcome, notAnswered } from '../programs/call-command.ts'
import { refusals } from '../refusals.ts'
import { type CallRow, countFor, lock } from '../store.ts'
import { addCommand, outcomeOf } from './command-store.ts'
import { endQueued } from './ops.ts'

type CommandDeps = { readonly db: Db; readonly changes: InvalidationBus }

/** Gives a command to the process that runs a call. A call that still waits is ended at once, and takes no other command.
 *  @returns the id of the command, or its outcome */
const giveCommand = async (
  { changes }: CommandDeps,
  tx: Tx,
  account: string,
  call: string,
  command: CallCommand,
  limitedKeys: LimitedKeys,
): Promise<{ readonly id: string } | CommandOutcome> => {
  const row = await lock(tx, account, call)
  if (!row) throw refusals.callEnded()
  if (row.queued) {
    if (command.command !== 'hangup') return notAnswered
    await endQueued(tx, account, call)
    return { ok: true }
  }
  if (!(await isVoiceRunning(tx))) throw refusals.noVoice()
  // The calls that the next program dials count for the key that chose it, too.
  if (command.command === 'redirect' && limitedKeys !== null) await countFor(tx, account, call, limitedKeys)
  const id = uuid()
  await addCommand(tx, account, id, call, command)
  await changes.invalidate(tx, 'calls')
  return { id }
}

/** Waits for the outcome of a command. Returns null if it takes too long. */
const awaitOutcome = async (sql: Sql, account: string, id: string): Promise<CommandOutcome | null> => {
  for (const end = performance.now() + commandWaitMs; performance.now() < end; ) {
    const outcome = await outcomeOf(sql, account, id)
    if (outcome) return outcome
    await new Promise((resolve) => setTimeout(resolve, commandPollMs))
  }
  return null
}

/**
 * Commands a call, and waits for the outcome. Not inside a transaction: the process of the call sees a command only once
 * it is committed.
 * @param limitedKeys keys with a daily spend limit that count what the call dials after a redirect
 * @param note writes what the request leaves, in the transaction of the command
 * @returns null if the process of the call did not answer in time
 * @throws the 406, 409 or 503 Problem
 */
export const runCommandOnCall = async (
  deps: CommandDeps,
  { account_id: account, id: call, is_msgapp }: Pick<CallRow, 'account_id' | 'id' | 'is_msgapp'>,
  command: CallCommand,
  limitedKeys: LimitedKeys,
  note: (tx: Tx) => Promise<void> = async () => {},
): Promise<CommandOutcome | null> => {
  if (is_msgapp) throw refusals.callOnOtherDevices()
  const given = await deps.db.begin(async (tx) => {
    const given = await giveCommand(deps, tx, account, call, command, limitedKeys)
    await note(tx)
    return given
  })
  return 'id' in given ? await awaitOutcome(deps.db, account, given.id) : given
}
