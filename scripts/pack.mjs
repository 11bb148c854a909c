// Packs the dependencies that every start loads into a few files: 900 files of packages become 20. The code of the
// server itself is not built. See docs/decisions/0038.
// Run by scripts/ready.mjs on the pinned Node after each installation; scripts/preload.mjs uses the result.

import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const cache = join(root, 'node_modules', '.cache')

/** Imports of our own files that lead to a packed file. Packages that share state must be in the list together. */
export const packedImports = [
  '@fastify/proxy-addr',
  '@fastify/static',
  'csv-parse',
  'csv-parse/sync',
  'fastify',
  'jose',
  'libphonenumber-js/max',
  'libphonenumber-js/max/metadata',
  'marked',
  'pg',
  'pg-copy-streams',
  'pino',
  'prom-client',
  'typebox',
  'typebox/compile',
  'typebox/value',
  'ws',
]

/** Code for an import, which exports exactly the names that Node finds in the package. */
const entryOf = async (specifier) => {
  const names = Object.keys(await import(specifier))
  const named = names.filter((name) => name !== 'default' && name !== 'module.exports')
  return [
    named.length > 0 ? `export { ${named.join(', ')} } from ${JSON.stringify(specifier)}` : '',
    names.includes('default') ? `export { default } from ${JSON.stringify(specifier)}` : '',
  ].join('\n')
}

const entries = {
  name: 'entries',
  setup: (plugin) => {
    plugin.onResolve({ filter: /^packed:/ }, ({ path }) => ({ path: path.slice(7), namespace: 'packed' }))
    plugin.onLoad({ filter: /.*/, namespace: 'packed' }, async ({ path }) => ({
      contents: await entryOf(path),
      resolveDir: root,
    }))
  },
}

/** Packages in the format of CommonJS expect these. */
const banner = [
  "import { createRequire as packedRequire } from 'node:module';",
  'const require = packedRequire(import.meta.url);',
  'const __filename = import.meta.filename, __dirname = import.meta.dirname;',
].join('')

const nameOf = (specifier) => specifier.replaceAll(/\W+/g, '-').replace(/^-/, '')

/** Packs into a new folder, and replaces the former one last. */
export const packDependencies = async (stamp, to = join(cache, 'packed')) => {
  mkdirSync(dirname(to), { recursive: true })
  const folder = mkdtempSync(`${to}-`)
  // A container runs as another user than its build.
  chmodSync(folder, 0o755)
  try {
    await build({
      entryPoints: packedImports.map((specifier) => ({ in: `packed:${specifier}`, out: nameOf(specifier) })),
      outdir: folder,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node26',
      external: ['pg-native'],
      banner: { js: banner },
      legalComments: 'none',
      // The text stays in memory while the process runs: 0.9 MB less. Names stay, for stack traces.
      minifyWhitespace: true,
      lineLimit: 200,
      logLevel: 'error',
      absWorkingDir: root,
      plugins: [entries],
    })
    const files = Object.fromEntries(packedImports.map((specifier) => [specifier, `${nameOf(specifier)}.mjs`]))
    writeFileSync(join(folder, 'files.json'), JSON.stringify({ stamp, files }))
    rmSync(to, { recursive: true, force: true })
    renameSync(folder, to)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

if (import.meta.main) await packDependencies(process.argv[2] ?? '')
