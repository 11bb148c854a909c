import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { until } from '../platform.ts'
import { clusterForm } from './form.ts'
import { type Installation, startInstallation } from './installation.ts'
import { type AcceptedMessages, assertNothingLost, type Load, startLoad } from './load.ts'

// The promise of docs/operating/failover.md: npm run chaos -- test/cluster/failover.test.ts. Its figures are there.

/** How often the primary is killed. */
const kills = Number(process.env.TRUNKLINE_TEST_KILLS ?? 5)

/** Messages before a fault, and after it. */
const enough = 80

/** Seconds from a promotion to the first 202. */
const promisedSeconds = 2

/**
 * Makes a fault under load, and proves that nothing was lost.
 * @returns what the fault returned
 */
const during = async <T>(
  t: TestContext,
  installation: Installation,
  accepted: AcceptedMessages,
  fault: (load: Load) => Promise<T>,
): Promise<T> => {
  await installation.patroni.whenHealthy()
  const load = startLoad(installation, accepted)
  await load.accepts(enough)
  const result = await fault(load)
  await load.accepts(enough)
  const figures = await load.stop()
  t.diagnostic(JSON.stringify(figures))
  t.diagnostic(JSON.stringify(await assertNothingLost(installation, accepted)))
  return result
}

/** Seconds from a time to the first message that was accepted after it. */
const secondsToAccept = async (load: Load, since: number): Promise<number> => {
  const first = await until(async () => load.times.find((at) => at > since), 120)
  return (first - since) / 1_000
}

test('a database that fails over loses no accepted message, no money and no webhook', clusterForm(), async (t) => {
  const installation = await startInstallation(t)
  const { patroni } = installation
  const accepted: AcceptedMessages = new Map()
  const inCluster = <T>(t: TestContext, fault: (load: Load) => Promise<T>) => during(t, installation, accepted, fault)

  await t.test(`the primary is killed ${kills} times: the standby takes over`, async (t) => {
    const waits: number[] = []
    for (let kill = 0; kill < kills; kill++) {
      const { primary, standby } = await patroni.whenHealthy()
      waits.push(
        await inCluster(t, async (load) => {
          const killedAt = performance.now()
          await primary.kill()
          const promoted = await standby.program().prints(/promoted self to leader/, killedAt)
          const seconds = await secondsToAccept(load, promoted)
          t.diagnostic(
            `promoted after ${((promoted - killedAt) / 1_000).toFixed(1)} s, 202 after ${seconds.toFixed(1)} s more`,
          )
          return seconds
        }),
      )
      primary.start()
    }
    const median = waits.toSorted((a, b) => a - b)[Math.floor(waits.length / 2)] ?? 0
    assert.ok(median <= promisedSeconds, `seconds from the promotion to the first 202: ${waits}`)
  })

  await t.test('the primary hangs, and comes back after the promotion of the standby', async (t) => {
    const { primary, standby } = await patroni.whenHealthy()
    await inCluster(t, async (load) => {
      const since = performance.now()
      primary.hang()
      await standby.program().prints(/promoted self to leader/, since)
      await load.accepts(enough)
      primary.resume()
    })
    assert.equal((await patroni.whenHealthy()).primary, standby)
  })

  await t.test('a planned switchover', (t) => inCluster(t, () => patroni.switchover()))

  await t.test('the standby is lost: the primary goes on alone', async (t) => {
    const { standby } = await patroni.whenHealthy()
    await inCluster(t, async () => {
      await standby.kill()
      await until(async () => !(await patroni.hasStandby()), 60)
    })
    standby.start()
  })

  await t.test(
    'the primary is lost while it was alone: a standby that lacks its messages does not take over',
    async (t) => {
      const { primary, standby } = await patroni.whenHealthy()
      await inCluster(t, async (load) => {
        await standby.kill()
        await until(async () => !(await patroni.hasStandby()), 60)
        await load.accepts(enough)
        await primary.kill()
        const since = performance.now()
        standby.start()
        await standby.program().prints(/not the healthiest node/i, since)
        assert.equal(await standby.isPrimary(), false)
        primary.start()
      })
      assert.equal((await patroni.whenHealthy()).primary, primary)
    },
  )

  await t.test('one member of etcd is lost: nothing changes', async (t) => {
    const { primary } = await patroni.whenHealthy()
    const [etcd = assert.fail('no etcd')] = patroni.etcd
    await inCluster(t, async (load) => {
      await etcd.kill()
      // Longer than the lease of the primary, which it has renewed meanwhile.
      await load.accepts(25 * 40)
      assert.equal(await primary.isPrimary(), true)
    })
    etcd.start()
  })

  await t.test('two members of etcd are lost: nothing is accepted until one is back', async (t) => {
    const lost = patroni.etcd.slice(1)
    await inCluster(t, async (load) => {
      for (const etcd of lost) await etcd.kill()
      await until(async () => !(await Promise.all(patroni.nodes.map((node) => node.isPrimary()))).includes(true), 120)
      // A request that was under way may still be answered.
      const before = load.refused()
      await until(async () => load.refused() >= before + 20, 60)
      const [answered, refused] = [load.times.length, load.refused()]
      await until(async () => load.refused() >= refused + 1_000, 120)
      assert.equal(load.times.length, answered)
      for (const etcd of lost) etcd.start()
    })
  })
})
