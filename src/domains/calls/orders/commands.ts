import type { InvalidationBus } from '../../../platform/db/invalidation-bus.ts'
import type { Sql, Tx } from '../../../platform/db/sql.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { isVoiceRunning } from '../lease/voice-lease.ts'
import { commandPollMs, commandWaitMs } from '../limits.ts'
import type { CallCommand, CommandOutcome } from '../programs/call-command.ts'
import { refusals } from '../refusals.ts'
import { lock } from '../store.ts'
import { addCommand, outcomeOf } from './command-store.ts'
import { endQueued } from './ops.ts'

/**
 * Gives a command to the process that runs a call. A call that still waits is ended at once.
 * @returns the id of the command; null if it is done
 * @throws the 409 or 503 Problem
 */
export const giveCommand = async (
  { changes }: { readonly changes: InvalidationBus },
  tx: Tx,
  account: string,
  call: string,
  command: CallCommand,
): Promise<string | null> => {
  const row = await lock(tx, account, call)
  if (!row) throw refusals.callEnded()
  if (row.queued && command.command === 'hangup') {
    await endQueued(tx, account, call)
    return null
  }
  if (!(await isVoiceRunning(tx))) throw refusals.noVoice()
  const id = uuid()
  await addCommand(tx, account, id, call, command)
  await changes.invalidate(tx, 'calls')
  return id
}

/** Waits for the outcome of a command. Returns null if it takes too long. */
export const awaitOutcome = async (sql: Sql, account: string, id: string): Promise<CommandOutcome | null> => {
  for (const end = performance.now() + commandWaitMs; performance.now() < end; ) {
    const outcome = await outcomeOf(sql, account, id)
    if (outcome) return outcome
    await new Promise((resolve) => setTimeout(resolve, commandPollMs))
  }
  return null
}
