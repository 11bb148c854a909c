import type { VoiceLine } from '../../../ports/voice.ts'
import { type CallCommand, type CommandOutcome, callGone } from './call-command.ts'
import type { ProgramDeps, ProgramRun } from './program-deps.ts'

/** Runs the program of a call. */
export class Interpreter {
  constructor(deps: ProgramDeps, run: ProgramRun, line: VoiceLine) {
    void [deps, run, line]
  }

  async run(): Promise<void> {}

  async command(command: CallCommand): Promise<CommandOutcome> {
    void command
    return callGone
  }
}
