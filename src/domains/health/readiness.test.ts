import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { makeWorld } from '../../../test/world.ts'

test('a process whose clock differs from the database shows it in /readyz', async () => {
  const differing = await makeWorld({}, {}, { clockSkewSeconds: () => -7.5 })
  const { status, body } = await differing.call(null, 'GET', '/readyz')
  assert.deepEqual([status, body.clock_skew_seconds], [200, -7.5])
})

test('/readyz answers 503 within its timeout where writes hang, and 200 after that, without a restart', async () => {
  const { db, call } = await makeWorld()
  const ask = async () => {
    const { status, body } = await call(null, 'GET', '/readyz')
    return [status, body.error_code]
  }
  await db.begin(async (tx) => {
    await tx.run`lock table write_probe in exclusive mode`
    assert.deepEqual(await ask(), [503, 'database_hangs'])
  })
  await until(async () => (await ask())[0] === 200)
})
