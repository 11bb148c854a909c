// Runs a program on the pinned Node, without a shell. Runs on Node 20.19 or newer.
//
//   node bin/run-node.mjs [NODE OPTIONS] PROGRAM [ARGUMENTS]

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { pinnedNode } from './pinned-node.mjs'

const fail = (error) => {
  console.error(`trunkline: ${error.message}`)
  process.exit(1)
}

/** Runs the program as a child, whose signals and status are those of this process. */
const runAsChild = (program, args, env) => {
  const child = spawn(program, args, { stdio: 'inherit', env })

  // Ctrl-C reaches the child by itself; a signal sent to this process alone does not.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))

  // npm cannot forward a signal when it is killed itself.
  const parent = process.ppid
  if (process.env.npm_lifecycle_event) setInterval(() => process.ppid !== parent && child.kill('SIGTERM'), 1000).unref()

  child.on('error', fail)
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1)
    // Ends with the child's signal, so that a shell sees the same status.
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

/**
 * Runs the pinned Node, which replaces this process where that is possible: not on Windows, and not before Node 22.15.
 * @param root the folder of the checkout, or of the installed package
 * @param args options of Node, the program and its arguments
 * @param env of the program
 */
export const runNode = (root, args, env = process.env) => {
  try {
    const program = pinnedNode(root)
    if (process.platform === 'win32' || !process.execve) return runAsChild(program, args, env)
    // It was experimental before Node 26, which the person who starts Trunkline need not know.
    process.removeAllListeners('warning')
    process.execve(program, [program, ...args], env)
  } catch (error) {
    fail(error)
  }
}

if (process.argv[1] === import.meta.filename) runNode(join(import.meta.dirname, '..'), process.argv.slice(2))
