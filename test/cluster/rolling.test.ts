import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { lastRelease, makeWorktree, whyAbsent } from '../../scripts/releases/releases.ts'
import { until } from '../platform.ts'
import { temporaryFolder } from '../servers.ts'
import { clusterForm } from './form.ts'
import { type Installation, startInstallation } from './installation.ts'
import { type AcceptedMessages, assertNothingLost, startLoad } from './load.ts'

// Two processes with the role `api` and two workers are replaced one after the other behind HAProxy, while each request
// is sent once: npm run chaos -- test/cluster/rolling.test.ts

/** Requests of which none may fail. */
const requests = Number(process.env.TRUNKLINE_TEST_REQUESTS ?? 3_000)

/**
 * Replaces every process by one of this version, the workers first, and proves that no request failed.
 * @param isOnce otherwise again until all requests were made
 */
const roll = async (t: TestContext, installation: Installation, isOnce: boolean): Promise<void> => {
  const { apis, workers, proxy } = installation
  const accepted: AcceptedMessages = new Map()
  const load = startLoad(installation, accepted, false)
  await load.accepts(100)
  do {
    for (const one of [...workers, ...apis]) {
      const refused = load.refused()
      assert.equal(await one.stop(), 0, one.name)
      await one.start()
      if (apis.includes(one)) await until(() => proxy.usesApi(one.name))
      t.diagnostic(`${one.name}: ${load.refused() - refused} requests failed`)
    }
  } while (!isOnce && load.times.length < requests)
  await load.accepts(Math.max(0, requests - load.times.length))
  const refused = load.refused()
  const figures = await load.stop()
  t.diagnostic(JSON.stringify(figures))
  t.diagnostic(JSON.stringify(await assertNothingLost(installation, accepted)))
  assert.equal(refused, 0, JSON.stringify(figures.codes))
}

test(`no request of ${requests} fails while every process is restarted`, clusterForm(), async (t) => {
  await roll(t, await startInstallation(t), false)
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
  `no request of ${requests} fails while every process is upgraded from the version before`,
  clusterForm(),
  async (t) => {
    const release = lastRelease()
    // Another commit than the last release, such as one whose processes bear all later migrations.
    const commit = process.env.TRUNKLINE_TEST_UPGRADE_FROM ?? release.commit
    const version = commit === release.commit ? release.version : commit
    const reason = whyAbsent(commit)
    if (reason !== null) return t.skip(reason)
    const worktree = makeWorktree(commit, true)
    t.after(worktree.remove)
    const installation = await startInstallation(t, { tree: worktree.folder })
    const refusal = migrate(installation.environment)
    // A release without such an upgrade is named in docs/operating/upgrading.md.
    if (refusal !== null) return t.skip(`${version} cannot be upgraded while it runs: ${refusal}`)
    await roll(t, installation, true)
  },
)
