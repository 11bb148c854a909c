import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const imports = /^(?:import|export)\s+(?!type\b)[^'"(=]*?\s*(?:from\s+)?'(\.[^']+|@trunkline\/[^']+\.ts)'/gm
/** Imports of a test that has set the scene first. */
const laterImports = /await import\('(\.[^']+)'\)/g
const packageImport = /^@trunkline\/([^/]+)\/(.+)$/

/** What the files of the repository import, types apart: those are gone when a program runs. Paths are absolute. */
export type ImportGraph = {
  /** The text of a file; empty where there is none. */
  text(path: string): string
  imports(path: string): readonly string[]
  /** Returns a file and everything that it imports, except what `stop` has, with its distance in imports. */
  reach(start: string, stop?: ReadonlySet<string>): ReadonlyMap<string, number>
}

export const makeImportGraph = (root: string): ImportGraph => {
  const target = (path: string, from: string) => {
    const [, name, file] = packageImport.exec(from) ?? []
    return name === undefined ? join(dirname(path), from) : join(root, 'packages', name, 'src', file ?? '')
  }
  const cache = new Map<string, { text: string; imports: string[] }>()
  const read = (path: string) => {
    const before = cache.get(path)
    if (before) return before
    const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
    const found = [...text.matchAll(imports), ...(path.endsWith('.test.ts') ? text.matchAll(laterImports) : [])]
    const entry = { text, imports: found.map(([, from = '']) => target(path, from)) }
    cache.set(path, entry)
    return entry
  }
  return {
    text: (path) => read(path).text,
    imports: (path) => read(path).imports,
    reach: (start, stop = new Set()) => {
      const reached = new Map([[start, 0]])
      for (const [path, distance] of reached)
        for (const next of read(path).imports)
          if (!stop.has(next) && !reached.has(next)) reached.set(next, distance + 1)
      return reached
    },
  }
}
