import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/** A port that is free at this moment, for programs that cannot choose one themselves. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return address && typeof address === 'object' ? address.port : 0
}

/** True once something listens there. */
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

export type Program = {
  /** What it has printed. */
  output(): string
  /** Resolves with its exit status. */
  readonly ended: Promise<number>
}

/** Ends the program when its standard input closes: ours is gone then, killed or not. */
const guard =
  '"$@" </dev/null & pid=$!; (read -r _; kill -9 $pid 2>/dev/null) <&3 & wait $pid; status=$?; kill $! 2>/dev/null; exit $status'

/** Whoever knows when a program is to end: a test. */
export type Ending = { after(end: () => Promise<void>): void }

/** Runs a program that we did not write until it ends, or the test does. */
export const runProgram = (t: Ending, command: string[], cwd: string, env: NodeJS.ProcessEnv = {}): Program => {
  const child = spawn('/bin/sh', ['-c', guard, 'guard', ...command], {
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
  return { output: () => text, ended }
}
