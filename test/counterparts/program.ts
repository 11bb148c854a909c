import { spawn } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * Ports of programs that cannot choose one themselves. They are below those that Linux assigns, so that no connection
 * and no socket of another test takes one first, and above those of rtpengine (test/media/rtpengine.ts).
 */
const [firstPort, endPort, rangeSize] = [20_000, 32_000, 200]

/** Ports per program: baresip, for example, also listens on the next one, for TLS. */
const portsPerProgram = 4

type PortRange = { next: number; end: number }

/** The range of this process: its first port stays bound, so that no other process takes the range. */
let range: PortRange | null = null

const bindUdp = async (port: number): Promise<Socket | null> => {
  const socket = createSocket('udp4')
  try {
    socket.bind({ port, address: '127.0.0.1', exclusive: true })
    await once(socket, 'listening')
    return socket
  } catch {
    socket.close()
    return null
  }
}

const reserveRange = async (): Promise<PortRange> => {
  const ranges = (endPort - firstPort) / rangeSize
  for (let step = 0; step < ranges; step++) {
    const from = firstPort + ((process.pid + step) % ranges) * rangeSize
    const guard = await bindUdp(from)
    if (!guard) continue
    guard.unref()
    return { next: from + portsPerProgram, end: from + rangeSize }
  }
  throw new Error(`all ranges of ports from ${firstPort} to ${endPort} are taken`)
}

/** Whether neither TCP nor UDP uses the port. */
const isFree = async (port: number): Promise<boolean> => {
  const socket = await bindUdp(port)
  if (!socket) return false
  socket.close()
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
    return true
  } catch {
    return false
  } finally {
    server.close()
  }
}

/** A port of TCP and UDP for a program of this process. The next three are free, too. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    if (range === null || range.next >= range.end) range = await reserveRange()
    const port = range.next
    range.next += portsPerProgram
    if (await isFree(port)) return port
  }
}

/** Whether something listens on the port. */
export const canConnect = async (port: number): Promise<boolean> => {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** Whether a program receives datagrams on the port: earlier ones are answered as unreachable. */
const isBound = (port: number): boolean =>
  readFileSync('/proc/net/udp', 'utf8').includes(`:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000`)

export type Program = {
  /** Everything that the program has printed. */
  output(): string
  /** Waits until the program does something. @throws Error with its output if it ends first, or not within a minute */
  reaches(what: string, condition: () => boolean | Promise<boolean>): Promise<void>
  /** Waits until the program has printed the text. */
  prints(text: string): Promise<void>
  /** Waits until the program accepts connections, or datagrams. Default: tcp. */
  listens(port: number, transport?: 'udp' | 'tcp'): Promise<void>
  /** Resolves with its exit status. */
  readonly ended: Promise<number>
}

/** A loaded machine starts a program in seconds. */
const patienceMs = 60_000

/** Ends the program with signal $0 when its standard input closes: our process has exited then, killed or not. */
const guard =
  '"$@" </dev/null & pid=$!; (read -r _; kill -"$0" $pid 2>/dev/null) <&3 & wait $pid; status=$?; kill $! 2>/dev/null; exit $status'

/** The owner of a program's end: a test. */
export type ProgramOwner = { after(end: () => Promise<void>): void }

/**
 * Runs a program that we did not write until it exits or the test ends.
 * @param end TERM for one that has children to end
 */
export const runProgram = (
  t: ProgramOwner,
  command: string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
  end: 'KILL' | 'TERM' = 'KILL',
): Program => {
  const child = spawn('/bin/sh', ['-c', guard, end, ...command], {
    cwd,
    env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
  }
  const ended = new Promise<number>((resolve) => child.on('exit', (status) => resolve(status ?? -1)))
  t.after(async () => {
    child.stdio[3]?.destroy()
    await ended
  })
  let status: number | null = null
  void ended.then((code) => {
    status = code
  })
  const output = () => text
  const reaches: Program['reaches'] = async (what, condition) => {
    const deadline = performance.now() + patienceMs
    while (!(await condition())) {
      if (status !== null) throw new Error(`${command[0]} ended with status ${status} before: ${what}\n${text}`)
      if (performance.now() > deadline) throw new Error(`not within a minute: ${what}\n${command[0]}: ${text}`)
      await pause(20)
    }
  }
  return {
    output,
    reaches,
    prints: (line) => reaches(`it prints ${line}`, () => text.includes(line)),
    listens: (port, transport = 'tcp') =>
      reaches(`it listens on ${transport} port ${port}`, () =>
        transport === 'tcp' ? canConnect(port) : isBound(port),
      ),
    ended,
  }
}
