import type { CallCommand } from './call-command.ts'
import { Interpreter } from './interpreter.ts'
import type { RunningProgram } from './program.ts'
import type { ProgramDeps, ProgramRunner } from './program-deps.ts'

/** Makes what runs the programs of the calls of this process. */
export const makeProgramRunner = (deps: ProgramDeps): ProgramRunner => {
  const running = new Map<string, RunningProgram>()
  return {
    begin: (run) => ({
      run: async (line) => {
        const interpreter = new Interpreter(deps, run, line)
        running.set(run.call.id, interpreter)
        try {
          await interpreter.run()
        } finally {
          running.delete(run.call.id)
        }
      },
    }),
    command: async (call: string, command: CallCommand) => (await running.get(call)?.command(command)) ?? null,
  }
}
