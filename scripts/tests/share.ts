import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * What a file must not do that shares its process: start another program or thread, change what is the whole process's, or
 * measure that. A hook of a helper that is loaded once would serve the first file alone.
 */
const unshareable = [
  /'node:(?:child_process|worker_threads|cluster|vm|inspector)'/,
  /\bprocess\.env(?:\.\w+|\[[^\]]+\])?\s*=(?!=)|\bdelete process\.env|Object\.assign\(process\.env/,
  /\bprocess\.(?:on|once|emit|exit|abort|chdir|umask|send|kill|exitCode|memoryUsage|cpuUsage|resourceUsage)\b/,
  /\bmock\b|\bglobalThis\b|\bglobal\.|setGlobalDispatcher|setFlagsFromString|eventLoopDelay|eventLoopUtilization/,
  /\bsetDefault\w+\(|\bsyncBuiltinESMExports\b|\bDate\.now =|\bMath\.random =/,
]
const hookOfHelper = /^(?:after|before|afterEach|beforeEach)\(/m

const imports = /^(?:import|export)\s+(?!type\b)([^'"]*?)\s*(?:from\s+)?'(\.[^']+)'/gm

/** Decides by what files import, transitively, up to the product, of which every file makes parts of its own. */
export const makeSharing = (root: string): ((file: string) => boolean) => {
  const known = new Map<string, { text: string; imports: string[] }>()
  const read = (path: string) => {
    const before = known.get(path)
    if (before) return before
    const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
    // `until` alone starts nothing, whatever else is beside it.
    const found = [...text.matchAll(imports)].filter(
      ([, names, from]) => !(names === '{ until }' && from?.endsWith('/platform.ts')),
    )
    const entry = { text, imports: found.map(([, , from = '']) => join(dirname(path), from)) }
    known.set(path, entry)
    return entry
  }
  const reach = (start: string, stop: ReadonlySet<string> = new Set()): Set<string> => {
    const reached = new Set([start])
    for (const path of reached) for (const next of read(path).imports) if (!stop.has(next)) reached.add(next)
    return reached
  }
  // The servers of the run are there before; shared.ts loads what drops their databases.
  const product = reach(join(root, 'src/main.ts')).add(join(root, 'test/database.ts'))
  return (file) => {
    const start = join(root, file)
    return [...reach(start, product)].every((path) => {
      const { text } = read(path)
      return !unshareable.some((pattern) => pattern.test(text)) && (path === start || !hookOfHelper.test(text))
    })
  }
}
