// Builds a module (.mjs) and a CommonJS form (.cjs) of each entry point. Runs on Node 20.19 or newer. The code is
// not minified: bundlers do that, and Node prints the line that threw an uncaught error.
//
//   node build.mjs [FOLDER]     Default: dist

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const here = import.meta.dirname

const { version } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'))
for (const [format, extension] of [
  ['esm', '.mjs'],
  ['cjs', '.cjs'],
])
  await build({
    entryPoints: ['index', 'sandbox', 'operator'].map((name) => join(here, 'src', `${name}.ts`)),
    outdir: process.argv[2] ?? join(here, 'dist'),
    format,
    outExtension: { '.js': extension },
    bundle: true,
    target: 'es2022',
    platform: 'neutral',
    banner: { js: `/* @trunkline/client ${version}, Apache-2.0 */` },
    logLevel: 'warning',
  })
