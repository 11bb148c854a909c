import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { lastRelease, makeWorktree, whyAbsent } from '../../scripts/releases/releases.ts'
import { until } from '../platform.ts'
import { temporaryFolder } from '../servers.ts'
import { clusterForm } from './form.ts'
import { type Installation, startInstallation } from './installation.ts'
import { type Accepted, assertNothingLost, startLoad } from './load.ts'

// Two processes with the role `api` and two workers are replaced one after the other behind HAProxy, while each request
// is sent once: npm run chaos -- test/cluster/rolling.test.ts

/** Requests of which none may fail. */
const requests = Number(process.env.TRUNKLINE_TEST_REQUESTS ?? 3_000)

/**
 * Replaces every process, the workers first, and proves that no request failed.
 * @param tree of the version of the new processes. Default: this one
 */
const roll = async (t: TestContext, installation: Installation, tree?: string): Promise<void> => {
  const { apis, workers } = installation
  const accepted: Accepted = new Map()
  const load = startLoad(installation, accepted, false)
  await load.accepts(100)
  for (let turn = 0; turn === 0 || load.times.length + load.refused() < requests; turn++) {
    for (const one of [...workers, ...apis]) {
      const before = load.times.length
      assert.equal(await one.stop(), 0, one.name)
      await one.start(tree)
      // The proxy asks every half second whether it is ready.
      await until(async () => load.times.length >= before + 40, 60)
    }
    if (tree !== undefined) break
  }
  await load.accepts(Math.max(0, requests - load.times.length))
  const refused = load.refused()
  const figures = await load.stop()
  t.diagnostic(`${JSON.stringify(figures)} ${JSON.stringify(await assertNothingLost(installation, accepted))}`)
  assert.equal(refused, 0, JSON.stringify(figures.codes))
}

test(`no request of ${requests} fails while every process is restarted`, clusterForm(), async (t) => {
  await roll(t, await startInstallation(t))
})

const here = join(import.meta.dirname, '../..')

/** Migrates beside the processes of the release. @returns why it refused, or null */
const migrate = (environment: Readonly<Record<string, string>>): string | null => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(here, 'src/interfaces/cli/main.ts'), 'migrate'],
    {
      cwd: temporaryFolder(),
      encoding: 'utf8',
      env: { PATH: process.env.PATH, ...environment },
    },
  )
  return status === 0 ? null : `${stdout}${stderr}`.trim()
}

test(
  `no request of ${requests} fails while every process is upgraded from the last release`,
  clusterForm(),
  async (t) => {
    const { version, commit } = lastRelease()
    const reason = whyAbsent(commit)
    if (reason !== null) return t.skip(reason)
    const worktree = makeWorktree(commit, true)
    t.after(worktree.remove)
    const installation = await startInstallation(t, { tree: worktree.folder })
    const refusal = migrate(installation.environment)
    // A release without such an upgrade is named in docs/operating/upgrading.md.
    if (refusal !== null) return t.skip(`${version} cannot be upgraded while it runs: ${refusal}`)
    await roll(t, installation, here)
  },
)
