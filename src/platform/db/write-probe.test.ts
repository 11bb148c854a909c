import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TestDatabase, testDatabase } from '../../../test/database.ts'
import type { Db } from './sql.ts'
import { unavailabilityOf } from './unavailability.ts'
import { makeWriteProbe } from './write-probe.ts'

const writtenAt = async (db: TestDatabase) =>
  (await db.maybe<{ at: string }>`select written_at::text as at from write_probe`)?.at ?? null

test('all askers share one write a second, and without an asker there is none', async () => {
  const db = await testDatabase()
  let [at, writes] = [0, 0]
  const dedicated: Db['dedicated'] = (milliseconds) => {
    const own = db.dedicated(milliseconds)
    const begin: Db['begin'] = (work) => {
      writes++
      return own.begin(work)
    }
    return { ...own, begin }
  }
  const probe = makeWriteProbe({ ...db, dedicated }, null, { now: () => at })
  assert.equal(await writtenAt(db), null)
  const answers = await Promise.all([1, 2, 3].map(() => probe.check()))
  const first = await writtenAt(db)
  assert.ok(answers.every(({ migrations }) => migrations > 0) && first !== null)
  at += 999
  await probe.check()
  assert.deepEqual([await writtenAt(db), writes], [first, 1])
  at += 1
  await probe.check()
  assert.notEqual(await writtenAt(db), first)
  await probe.end()
})

test('where writes hang, the answer comes within the timeout, and the next write proves the end', async () => {
  const db = await testDatabase()
  const noted: unknown[] = []
  const outage = { failed: (error: unknown) => noted.push(error), answered: () => {}, isKnown: () => false }
  const probe = makeWriteProbe(db, { ...outage, proveWritesBy: () => {} }, { freshMs: 0, timeoutMs: 100 })
  await db.begin(async (tx) => {
    await tx.run`lock table write_probe in exclusive mode`
    await assert.rejects(probe.check(), /stored no write within 100 ms/)
  })
  assert.deepEqual(noted.map(unavailabilityOf).includes('no-writes'), true)
  // Its connection is ready again once the statement was given up.
  for (let attempt = 0; ; attempt++)
    try {
      await probe.check()
      break
    } catch (error) {
      if (attempt > 100) throw error
    }
  await probe.end()
})

test('a role that may not create temporary tables proves its writes without one', async () => {
  const db = await testDatabase()
  await db.raw(
    `do $$ begin execute format('revoke temporary on database %I from public, current_user', current_database()); end $$`,
  )
  await assert.rejects(db.raw('create temporary table refused ()'), { code: '42501' })
  const probe = makeWriteProbe(db)
  assert.ok((await probe.check()).migrations > 0)
  assert.notEqual(await writtenAt(db), null)
  await probe.end()
})
