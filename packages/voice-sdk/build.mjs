// Builds the browser bundles in dist/: voice.js defines `Trunkline`, voice.mjs is a module, voice.cjs is for CommonJS
// bundlers. Runs on Node 20.19 or newer: scripts/ready.mjs calls it when a source has changed since the last build.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const here = import.meta.dirname
const outputs = [
  { format: 'iife', file: 'voice.js', globalName: 'Trunkline' },
  { format: 'esm', file: 'voice.mjs' },
  { format: 'cjs', file: 'voice.cjs' },
]

/**
 * Returns the licence texts of the bundled packages, which must be distributed with them.
 * @param inputs paths that esbuild read
 */
const licences = (inputs) => {
  const root = join(here, '../..')
  const folders = new Set(inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []))
  return [...folders].sort().map((folder) => {
    const place = join(root, folder)
    const { name, version, license } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8'))
    const file = readdirSync(place).find((one) => /^licen[cs]e/i.test(one))
    if (!file) throw new Error(`${name} contains no licence text`)
    return `${name} ${version}: ${license}\n\n${readFileSync(join(place, file), 'utf8').trim()}\n`
  })
}

const dist = join(here, 'dist')
const { version } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'))
mkdirSync(dist, { recursive: true })
const read = new Set()
for (const { file, ...output } of outputs) {
  const outfile = join(dist, file)
  const { metafile } = await build({
    ...output,
    outfile,
    entryPoints: [join(here, 'src/index.ts')],
    bundle: true,
    minify: true,
    target: 'es2022',
    platform: 'browser',
    absWorkingDir: join(here, '../..'),
    metafile: true,
    banner: {
      js: `/* Trunkline voice SDK ${version}, Apache-2.0; with JsSIP and others: licenses.txt next to this file */`,
    },
    legalComments: 'none',
    logLevel: 'warning',
  })
  // Precompressed for the server.
  writeFileSync(`${outfile}.gz`, gzipSync(readFileSync(outfile), { level: 9 }))
  for (const path of Object.keys(metafile.inputs)) read.add(path)
}
writeFileSync(join(dist, 'licenses.txt'), licences([...read]).join(`\n${'-'.repeat(80)}\n\n`))
