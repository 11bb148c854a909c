import { join } from 'node:path'
import { makeImportGraph } from './import-graph.ts'

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
  ...['certificate', 'commit-seed', 'database', 'endings', 'servers'],
  // Programs and processes of ours.
  ...['child', 'compiler', 'console/pseudo-server', 'counterparts/program', 'didww/simulated-supplier', 'ejabberd'],
  ...['media/rtpengine', 'platform', 'postfix', 'prosody', 'simulator', 'whatsapp-cloud/graph'],
  ...['whatsapp-web/installed', 'whatsapp-web/network', '../src/domains/backup/testing'],
  // Scripts of pages, which are text here.
  ...['console/fixture', 'media/page-peer', 'sdk/tab'],
  // These files read `globalThis`.
  ...['../console/inbox/inbox-store', '../packages/client/src/event-stream', '../packages/client/src/transport'],
].map((name) => `test/${name}.ts`)

/**
 * Decides by the transitive imports of a file, except those of the product: every file makes its own services of it.
 * @returns whether a file may share its process, and whether it uses a browser
 */
export const makeShareCheck = (
  root: string,
): { mayShare: (file: string) => boolean; usesBrowser: (file: string) => boolean } => {
  const { text, reach } = makeImportGraph(root)
  // src/main.ts imports the other two while it runs.
  const product = new Set(
    ['main', 'assemble', 'start-roles'].flatMap((name) => [...reach(join(root, `src/${name}.ts`)).keys()]),
  )
  const harmlessToo = new Set([...product, ...harmless.map((helper) => join(root, helper))])
  const mayShare = (file: string) => {
    const start = join(root, file)
    return [...reach(start, harmlessToo).keys()].every(
      (path) =>
        !unshareable.some((pattern) => pattern.test(text(path))) && (path === start || !hookOfHelper.test(text(path))),
    )
  }
  const browser = join(root, 'test/chromium.ts')
  return { mayShare, usesBrowser: (file) => reach(join(root, file), product).has(browser) }
}
