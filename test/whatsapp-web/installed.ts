import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../servers.ts'

const root = join(import.meta.dirname, '../..')
const cache = join(root, 'node_modules/.cache/whatsapp-web-7.0.0-rc14')

/** Installs like an operator, once for all tests of this checkout; 16 MB, some seconds. */
const install = (): void => {
  const home = `${cache}.${process.pid}`
  mkdirSync(home, { recursive: true })
  // Includes npm's environment: registry and proxy.
  const env = { ...process.env, TRUNKLINE_HOME: home }
  execFileSync(process.execPath, [join(root, 'scripts/whatsapp-web.ts'), '--accept'], {
    cwd: home,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 300_000,
  })
  try {
    renameSync(home, cache)
  } catch (error) {
    rmSync(home, { recursive: true })
    // Another test file installed it first.
    if (!existsSync(cache)) throw error
  }
}

/** Folder of the library, or the reason why it is not installed. @throws with CI=true, where installation must work */
export const installed = (): { readonly folder: string; readonly skip: false | string } => {
  const folder = join(cache, 'whatsapp-web')
  try {
    if (!existsSync(folder)) install()
    return { folder, skip: false }
  } catch (error) {
    if (process.env.CI === 'true') throw error
    return { folder, skip: `the library for WhatsApp Web could not be installed: ${error}` }
  }
}

/** A home with the library. */
export const homeWith = (folder: string, home = temporaryFolder()): string => {
  symlinkSync(folder, join(home, 'whatsapp-web'))
  return home
}
