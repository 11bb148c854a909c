import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { programs } from '../compiler.ts'

const caches = join(import.meta.dirname, '../../node_modules/.cache')

/** Installs the pinned versions, once for this checkout: 100 MB each, half a minute. */
const install = (from: string, cache: string): void => {
  const folder = `${cache}.${process.pid}`
  mkdirSync(folder, { recursive: true })
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(from, name), join(folder, name))
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
 * The linters or generators of a folder next to this file. They are no dependencies of the repository: they would
 * double its packages, and the generators need an older TypeScript.
 * @returns their node_modules, or the reason why it is missing
 * @throws with CI=true, where installation must work
 */
export const installedTools = (
  tools: 'linters' | 'generators',
): { readonly modules: string; readonly skip: false | string } => {
  const from = join(import.meta.dirname, tools)
  const lock = readFileSync(join(from, 'package-lock.json'), 'utf8')
  const cache = join(caches, `openapi-${tools}-${hash('sha256', lock).slice(0, 12)}`)
  const modules = join(cache, 'node_modules')
  try {
    if (!existsSync(cache)) install(from, cache)
    return { modules, skip: false }
  } catch (error) {
    if (process.env.CI === 'true') throw error
    return { modules, skip: `the tools for OpenAPI could not be installed: ${error}` }
  }
}

/** Runs a tool to its end. @returns what it printed @throws with its output when it fails */
export const runTool = async (
  program: string,
  args: readonly string[],
  cwd: string,
  more: Record<string, string> = {},
): Promise<string> => {
  const env = {
    ...process.env,
    // The bundled Node: the generators need 22.18.
    PATH: [programs, process.env.PATH].join(delimiter),
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    ...more,
  }
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  assert.equal(child.exitCode, 0, `${program} ${args.join(' ')}\n${output}${errors}`)
  return output
}
