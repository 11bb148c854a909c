import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const caches = join(import.meta.dirname, '../../node_modules/.cache')

/** Installs the pinned versions, once for this checkout. */
const install = (cache: string): void => {
  const folder = `${cache}.${process.pid}`
  mkdirSync(folder, { recursive: true })
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(import.meta.dirname, name), join(folder, name))
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  // Includes npm's environment: registry and proxy.
  execFileSync('npm', ['ci', ...options], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'], timeout: 300_000 })
  try {
    renameSync(folder, cache)
  } catch (error) {
    rmSync(folder, { recursive: true })
    // Another run installed it first.
    if (!existsSync(cache)) throw error
  }
}

/**
 * The official library in three major versions, as `twilio4`, `twilio5` and `twilio6`.
 * @returns the folder of their node_modules, or the reason why it is missing
 * @throws with CI=true, where installation must work
 */
export const installedLibraries = (): { readonly folder: string; readonly skip: false | string } => {
  const lock = readFileSync(join(import.meta.dirname, 'package-lock.json'), 'utf8')
  const folder = join(caches, `twilio-${hash('sha256', lock).slice(0, 12)}`)
  try {
    if (!existsSync(folder)) install(folder)
    return { folder, skip: false }
  } catch (error) {
    if (process.env.CI === 'true') throw error
    return { folder, skip: `the libraries for Twilio could not be installed: ${error}` }
  }
}
