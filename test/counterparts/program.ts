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

export type Program = {
  /** Everything that the program has printed. */
  output(): string
  /** Resolves with its exit status. */
  readonly ended: Promise<number>
}

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
  return { output: () => text, ended }
}
