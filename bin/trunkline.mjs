#!/usr/bin/env node
// The command line: makes the checkout ready, then runs src/interfaces/cli/main.ts on the pinned Node.
// Runs on the machine's own Node (20.19 or newer), so: plain JavaScript, `node:` imports only.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import '../scripts/ready.mjs'

const root = join(import.meta.dirname, '..')
const node = join(root, 'node_modules', '.bin', process.platform === 'win32' ? 'node.exe' : 'node')
// Measured: 0.13 s of processor time with the cache, 0.28 without.
const env = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compile'), ...process.env }
const preload = pathToFileURL(join(root, 'scripts/preload.mjs'))
const child = spawn(node, [`--import=${preload}`, join(root, 'src/interfaces/cli/main.ts'), ...process.argv.slice(2)], {
  stdio: 'inherit',
  env,
})

// Ctrl-C reaches the child by itself; a signal sent to this process alone does not.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))

child.on('error', (error) => {
  console.error(`trunkline: ${error.message}`)
  process.exit(1)
})
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code ?? 1)
  // Ends with the child's signal, so that a shell sees the same status.
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
})
