import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { libraryFolder } from '../src/adapters/whatsapp-web/library.ts'
import { notice } from '../src/adapters/whatsapp-web/notice.ts'
import { environment, readConfig } from '../src/config.ts'

// Installs the library for WhatsApp Web under TRUNKLINE_HOME after the operator has accepted the notice. Every package
// is pinned with its digest in package-lock.json. Install scripts are disabled.

const pinned = join(import.meta.dirname, '../src/adapters/whatsapp-web/library')

if (!process.argv.includes('--accept')) {
  console.error(`${notice}\n\nIf you accept this: npm run whatsapp-web -- --accept`)
  process.exit(1)
}

const folder = libraryFolder(resolve(readConfig(environment()).home))
mkdirSync(folder, { recursive: true })
rmSync(join(folder, 'node_modules'), { recursive: true, force: true })
for (const name of ['package.json', 'package-lock.json']) cpSync(join(pinned, name), join(folder, name))
// Peer dependencies are left out: they make previews of pictures and links, which are not used.
const options = ['--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund', '--loglevel=error']
execFileSync('npm', ['ci', ...options], { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
console.log(`The library for WhatsApp Web is in ${folder}. Failed channels use it after they are connected again.`)
