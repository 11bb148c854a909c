import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { clusterForm } from './form.ts'
import { moveClock, startInstallation } from './installation.ts'
import {
  type AcceptedMessages,
  assertEndsWithoutReceipt,
  assertNothingLost,
  assertReceiptsRecovered,
  queryAheadSeconds,
  startLoad,
} from './load.ts'

// Every process of an installation is killed in turn, and the primary fails over once:
// npm run chaos -- test/cluster/kills.test.ts

const seconds = Number(process.env.TRUNKLINE_TEST_SECONDS ?? 600)

test(
  `no message, money, webhook or receipt is lost while each process is killed in ${seconds} s of load`,
  clusterForm(),
  async (t) => {
    // A carrier that sends a receipt once. It is asked for those that meet no process, or no database.
    const installation = await startInstallation(t, { receiptTries: 1 })
    const { patroni, proxy, apis, workers } = installation
    const accepted: AcceptedMessages = new Map()
    const began = performance.now()
    const load = startLoad(installation, accepted)

    const restart = async (member: { kill(): Promise<void>; start(): void | Promise<void> }) => {
      await member.kill()
      await member.start()
    }
    const node = async (role: 'primary' | 'standby') => {
      const pair = await patroni.whenHealthy()
      const killedAt = performance.now()
      await pair[role].kill()
      // A primary that is back before its lease ends would stay the primary.
      if (role === 'primary') await pair.standby.program().prints(/promoted self to leader/, killedAt)
      pair[role].start()
      await patroni.whenHealthy()
    }
    const turns: [name: string, kill: () => Promise<void>][] = [
      ...[...workers, ...apis].map((one): [string, () => Promise<void>] => [one.name, () => restart(one)]),
      ...patroni.etcd.map((one): [string, () => Promise<void>] => [one.name, () => restart(one)]),
      ['standby', () => node('standby')],
      ['primary', () => node('primary')],
      ['haproxy', () => restart(proxy)],
    ]
    for (const [i, [name, kill]] of turns.entries()) {
      const due = began + (1_000 * seconds * (i + 0.5)) / turns.length
      await pause(Math.max(0, due - performance.now()))
      const [before, at] = [load.refused(), performance.now()]
      await kill()
      await load.accepts(80)
      const took = ((performance.now() - at) / 1_000).toFixed(1)
      t.diagnostic(`${name}: killed and back in ${took} s, ${load.refused() - before} requests refused`)
      // The carrier is asked under load, too. It has the states of its last 10,000 messages, so it is asked in time.
      await moveClock(installation.db, queryAheadSeconds)
    }
    await pause(Math.max(0, began + 1_000 * seconds - performance.now()))
    const figures = await load.stop()
    t.diagnostic(JSON.stringify(figures))
    const lost = await assertReceiptsRecovered(installation)
    const outcome = await assertNothingLost(installation, accepted)
    const { asked } = await installation.db.one<{ asked: number }>`
      select count(distinct message_id) as asked from sms_attempts where outcome = 'queried'`
    t.diagnostic(`${JSON.stringify(outcome)}, the carrier was asked for ${asked} messages, ${lost} of them at the end`)
    assert.equal(outcome.leftAtSent, 0)
    await assertEndsWithoutReceipt(installation)
  },
)
