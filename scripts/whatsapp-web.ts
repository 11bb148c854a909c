import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { environment, readConfig } from '../src/config.ts'
import { placeOf } from '../src/connectors/whatsapp-web/library.ts'
import { notice } from '../src/connectors/whatsapp-web/notice.ts'

// Installs the library for WhatsApp Web under TRUNKLINE_HOME, once whoever runs this has accepted what it means. Every package
// is pinned with its digest in package-lock.json; none runs a script when it is installed.

const pinned = join(import.meta.dirname, '../src/connectors/whatsapp-web/library')

if (!process.argv.includes('--accept')) {
  console.error(`${notice}\n\nIf you accept this: npm run whatsapp-web -- --accept`)
  process.exit(1)
}

const folder = placeOf(resolve(readConfig(environment()).home))
mkdirSync(folder, { recursive: true })
rmSync(join(folder, 'node_modules'), { recursive: true, force: true })
for (const name of ['package.json', 'package-lock.json']) cpSync(join(pinned, name), join(folder, name))
// Peers are left out: they make previews of pictures and of links, which are not wanted.
const options = ['--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund', '--loglevel=error']
execFileSync('npm', ['ci', ...options], { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
console.log(`The library for WhatsApp Web is in ${folder}. Failed channels find it once they are connected again.`)
