// Writes the declarations of a package twice: `.d.mts` for its modules and `.d.cts` for its CommonJS form. A compiler with
// the resolution `node16` refuses one for the other (TypeScript handbook, "Modules - Reference", "package.json exports").
// Runs on Node 20.19 or newer.
//
//   node packages/declarations.mjs PACKAGE FOLDER

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const [folder, outDir] = [resolve(process.argv[2] ?? '.'), resolve(process.argv[3] ?? 'dist/types')]
const compiler = join(import.meta.dirname, '../node_modules/typescript/bin/tsc')
const args = [compiler, '-p', folder, '--outDir', outDir]
const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
if (status !== 0) throw new Error(`the declarations of ${folder} do not compile:\n${stdout}`)
for (const file of readdirSync(outDir).filter((name) => name.endsWith('.d.ts'))) {
  const text = readFileSync(join(outDir, file), 'utf8')
  for (const kind of ['mts', 'cts']) {
    const own = text.replaceAll(/(from |import\()(['"])(\.[^'"]*)\.ts\2/g, `$1$2$3.${kind.replace('ts', 'js')}$2`)
    writeFileSync(join(outDir, file.replace(/\.d\.ts$/, `.d.${kind}`)), own)
  }
  rmSync(join(outDir, file))
}
