import type { Db } from '../../../platform/db/sql.ts'
import { maxCommandsPerClaim } from '../limits.ts'
import { type CallCommand, type CommandOutcome, callGone } from '../programs/call-command.ts'
import { answerCommand, claimCommands, type WaitingCommand } from './command-store.ts'

type CommandRunnerDeps = {
  readonly db: Db
  readonly epoch: number
  /** Executes a command. Returns null if the call does not run here. */
  execute(call: string, command: CallCommand): Promise<CommandOutcome | null>
  onError(error: unknown): void
}

/** Executes the commands on the calls of this process: those of one call in order, those of different calls at once. */
export const makeCommandRunner = ({ db, epoch, execute, onError }: CommandRunnerDeps) => {
  const lines = new Map<string, Promise<void>>()

  const runOne = async ({ account_id: account, id, call_id: call, command }: WaitingCommand): Promise<void> => {
    let outcome: CommandOutcome
    try {
      outcome = (await execute(call, command)) ?? callGone
    } catch (error) {
      onError(error)
      outcome = { ok: false, code: 'internal_error', reason: 'Something went wrong on our side' }
    }
    await answerCommand(db, account, id, outcome)
  }

  return {
    /** Claims what waits, and begins to execute it. */
    run: async (): Promise<void> => {
      for (const waiting of await claimCommands(db, epoch, maxCommandsPerClaim)) {
        const { call_id: call } = waiting
        const next = (lines.get(call) ?? Promise.resolve())
          .then(() => runOne(waiting))
          .catch(onError)
          .finally(() => {
            if (lines.get(call) === next) lines.delete(call)
          })
        lines.set(call, next)
      }
    },
  }
}
