import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

// Earlier releases: their list, their files, and their trees for checks that start them.

const root = join(import.meta.dirname, '../..')

/** A release, with the name of its last migration. */
export type Release = { version: string; commit: string; last_migration: string; date: string }

/** The releases, the oldest first. */
export const releases = (): Release[] => JSON.parse(readFileSync(join(root, 'docs/releases.json'), 'utf8'))

export const lastRelease = (): Release => {
  const release = releases().at(-1)
  if (!release) throw new Error('docs/releases.json has no release')
  return release
}

const git = (...args: string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 })

/** Runs a program. @returns what it printed. @throws Error with that, when it failed */
export const run = (program: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): string => {
  const options = { cwd, encoding: 'utf8', maxBuffer: 1 << 28, env: { ...process.env, ...env } } as const
  const { status, stdout, stderr, error } = spawnSync(program, args, options)
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${error?.message ?? `${stdout}\n${stderr}`}`)
  return stdout
}

/** Whether this is a clone with all earlier commits: no shallow one, and no copy without `.git`. */
const isWhole = (): boolean => git('rev-parse', '--is-shallow-repository').stdout.trim() === 'false'

/**
 * Returns why a check against an earlier commit must be skipped; null when the commit is here.
 * @throws Error when a clone with all commits lacks it: docs/releases.json names another one
 */
export const whyAbsent = (commit: string): string | null => {
  if (git('merge-base', '--is-ancestor', commit, 'HEAD').status === 0) return null
  if (isWhole()) throw new Error(`${commit} is no commit before this one: correct docs/releases.json`)
  return `this clone lacks the commit ${commit}: git fetch --unshallow`
}

/** Whether a commit has a file. */
const hasFile = (commit: string, path: string): boolean => git('cat-file', '-e', `${commit}:${path}`).status === 0

/** The text of a file in a commit. @throws Error when the commit does not have it */
export const readAt = (commit: string, path: string): string => run('git', ['show', `${commit}:${path}`], root)

/**
 * Links the packages of this tree into another one with the same lock file. The workspaces are its own: a link to the
 * whole folder would lead to those of this tree.
 */
const linkPackages = (folder: string): void => {
  const [from, to] = [join(root, 'node_modules'), join(folder, 'node_modules')]
  mkdirSync(join(to, '@trunkline'), { recursive: true })
  for (const name of readdirSync(from))
    if (!['@trunkline', '.cache'].includes(name)) symlinkSync(join(from, name), join(to, name))
  for (const name of readdirSync(join(folder, 'packages')))
    if (existsSync(join(folder, 'packages', name, 'package.json')))
      symlinkSync(join('../../packages', name), join(to, '@trunkline', name))
}

/** Whether this tree has every package of the lock file of another tree, in its version. */
const hasPackagesOf = (folder: string): boolean => {
  const packagesIn = (tree: string): Record<string, { version?: string }> =>
    JSON.parse(readFileSync(join(tree, 'package-lock.json'), 'utf8')).packages
  const own = packagesIn(root)
  return Object.entries(packagesIn(folder)).every(
    ([path, { version }]) => !path.startsWith('node_modules/') || own[path]?.version === version,
  )
}

/**
 * Checks a commit out into a worktree in a temporary folder, with its packages: linked from this tree where it has them
 * all, installed otherwise.
 * @param isReady also prepares it as `npm start` does, which builds its console
 */
export const makeWorktree = (commit: string, isReady = false): { folder: string; remove(): void } => {
  const parent = mkdtempSync(join(tmpdir(), 'trunkline-release-'))
  const folder = join(parent, 'tree')
  const remove = () => {
    git('worktree', 'remove', '--force', folder)
    rmSync(parent, { recursive: true, force: true })
  }
  try {
    run('git', ['worktree', 'add', '--detach', '--quiet', folder, commit], root)
    const lock = (tree: string) => readFileSync(join(tree, 'package-lock.json'), 'utf8')
    // A tree that is started checks its packages by the whole lock file.
    const isLinked = isReady ? lock(folder) === lock(root) : hasPackagesOf(folder)
    if (isLinked) linkPackages(folder)
    if (isReady || !isLinked) run(process.execPath, ['scripts/ready.mjs'], folder)
  } catch (error) {
    remove()
    throw error
  }
  return { folder, remove }
}

/** The OpenAPI document of a commit, which is in the commit where it was tracked, and made in a worktree otherwise. */
export const documentOf = (commit: string): string => {
  const path = 'docs/openapi.json'
  if (hasFile(commit, path)) return readAt(commit, path)
  const stored = join(root, 'node_modules/.cache', `openapi-${commit}.json`)
  if (existsSync(stored)) return readFileSync(stored, 'utf8')
  const { folder, remove } = makeWorktree(commit)
  try {
    run(process.execPath, ['scripts/openapi.ts'], folder)
    mkdirSync(dirname(stored), { recursive: true })
    copyFileSync(join(folder, path), stored)
  } finally {
    remove()
  }
  return readFileSync(stored, 'utf8')
}
