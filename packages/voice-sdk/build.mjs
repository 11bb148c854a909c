// Builds what browsers load, in dist/: voice.js defines `Trunkline`, voice.mjs is a module, voice.cjs for bundlers of CommonJS.
// Runs on any Node 20.19: scripts/ready.mjs calls it when a source is newer than the build.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const here = dirname(fileURLToPath(import.meta.url))
const outputs = [
  { format: 'iife', file: 'voice.js', globalName: 'Trunkline' },
  { format: 'esm', file: 'voice.mjs' },
  { format: 'cjs', file: 'voice.cjs' },
]

export const buildSdk = async () => {
  const dist = join(here, 'dist')
  const { version } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'))
  mkdirSync(dist, { recursive: true })
  for (const { file, ...output } of outputs) {
    const outfile = join(dist, file)
    await build({
      ...output,
      outfile,
      entryPoints: [join(here, 'src/index.ts')],
      bundle: true,
      minify: true,
      target: 'es2022',
      platform: 'browser',
      banner: { js: `/* Trunkline voice SDK ${version}, Apache-2.0; with JsSIP, MIT */` },
      legalComments: 'none',
      logLevel: 'warning',
    })
    // As a server hands it out.
    writeFileSync(`${outfile}.gz`, gzipSync(readFileSync(outfile), { level: 9 }))
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildSdk()
