import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** Milliseconds for the first start, which makes a database. */
const startMs = 120_000

const isWindows = process.platform === 'win32'

/** A platform that was started as a user does, with its address and its key. */
export type StartedPlatform = { readonly url: string; readonly key: string; stop(): Promise<void> }

/**
 * Starts a platform by a command, on free ports, and waits until it is ready.
 * @param command such as `npm start`
 * @param folder in which the command runs
 * @param env further environment
 * @throws Error with the output when it does not start
 */
export const startBy = async (
  command: string,
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Promise<StartedPlatform> => {
  const readyFile = join(env.TRUNKLINE_HOME ?? folder, 'ready.json')
  rmSync(readyFile, { force: true })
  const free = Object.fromEntries(
    ['PORT', 'SIP_PORT', 'SANDBOX_SMPP_PORT', 'SANDBOX_SIP_PORT'].map((name) => [`TRUNKLINE_${name}`, '0']),
  )
  const [program = '', ...args] = command.split(' ')
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...process.env, ...free, TRUNKLINE_READY_FILE: readyFile, ...env },
    stdio: 'pipe',
    // npm is a script of cmd.exe there.
    shell: isWindows,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  const exited = once(child, 'exit')
  const deadline = Date.now() + startMs
  while (!existsSync(readyFile)) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`${command} did not start:\n${output}`)
    await pause(100)
  }
  const { url, api_key: key }: { url: string; api_key: string } = JSON.parse(readFileSync(readyFile, 'utf8'))
  return {
    url,
    key,
    stop: async () => {
      // Windows has no signal that asks a program to end.
      if (isWindows) spawnSync('taskkill', ['/pid', String(child.pid), '/t', '/f'])
      else child.kill('SIGTERM')
      await exited
    },
  }
}
