import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Logger } from 'pino'

/** The sandbox carriers: a program of its own, reached over sockets. */
export type Carrier = {
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

const program = join(import.meta.dirname, '../../simulator/main.ts')

const firstLine = async (child: ChildProcess): Promise<Ready> => {
  if (!child.stdout) throw new Error('no stdout')
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the sandbox carriers ended at their start (${code})`)
  })
  const line = once(createInterface(child.stdout), 'line').then(([text]) => JSON.parse(String(text)) as Ready)
  return await Promise.race([line, ended])
}

/**
 * Starts the sandbox carriers. They end by themselves when this process is gone, because their stdin closes. When
 * somebody ends them, they stay down until the next start, as a real carrier would: nothing is sent meanwhile.
 * @param ports 0 for any free one
 */
export const startCarrier = async (
  home: string,
  ports: { smpp: number; sip: number },
  log: Logger,
): Promise<Carrier> => {
  const folder = join(home, 'simulator')
  // One of versions before was open to all users.
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  const [token, password] = [randomBytes(24).toString('base64url'), randomBytes(6).toString('base64url')]
  const wanted = ['--smpp-port', String(ports.smpp), '--sip-port', String(ports.sip), '--control-port', '0']
  const flags = ['--home', folder, ...wanted]
  const child = spawn(process.execPath, ['--disable-sigusr1', '--max-old-space-size=256', program, ...flags], {
    stdio: ['pipe', 'pipe', 'inherit'],
    // Ctrl-C reaches the whole group of the terminal, and texts in hand still want their carrier.
    detached: true,
    env: {
      PATH: process.env.PATH ?? '',
      // Without it Node keeps the compiler that takes types away: 103 MB instead of 57.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(home, 'cache'),
      SIMULATOR_TOKEN: token,
      SIMULATOR_PASSWORD: password,
    },
  })
  child.stdin.on('error', () => {}) // it went first
  let stopping = false
  child.on('exit', (code, signal) => {
    if (!stopping)
      log.error(`the sandbox carriers ended (${signal ?? code}); no SMS and no call leaves until the next start`)
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
