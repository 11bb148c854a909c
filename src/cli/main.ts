import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { environment } from '../config.ts'
import { contracts } from '../contracts.ts'
import { UsageError } from './args.ts'
import { runCommand } from './run.ts'
import { openFile } from './upload.ts'

const { version }: { version: string } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'),
)

const read = (path: string): string => {
  try {
    return readFileSync(path === '-' ? process.stdin.fd : path, 'utf8')
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${error instanceof Error ? error.message : error}`)
  }
}

// `trunkline prices list | head` closes the pipe: nobody reads on, so there is no more to do.
process.stdout.on('error', () => process.exit(0))

process.exitCode = await runCommand(process.argv.slice(2), contracts, {
  environment: environment(),
  version,
  width: process.stdout.isTTY ? process.stdout.columns : null,
  read,
  files: {
    open: openFile,
    // For who looks on: each line takes the place of the one before.
    tell: (line) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${line}`),
  },
  write: (text) => process.stdout.write(text),
  complain: (text) => process.stderr.write(text),
  isColoured: process.stdout.isTTY && !process.env.NO_COLOR,
  untilStopped: () => {
    const controller = new AbortController()
    // Twice for one Ctrl-C: from the terminal, and from bin/trunkline.mjs. The second is the same wish.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => controller.abort())
    return controller.signal
  },
})
