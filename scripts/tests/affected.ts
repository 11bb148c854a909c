import { globSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { makeImportGraph } from './import-graph.ts'

// `--changed` cannot run every test that a change reaches: a world or a platform reaches the whole product. Tests are
// chosen by nearness instead, until their processor time makes up a minute: tests that import the changed file without
// going through the assembled product, tests of its folder, of its domain, and tests that use the endpoints of its
// domain.

/** A test file that a change can affect. `contracts`: the contract files to which a test of all endpoints restricts itself. */
export type AffectedFile = { readonly file: string; readonly rank: number; readonly contracts: readonly string[] }

/** Files that tie the product together. Imports through them say nothing about what a test is about. */
const hubs = [
  ...['src/main.ts', 'src/assemble.ts', 'src/start-roles.ts', 'src/services.ts', 'src/contracts.ts', 'src/config.ts'],
  ...['test/world.ts', 'test/platform.ts', 'test/setup.ts', 'test/recipes/all.ts'],
]

/** Tests of every endpoint that restrict themselves to the contracts of TRUNKLINE_TEST_CONTRACTS, nearest first. */
export const restrictedWalks = ['contract', 'isolation', 'fuzz', 'scopes'].map((name) => `test/${name}.test.ts`)

/** Further tests of every endpoint, nearest first. */
export const wholeWalks = [
  ...['test/contents.test.ts', 'test/roles.test.ts', 'test/audit.test.ts'],
  ...['test/filters.test.ts', 'test/lists.test.ts', 'test/cursors.test.ts', 'test/credentials.test.ts'],
]

/** Tests outside a folder that concern it, where neither imports nor endpoints show it. */
export const subjects: readonly { readonly folder: string; readonly tests: string }[] = [
  { folder: 'src/adapters/smpp', tests: 'test/counterparts/{kannel,drive-smpp,net-smpp,npm-smpp,gateway}.test.ts' },
  { folder: 'packages/smpp', tests: 'test/counterparts/{kannel,drive-smpp,net-smpp,npm-smpp}.test.ts' },
  { folder: 'src/adapters/xmpp', tests: 'test/counterparts/prosody.test.ts' },
  { folder: 'src/adapters/xmpp', tests: 'src/domains/msgapp/networks/{prosody,ejabberd}.test.ts' },
  { folder: 'src/adapters/sandbox', tests: 'src/domains/msgapp/networks/sandbox*.test.ts' },
  { folder: 'src/adapters/whatsapp-web', tests: 'src/domains/msgapp/networks/whatsapp-web*.test.ts' },
  { folder: 'src/adapters/whatsapp-cloud', tests: 'src/domains/msgapp/networks/whatsapp-cloud*.test.ts' },
  { folder: 'src/adapters/sip-gateway', tests: 'test/{voice,counterparts}/*.test.ts' },
  { folder: 'packages/sip', tests: 'test/counterparts/{sipp,kamailio,baresip,tshark}.test.ts' },
  { folder: 'src/adapters/media', tests: 'test/{voice,sdk}/*.test.ts' },
  { folder: 'src/domains/calls', tests: 'test/voice/*.test.ts' },
  { folder: 'src/domains/webhooks', tests: 'test/chaos/{webhooks,deliverers}.test.ts' },
  { folder: 'src/domains/msgapp', tests: 'test/chaos/msgapp.test.ts' },
  { folder: 'src/domains/sandbox', tests: 'test/sandbox.test.ts' },
  { folder: 'src/domains/sandbox/trigger', tests: 'test/trigger.test.ts' },
  { folder: 'src/domains/sms/timeline', tests: 'test/timelines.test.ts' },
  { folder: 'src/domains/msgapp/timeline', tests: 'test/timelines.test.ts' },
  { folder: 'src/domains/numbers/timeline', tests: 'test/timelines.test.ts' },
  { folder: 'src/domains/timelines', tests: 'test/timelines.test.ts' },
  { folder: 'src/domains/persons/sessions', tests: '{test/sessions,src/platform/http/right-keys}.test.ts' },
  { folder: 'src/domains/inbox', tests: 'test/chaos/inbox.test.ts' },
  // Keys, sessions and proofs are checked there for every domain.
  { folder: 'src/platform/http', tests: 'src/domains/{persons/{session-changes,persons},keys/*}.test.ts' },
  { folder: 'src/platform/http', tests: 'test/{scopes,roles}.test.ts' },
  { folder: 'src/platform/jobs', tests: 'test/chaos/{kill,stop,cuts}.test.ts' },
  { folder: 'console', tests: 'test/console/smoke.test.ts' },
  { folder: 'packages/voice-sdk', tests: 'test/sdk/*.test.ts' },
  { folder: 'packages/client', tests: 'test/client/*.test.ts' },
  { folder: 'scripts', tests: 'scripts/**/*.test.ts' },
  { folder: 'deploy', tests: 'test/deploy/*.test.ts' },
]

/** Tests of a part of a domain come before the others of the domain. */
const subjectRank = (folder: string): number => (folder.split('/').length > 3 ? 1.5 : 4)

/** Changes of these concern every test. */
const everything = /^(?:package(?:-lock)?\.json|tsconfig\.json|scripts\/(?:ready|pack|preload)\.mjs)$/

const isTest = (file: string): boolean => file.endsWith('.test.ts')

/** The domain, adapter, package or section of the console that has a file. */
const domainOf = (file: string): string => {
  const [top = '', second = '', third = ''] = file.split('/')
  return top === 'src' ? [top, second, third].join('/') : [top, second].join('/')
}

/** The contracts nearest to a file: those of its folder, or of the next folder above it within its domain. */
const contractsNear = (file: string, all: readonly string[]): string[] => {
  const domain = domainOf(file)
  for (let folder = dirname(file); folder.startsWith(domain); folder = dirname(folder)) {
    const found = all.filter((contract) => dirname(contract) === folder)
    if (found.length > 0) return found
  }
  return all.filter((contract) => contract.startsWith(`${domain}/`))
}

/** Returns an expression for the use of a contract's endpoints in a test, with any value for each parameter. */
const usesOf = (text: string): RegExp | null => {
  const urls = [...text.matchAll(/^ {2}url: '([^']+)'/gm)].map(([, url = '']) => RegExp.escape(url))
  const paths = urls.map((url) => url.replaceAll(/:\w+/g, String.raw`[^/'"\`?]+`))
  return paths.length === 0 ? null : new RegExp(`(?:${paths.join('|')})(?=['"\`?])`, 'g')
}

/**
 * Returns the tests that changes can affect, the nearest first.
 * @param tests the test files to choose from
 * @param changed paths of changed files, deleted ones included
 * @returns 'everything' if a change concerns every test
 */
export const affectedTests = (
  root: string,
  tests: readonly string[],
  changed: readonly string[],
): AffectedFile[] | 'everything' => {
  if (changed.some((file) => everything.test(file))) return 'everything'
  const graph = makeImportGraph(root)
  const absolute = (file: string) => join(root, file)
  const stop = new Set(hubs.map(absolute))
  const reached = tests.map((file) => ({ file, distances: graph.reach(absolute(file), stop) }))
  const contracts = globSync('src/domains/**/*contract.ts', { cwd: root }).sort()
  const found = new Map<string, { rank: number; contracts: Set<string> }>()
  const add = (file: string, rank: number, near: readonly string[] = []) => {
    const before = found.get(file) ?? { rank, contracts: new Set() }
    for (const contract of near) before.contracts.add(contract)
    found.set(file, { rank: Math.min(rank, before.rank), contracts: before.contracts })
  }
  for (const file of changed) {
    const [domain, folder] = [domainOf(file), dirname(file)]
    const near = contractsNear(file, contracts)
    const uses = near.map((contract) => usesOf(graph.text(absolute(contract)))).filter((use) => use !== null)
    const isProduct = /^(?:src|packages|simulator|console)\//.test(file) && !isTest(file)
    const ofSubject = new Map(
      subjects
        .filter((one) => file.startsWith(`${one.folder}/`))
        .flatMap((one) => globSync(one.tests, { cwd: root }).map((test) => [test, subjectRank(one.folder)])),
    )
    const page = domain.startsWith('console/') ? `test/${domain}` : null
    for (const { file: test, distances } of reached) {
      const distance = distances.get(absolute(file))
      // A helper of tests is near to too many.
      if (distance !== undefined)
        add(test, distance === 0 || (isProduct && distance === 1) ? distance : 3 + distance / 100)
      if (isProduct && dirname(test) === folder) add(test, basename(test).startsWith(basename(file, '.ts')) ? 0.5 : 1)
      if (isProduct && domainOf(test) === domain) add(test, 2 + relative(folder, dirname(test)).split('/').length / 100)
      const ofFolder = ofSubject.get(test)
      if (ofFolder !== undefined) add(test, ofFolder)
      if (page !== null && test.startsWith(page)) add(test, 2)
      const text = graph.text(absolute(test))
      // A document or a program is read by a test that names it.
      if (!file.endsWith('.ts') && text.includes(`/${basename(file)}'`)) add(test, 1)
      const count = uses.reduce((sum, use) => sum + text.matchAll(use).reduce((n) => n + 1, 0), 0)
      if (count > 0 && isProduct) add(test, 5 - Math.min(count, 50) / 100)
      if (near.length === 0 || !isProduct) continue
      if (restrictedWalks.includes(test)) add(test, 3.5 + restrictedWalks.indexOf(test) / 100, near)
      if (wholeWalks.includes(test)) add(test, 4.5 + wholeWalks.indexOf(test) / 100)
    }
  }
  return [...found]
    .map(([file, { rank, contracts: near }]) => ({ file, rank, contracts: rank >= 3.5 ? [...near] : [] }))
    .sort((a, b) => a.rank - b.rank)
}
