import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../../../test/database.ts'
import { atEnd } from '../../../../test/endings.ts'
import { until } from '../../../../test/platform.ts'
import type { Db } from '../../db/sql.ts'
import { startWakeUps } from '../../db/wake-ups.ts'
import { errorLog } from '../job-testing.ts'
import { cancelJob } from '../ops.ts'
import { enqueue, requestPoll } from '../queue.ts'
import { startWorker } from './worker.ts'

// A worker that is woken by others, and polls nothing of its own accord.

const db = await testDatabase()
const wakeUps = startWakeUps({ url: db.url, db, log: { warn: () => {}, info: () => {} }, isTrusted: true })
atEnd(wakeUps.stop)
await until(async () => wakeUps.isListening())

let polls = 0
const counted: Db = {
  ...db,
  many: (text, ...values) => {
    if (text[0]?.includes('jobs_poll')) polls++
    return db.many(text, ...values)
  },
}
const ran = new Map<unknown, number>()
const kind = {
  kind: 'idle',
  concurrency: 4,
  leaseSeconds: 30,
  maxAttempts: 3,
  run: async ({ payload }: { payload: unknown }) => {
    ran.set((payload as { name: string }).name, Date.now())
  },
}
const worker = startWorker({ db: counted, kinds: [kind], log: errorLog, wakeUps })
atEnd(() => worker.stop(100))
const add = (name: string, options: { runAt?: Date; key?: string } = {}) =>
  db.begin((tx) => enqueue(tx, 'idle', { name }, options))
const hasRun = (name: string) => until(async () => ran.get(name))

test('a job starts when it is due, after one look and not after many', async () => {
  await add('first')
  await hasRun('first')
  const before = polls
  const runAt = new Date(Date.now() + 1_500)
  await add('later', { runAt })
  assert.ok((await hasRun('later')) >= runAt.getTime() - 1)
  assert.ok(polls - before <= 3, `${polls - before} polls`)
})

test('a job becomes due with the clock of the platform', async () => {
  await add('tomorrow', { runAt: new Date(Date.now() + 86_400_000) })
  await db.run`update clock set offset_seconds = offset_seconds + 90000`
  requestPoll()
  await hasRun('tomorrow')
})

test('a job runs once the job before it is cancelled', async () => {
  const first = await add('cancelled', { key: 'one', runAt: new Date(Date.now() + 864_000_000) })
  const second = await add('second', { key: 'one' })
  // One that is parked during the cancellation is found by the polls that this worker does without.
  await until(async () => (await db.one<{ parked: boolean }>`select parked from jobs where id = ${second}`).parked)
  await db.begin((tx) => cancelJob(tx, first))
  await hasRun('second')
  assert.equal(ran.has('cancelled'), false)
})
