import { Readable } from 'node:stream'
import type { Contract } from '../http/endpoint.ts'
import { runCommand, type Surroundings } from './run.ts'

/** What a command line left behind. */
export type Outcome = { status: number; out: string; err: string }

/** Runs command lines as main.ts does, without a process for each. @param files by name; `-` is the standard input */
export const makeShell =
  (contracts: readonly Contract[], surroundings: Partial<Surroundings> = {}, files: Record<string, string> = {}) =>
  async (...args: string[]): Promise<Outcome> => {
    let [out, err] = ['', '']
    const status = await runCommand(args, contracts, {
      environment: {},
      version: '1.2.3',
      width: null,
      read: (path) => files[path] ?? '',
      files: {
        open: (path) => ({ bytes: Readable.from([Buffer.from(files[path] ?? '')]), size: null }),
        tell: () => {},
      },
      write: (text) => {
        out += text
      },
      complain: (text) => {
        err += text
      },
      isColoured: false,
      untilStopped: () => new AbortController().signal,
      ...surroundings,
    })
    return { status, out, err }
  }
