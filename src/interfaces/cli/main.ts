import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { environment, readConfig } from '../../config.ts'
import type { Contract } from '../../platform/http/endpoint.ts'
import { UsageError } from './input/parse-arguments.ts'
import { promptHidden } from './input/prompt.ts'
import { runCommand } from './run-command.ts'
import { openFile } from './transfer/upload-file.ts'

const { version }: { version: string } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'),
)

// Made by scripts/openapi.ts. The contracts themselves take three times as long to load, mostly for the schema library.
const contracts: readonly Contract[] = JSON.parse(readFileSync(join(import.meta.dirname, 'contracts.json'), 'utf8'))

const read = (path: string): string => {
  try {
    return readFileSync(path === '-' ? process.stdin.fd : path, 'utf8')
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${error instanceof Error ? error.message : error}`)
  }
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // `trunkline prices list | head` closes the pipe: the reader is gone, and the program ends.
  if (error.code === 'EPIPE') process.exit(0)
  // Without a system call, the source of a stream failed, and its reader reports the fault.
  if (error.syscall === undefined) return
  process.stderr.write(`trunkline: the output cannot be written: ${error.message}\n`)
  process.exit(1)
})

process.exitCode = await runCommand(process.argv.slice(2), contracts, {
  environment: environment(),
  version,
  width: process.stdout.isTTY ? process.stdout.columns : null,
  read,
  files: {
    open: openFile,
    // On a terminal: each line replaces the previous one.
    report: (line) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${line}`),
  },
  write: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
  isColoured: process.stdout.isTTY && !process.env.NO_COLOR,
  untilStopped: () => {
    const controller = new AbortController()
    // One Ctrl-C arrives twice, from the terminal and from bin/trunkline.mjs. The second has no further effect.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => controller.abort())
    return controller.signal
  },
  local: {
    settings: () => readConfig(environment()),
    promptHidden: process.stdin.isTTY && process.stderr.isTTY ? promptHidden : null,
    output: process.stdout.isTTY ? null : process.stdout,
  },
})
