import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Code that a file must not contain to share its process. It must not start a program or thread by itself, nor change or
 * measure the state of the whole process. A hook in a helper, which is loaded once, would serve only the first file.
 */
const unshareable = [
  /'node:(?:child_process|worker_threads|cluster|vm|inspector)'/,
  /\bprocess\.env(?:\.\w+|\[[^\]]+\])?\s*=(?!=)|\bdelete process\.env|Object\.assign\(process\.env/,
  /\bprocess\.(?:on|once|emit|exit|abort|chdir|umask|send|kill|exitCode|memoryUsage|cpuUsage|resourceUsage)\b/,
  /\bmock\b|\bglobalThis\b|\bglobal\.|setGlobalDispatcher|setFlagsFromString|eventLoopDelay|eventLoopUtilization/,
  /(?<!\bpage\.)\bsetDefault\w+\(|\bsyncBuiltinESMExports\b|\bDate\.now =|\bMath\.random =/,
]
const hookOfHelper = /^(?:after|before|afterEach|beforeEach)\(/m

/**
 * Helpers that change nothing for later files although they contain such code. The servers of the run exist already,
 * programs end with the test or file that started them, and shared-process.ts runs the endings after each file.
 */
const harmless = [
  ...['certificate', 'database', 'endings', 'servers'],
  // Programs and processes of ours.
  ...['child', 'compiler', 'console/pseudo-server', 'counterparts/program', 'didww/simulated-supplier', 'ejabberd'],
  ...['media/rtpengine', 'platform', 'postfix', 'prosody', 'simulator', 'whatsapp-cloud/graph'],
  ...['whatsapp-web/installed', 'whatsapp-web/network', '../src/domains/backup/testing'],
  // Scripts of pages, which are text here.
  ...['console/fixture', 'media/page-peer', 'sdk/tab'],
  // These files read `globalThis`.
  ...['../console/inbox/inbox-store', '../packages/client/src/event-stream', '../packages/client/src/transport'],
].map((name) => `test/${name}.ts`)

const imports = /^(?:import|export)\s+(?!type\b)[^'"(=]*?\s*(?:from\s+)?'(\.[^']+)'/gm

/**
 * Decides by the transitive imports of a file, except those of the product: every file makes its own services of it.
 */
export const makeShareCheck = (root: string): ((file: string) => boolean) => {
  const cache = new Map<string, { text: string; imports: string[] }>()
  const read = (path: string) => {
    const before = cache.get(path)
    if (before) return before
    const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
    const entry = { text, imports: [...text.matchAll(imports)].map(([, from = '']) => join(dirname(path), from)) }
    cache.set(path, entry)
    return entry
  }
  const reach = (start: string, stop: ReadonlySet<string> = new Set()): Set<string> => {
    const reached = new Set([start])
    for (const path of reached) for (const next of read(path).imports) if (!stop.has(next)) reached.add(next)
    return reached
  }
  // src/main.ts imports the other two while it runs.
  const product = new Set(
    ['main', 'assemble', 'start-roles'].flatMap((name) => [...reach(join(root, `src/${name}.ts`))]),
  )
  for (const helper of harmless) product.add(join(root, helper))
  return (file) => {
    const start = join(root, file)
    return [...reach(start, product)].every((path) => {
      const { text } = read(path)
      return !unshareable.some((pattern) => pattern.test(text)) && (path === start || !hookOfHelper.test(text))
    })
  }
}
