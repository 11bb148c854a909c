import { execFileSync } from 'node:child_process'
import { globSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { affectedTests } from './affected.ts'
import { type Costs, costOf } from './costs.ts'
import { whyFullOnly, whyLeftOut } from './forms.ts'
import { type FileRun, quickRunsOnOldest, runsOf } from './plan.ts'

/** Returns the files of patterns, those of dependencies apart. */
export const find = (root: string, patterns: readonly string[]): string[] =>
  globSync(patterns, { cwd: root, exclude: (name) => name === 'node_modules' }).sort()

/** All test files of the repository. */
export const allTests = (root: string): string[] =>
  find(
    root,
    ['src', 'simulator', 'test', 'scripts', 'packages', 'console', 'bench'].map((folder) => `${folder}/**/*.test.ts`),
  )

/**
 * Returns the test files of a path of the command line.
 * @throws Error when there is no such file or folder
 */
export const filesIn = (root: string, path: string): string[] => {
  const full = relative(root, join(process.cwd(), path))
  const stat = statSync(join(root, full), { throwIfNoEntry: false })
  if (!stat) throw new Error(`no such file or folder: ${path}`)
  return stat.isDirectory() ? find(root, [`${full}/**/*.test.ts`]) : [full]
}

/** Files that a run leaves to the full form. */
export type LeftOut = { readonly why: string; readonly names: readonly string[] }

type Selection = { readonly runs: readonly FileRun[]; readonly leftOut: readonly LeftOut[] }

/** Every file in the full form. In the fast form those that `forms.ts` does not leave to the full one. */
export const wholeForm = (root: string, isFull: boolean, hasOldest: boolean): Selection => {
  const files = allTests(root)
  const onOldest = quickRunsOnOldest(root)
  if (isFull) return { runs: [...runsOf(files), ...(hasOldest ? onOldest : [])], leftOut: [] }
  const reasons = Map.groupBy(files, whyLeftOut)
  const leftOut = [...reasons].flatMap(([why, names]) => (why === null ? [] : [{ why, names }]))
  const oldest = { why: 'the SQL of the domains on PostgreSQL 15', names: onOldest.map(({ name }) => name) }
  return { runs: runsOf(reasons.get(null) ?? []), leftOut: [...leftOut, oldest] }
}

/** The files of paths. The fast form of a folder leaves out what only the full form has; a named file always runs. */
export const namedFiles = (root: string, paths: readonly string[], isFull: boolean): Selection => {
  const files = paths.flatMap((path) => {
    const found = filesIn(root, path)
    return isFull || path.endsWith('.ts') ? found : found.filter((file) => whyFullOnly(file) === null)
  })
  return { runs: runsOf([...new Set(files)]), leftOut: [] }
}

/** Returns the paths of files that differ from a revision, untracked ones included. @throws Error if there is no such revision */
export const changedSince = (root: string, revision: string): string[] => {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).split('\n')
  const differing = git('diff', '--name-only', '--no-renames', revision, '--')
  return [...new Set([...differing, ...git('ls-files', '--others', '--exclude-standard')])].filter(Boolean).sort()
}

/** Processor time that the tests of a change may take together, seconds. Half of it passes on two cores. */
const changeBudget = { fast: 75, full: 600 }

/** A test of every endpoint takes about this share of its time when it walks the endpoints of one domain. */
const walkShare = 0.2

/** Nearer files always run: those that changed, that import a changed file, or that lie in its folder. */
const alwaysNear = 1

/** The tests that changes can affect, the nearest first, within the budget of the form. */
export const changedFiles = (
  root: string,
  changed: readonly string[],
  { isFull, costs }: { isFull: boolean; costs: Costs },
): { readonly runs: readonly FileRun[]; readonly beyond: number } | 'everything' => {
  const tests = allTests(root).filter((file) => isFull || changed.includes(file) || whyFullOnly(file) === null)
  const affected = affectedTests(root, tests, changed)
  if (affected === 'everything') return affected
  const budget = isFull ? changeBudget.full : changeBudget.fast
  const runs: FileRun[] = []
  let total = 0
  for (const { file, rank, contracts } of affected) {
    const isWalk = contracts.length > 0
    const cost = costOf(costs, file).cpu * (isWalk ? walkShare : 1)
    if (rank > alwaysNear && total + cost > budget) continue
    total += cost
    const env = isWalk ? { TRUNKLINE_TEST_CONTRACTS: contracts.join(',') } : {}
    runs.push({ name: isWalk ? `${file} for what changed` : file, file, env })
  }
  return { runs, beyond: affected.length - runs.length }
}
