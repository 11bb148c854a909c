import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Logger } from 'pino'

/** The sandbox carriers: a separate program, reached over sockets. */
export type SimulatorProcess = {
  readonly smppPort: number
  readonly controlPort: number
  readonly chatPort: number
  readonly sipPort: number
  readonly pid: number
  readonly token: string
  readonly password: string
  stop(): Promise<void>
}

type Ready = { smpp_port: number; control_port: number; chat_port: number; sip_port: number }

/** Flags that make the start of this process faster, if it has them; paths are relative to the same folder. */
const preload = process.execArgv.filter((flag) => flag.startsWith('--import='))

const program = join(import.meta.dirname, '../../../simulator/main.ts')

const firstLine = async (child: ChildProcess): Promise<Ready> => {
  if (!child.stdout) throw new Error('no stdout')
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the sandbox carriers exited on start (${code})`)
  })
  const line = once(createInterface(child.stdout), 'line').then(([text]) => JSON.parse(String(text)) as Ready)
  return await Promise.race([line, ended])
}

/**
 * Starts the sandbox carriers. They exit when this process ends, because their stdin closes. If they are killed, they
 * stay down until the next start, like a real carrier, and nothing is sent meanwhile.
 * @param ports 0 for any free one
 */
export const startSimulator = async (
  home: string,
  ports: { smpp: number; sip: number },
  log: Logger,
): Promise<SimulatorProcess> => {
  const folder = join(home, 'simulator')
  // Earlier versions created the folder readable by all users.
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  const [token, password] = [randomBytes(24).toString('base64url'), randomBytes(6).toString('base64url')]
  const args = ['--smpp-port', String(ports.smpp), '--sip-port', String(ports.sip), '--control-port', '0']
  const flags = ['--home', folder, ...args]
  const child = spawn(
    process.execPath,
    [...preload, '--disable-sigusr1', '--max-old-space-size=256', program, ...flags],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
      // Detached: Ctrl-C reaches the whole process group of the terminal, and messages in flight still need their
      // carrier.
      detached: true,
      env: {
        PATH: process.env.PATH ?? '',
        // Without the cache Node loads the TypeScript compiler: 103 MB instead of 57.
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(home, 'cache'),
        // One heap of the C library instead of one for each thread: 18 MB less.
        MALLOC_ARENA_MAX: '1',
        SIMULATOR_TOKEN: token,
        SIMULATOR_PASSWORD: password,
      },
    },
  )
  child.stdin.on('error', () => {}) // the child exited first
  let stopping = false
  child.on('exit', (code, signal) => {
    if (!stopping)
      log.error(`sandbox: carriers exited (${signal ?? code}); no SMS and no call is sent until the next start`)
  })
  const { smpp_port, control_port, chat_port, sip_port } = await firstLine(child)
  return {
    smppPort: smpp_port,
    controlPort: control_port,
    chatPort: chat_port,
    sipPort: sip_port,
    pid: child.pid ?? 0,
    token,
    password,
    stop: async () => {
      stopping = true
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}
