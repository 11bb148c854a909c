import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

// npm run check: types, lint, dead code, the import rule and the generated documents; without a database, in seconds.

const root = join(import.meta.dirname, '..')
const files = ['test/checks.test.ts', 'test/repository.test.ts']
const { status } = spawnSync(process.execPath, ['--test', ...files], { cwd: root, stdio: 'inherit' })
process.exitCode = status ?? 1
