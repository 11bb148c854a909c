import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { lastRelease, makeWorktree, whyAbsent } from '../../scripts/releases/releases.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { allOf, readMigrationFiles } from '../../src/platform/db/migration-files.ts'
import { connect } from '../../src/platform/db/sql.ts'
import { testDatabase } from '../database.ts'
import { longForm } from '../needs.ts'
import { temporaryFolder, variables } from '../servers.ts'

// Tests of the last release that speak HTTP run against a database with the schema of this version: its processes go on
// while this version migrates. Migrations from the first that is not compatible are left out: an upgrade stops there.

const ours = join(import.meta.dirname, '../../src/platform/db/migrations')

/**
 * The part that a run has proved. Neither a release nor a landed migration changes, so the full form repeats that for further
 * migrations alone. The long form always does.
 */
const proved = { version: '0.2.0', last: '20261128T130000_opt_outs' }

/** The migrations that processes of the release bear, and the first that they do not; null: they bear all. */
const compatibleMigrations = async () => {
  const { last_migration } = lastRelease()
  const added = allOf(await readMigrationFiles(ours)).filter(({ name }) => name > last_migration)
  const first = added.find(({ compatibleSince }) => compatibleSince === null || compatibleSince > last_migration)
  const isApplied = ({ name }: { readonly name: string }) => !first || name < first.name
  return {
    applied: added.filter(isApplied).map(({ name }) => name),
    others: added.filter((one) => !isApplied(one)).map(({ name }) => name),
  }
}

/** Makes the schema without some migrations. */
const migrateWithout = async (url: string, others: readonly string[]): Promise<void> => {
  const db = connect({ url, connections: 2, unlimited: true })
  const folder = join(temporaryFolder(), 'migrations')
  cpSync(ours, folder, { recursive: true })
  for (const name of others) rmSync(join(folder, `${name}.sql`))
  try {
    await db.raw('drop schema public cascade; create schema public')
    await migrate(db, { folder })
  } finally {
    await db.end()
  }
}

/** Milliseconds for a file of the other tree. */
const fileMs = 600_000

/**
 * Runs a test file of another tree on copies of a database.
 * @returns the number of tests that passed
 * @throws Error with their output when one fails
 */
const runFile = (tree: string, template: string, args: readonly string[]): number => {
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
  const options = ['--disable-warning=ExperimentalWarning', '--test-reporter=spec', '--test-force-exit', ...args]
  const env = { ...inherited, [variables.newest]: template, CI: '', TRUNKLINE_TEST_FORM: '', TRUNKLINE_TEST_LONG: '' }
  const settings = { cwd: tree, encoding: 'utf8', env, timeout: fileMs } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, options, settings)
  assert.equal(status, 0, `${args.join(' ')}:\n${stdout}\n${stderr}`)
  return Number(/^ℹ pass (\d+)$/m.exec(stdout)?.[1])
}

/** Test files that use a server within their process, and write no SQL. */
const filesOverHttp = (tree: string): string[] =>
  globSync('src/domains/**/*.test.ts', { cwd: tree })
    .sort()
    .filter((file) => {
      const text = readFileSync(join(tree, file), 'utf8')
      return /\/world\.ts'/.test(text) && !/\b(?:db|tx|sql)\b|startPlatform|chromium|spawn|needs\(/.test(text)
    })

for (const [name, form, select] of [
  ['endpoint', { skip: false }, () => [['--test-name-pattern=answers 20\\d$', 'test/contract.test.ts']]],
  ['test over HTTP', longForm(), (tree: string) => filesOverHttp(tree).map((file) => [file])],
] as const)
  test(`every ${name} of the last release works with the schema of this version`, form, async (t) => {
    const { version, commit } = lastRelease()
    const reason = whyAbsent(commit)
    if (reason !== null) return t.skip(reason)
    const { applied, others } = await compatibleMigrations()
    const isProved = version === proved.version && applied.at(-1) === proved.last
    if (isProved && longForm().skip) return t.skip(`${version} was tried with the schema up to ${proved.last}`)
    const worktree = makeWorktree(commit)
    t.after(worktree.remove)
    const database = await testDatabase()
    await database.end()
    await migrateWithout(database.url, others)
    t.diagnostic(`applied after ${version}: ${applied.join(', ') || 'nothing'}`)
    if (others.length > 0) t.diagnostic(`${others[0]} is not compatible with ${version}: that upgrade needs a stop`)
    const runs = select(worktree.folder).map((args) => runFile(worktree.folder, database.url, args))
    const passed = runs.reduce((sum, count) => sum + count, 0)
    assert.ok(passed > 20, `only ${passed} tests ran`)
    t.diagnostic(`${passed} tests of ${version} passed`)
  })
