import { Readable } from 'node:stream'
import type { Contract } from '../../platform/http/endpoint.ts'
import { type CommandEnvironment, runCommand } from './run-command.ts'

/** The result of a command line. */
export type CommandResult = { status: number; out: string; err: string }

/** Runs command lines as main.ts does, without a process for each. @param files by name; `-` is the standard input */
export const makeShell =
  (
    contracts: readonly Contract[],
    surroundings: Partial<CommandEnvironment> = {},
    files: Record<string, string> = {},
  ) =>
  async (...args: string[]): Promise<CommandResult> => {
    let [out, err] = ['', '']
    const status = await runCommand(args, contracts, {
      environment: {},
      version: '1.2.3',
      width: null,
      read: (path) => files[path] ?? '',
      files: {
        open: (path) => ({ bytes: Readable.from([Buffer.from(files[path] ?? '')]), size: null }),
        report: () => {},
      },
      write: (text) => {
        out += text
      },
      writeError: (text) => {
        err += text
      },
      isColoured: false,
      untilStopped: () => new AbortController().signal,
      local: {
        settings: () => {
          throw new Error('no settings')
        },
        promptHidden: null,
        output: null,
      },
      ...surroundings,
    })
    return { status, out, err }
  }
