// Makes starts faster: node --import=./scripts/preload.mjs src/main.ts. Everything works the same without it.
//
// Imports of our own files that lead to a packed dependency (scripts/pack.mjs) get the packed file. Relative imports
// between TypeScript files skip Node's search, which looks for links and for the package of each file. Both together
// take a fifth of the processor time of a start. See docs/decisions/0038.

import { existsSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const folder = join(import.meta.dirname, '../node_modules/.cache/packed')

/** Packed files by import; none before the first scripts/ready.mjs, or when the pack is incomplete. */
const readPacked = () => {
  try {
    const { files } = JSON.parse(readFileSync(join(folder, 'files.json'), 'utf8'))
    const found = Object.entries(files).map(([specifier, file]) => [specifier, join(folder, file)])
    if (!found.every(([, path]) => existsSync(path))) return new Map()
    return new Map(found.map(([specifier, path]) => [specifier, pathToFileURL(path).href]))
  } catch {
    return new Map()
  }
}

const packed = readPacked()

registerHooks({
  resolve: (specifier, context, next) => {
    const parent = context.parentURL
    if (!parent?.endsWith('.ts')) return next(specifier, context)
    const url = packed.get(specifier)
    if (url !== undefined) return { url, format: 'module', shortCircuit: true }
    if (specifier.startsWith('.') && specifier.endsWith('.ts'))
      return { url: new URL(specifier, parent).href, format: 'module-typescript', shortCircuit: true }
    return next(specifier, context)
  },
})
