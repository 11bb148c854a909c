import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { FileRun } from '../tests/plan.ts'

/** The result of one test file. */
export type TestRun = { readonly result: 'passed' | 'failed' | 'timeout'; readonly ms: number }

const running = new Set<() => void>()

/** Kills all running test files with their children. */
export const killTestRuns = (): void => {
  for (const kill of running) kill()
}

/**
 * Runs a test file in its own process group, which is killed at the first failed test.
 * @param seconds time limit, after which the group is killed
 */
export const runTestFile = async (folder: string, { file, env: own }: FileRun, seconds: number): Promise<TestRun> => {
  const began = performance.now()
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const child = spawn(process.execPath, ['--test-reporter=tap', join(folder, file)], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...env, ...own, NODE_COMPILE_CACHE: join(folder, 'node_modules/.cache/compile') },
  })
  const kill = () => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch {
      // The whole group has ended.
    }
  }
  running.add(kill)
  let result: TestRun['result'] | undefined
  const end = (reason: TestRun['result']) => {
    result ??= reason
    kill()
  }
  const limit = setTimeout(() => end('timeout'), seconds * 1000)
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (/^\s*not ok /m.test(text)) end('failed')
  })
  const [status] = await once(child, 'exit')
  clearTimeout(limit)
  kill()
  running.delete(kill)
  return { result: result ?? (status === 0 ? 'passed' : 'failed'), ms: performance.now() - began }
}
