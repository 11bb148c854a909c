import { hash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeSeal, type Seal } from './lib/secret.ts'

/** The seal of this installation: its master key comes from the settings, or is made at the first start and kept in the
 *  home, readable by its owner alone. */
export const openSeal = (home: string, given: string | null): Seal => {
  if (given !== null) return makeSeal(hash('sha256', given, 'buffer'))
  const folder = join(home, 'keys')
  const path = join(folder, 'master')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (!existsSync(path)) {
    writeFileSync(`${path}.new`, randomBytes(32), { mode: 0o600 })
    renameSync(`${path}.new`, path)
  }
  return makeSeal(readFileSync(path))
}
