import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

// npm run check: types, lint, dead code, imports, names, words and generated documents. Needs no database; takes
// seconds.

const root = join(import.meta.dirname, '..')
const names = [
  'checks',
  'repository',
  'refusals',
  'limits',
  'names',
  'words',
  'architecture',
  'decisions',
  'bench',
  'identifiers',
  'migrations/landed',
  'breaking',
]
const files = names.map((name) => `test/${name}.test.ts`)
const { status } = spawnSync(process.execPath, ['--test', ...files], { cwd: root, stdio: 'inherit' })
process.exitCode = status ?? 1
