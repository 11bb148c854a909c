import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/** What a program of ours is given of the environment; the compile cache spares it half of its start. */
export const inherited: Record<string, string> = Object.fromEntries(
  ['PATH', 'NODE_COMPILE_CACHE'].flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
)

/** Another process of ours, for tests about what happens when one dies. */
export type Child = {
  readonly pid: number
  /** The next line that it prints. @throws Error with its error output when it ends before */
  line(): Promise<string>
  /** Sends it a line. */
  tell(text: string): void
  kill(signal: NodeJS.Signals): Promise<void>
  readonly exited: Promise<number | NodeJS.Signals | null>
}

/**
 * Runs an ES module's text under the same Node.
 * @param code may import by absolute file URL, and read lines from process.stdin
 */
export const runChild = (code: string, options: { uid?: number; gid?: number; cwd?: string } = {}): Child => {
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--no-warnings', '-e', code], {
    ...options,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...inherited, HOME: '/nonexistent' },
  })
  child.stdin.on('error', () => {})
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const exited = new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve(signal ?? code))
  })
  return {
    pid: child.pid ?? 0,
    line: async () => {
      const { value, done } = await lines.next()
      if (done) throw new Error(`the child ended (${await exited}): ${errors}`)
      return value
    },
    tell: (text) => child.stdin.write(`${text}\n`),
    kill: async (signal) => {
      child.kill(signal)
      await exited
    },
    exited,
  }
}
