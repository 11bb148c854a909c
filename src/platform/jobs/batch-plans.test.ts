import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEachPostgres, type TestDatabase } from '../../../test/database.ts'
import { connect } from '../db/sql.ts'
import { uuid } from '../lib/id.ts'
import { enqueueAll } from './queue.ts'
import { completeAndClaim, extendLeases, moveToDeadLetter, reschedule } from './store.ts'

const [waiting, batch] = [2_000, 40]
const account = uuid()

onEachPostgres((database) => {
  let db: TestDatabase
  before(async () => {
    db = await database()
  })

  test('a batch reads a few rows of a long queue, also with plans made after autovacuum found the queue empty', async () => {
    const add = () =>
      db.begin((tx) =>
        enqueueAll(
          tx,
          'planned',
          Array.from({ length: waiting }, (_, n) => ({ payload: {}, account, key: `key ${n % (waiting / 2)}` })),
        ),
      )
    await add()
    await db.raw('delete from jobs')
    // The pages stay: with them, the planner takes the queue for empty, however many rows it has by then.
    await db.raw('vacuum analyze jobs')
    await add()

    const session = connect({ url: db.url, connections: 1 })
    const claim = { kind: 'planned', count: batch, worker: uuid(), leaseSeconds: 30, after: null }
    const none = { ...claim, count: 0 }
    /** Asserts that the work fetches at most 20 rows for each job of the batch. */
    const isCheap = (what: string, work: Parameters<typeof session.begin<void>>[0]) =>
      session.begin(async (tx) => {
        const fetched = async () =>
          (
            await tx.one<{ rows: number }>`
              select idx_tup_fetch + seq_tup_read as rows from pg_stat_xact_user_tables where relname = 'jobs'`
          ).rows
        const start = await fetched()
        await work(tx)
        const rows = (await fetched()) - start
        assert.ok(rows <= batch * 20, `${what} fetched ${rows} rows for ${batch} jobs`)
      })
    try {
      for (const round of [1, 2]) {
        const { claimed } = await completeAndClaim(session, [], claim)
        assert.equal(claimed.length, batch, `round ${round}`)
        const again = { seconds: 0, error: null, counted: false, waitsFor: null }
        await isCheap('an extension', async (tx) => {
          await extendLeases(
            tx,
            claimed.map((one) => ({ ...one, leaseSeconds: 30 })),
          )
        })
        await isCheap('a rescheduling', async (tx) => {
          const ids = await reschedule(
            tx,
            claimed.map((one) => ({ ...one, ...again })),
          )
          assert.equal(ids.size, batch)
        })
        const second = await completeAndClaim(session, [], claim)
        await isCheap('an end', async (tx) => {
          const { ended } = await completeAndClaim(tx, second.claimed.slice(1), none)
          assert.equal(ended.size, batch - 1)
        })
        await isCheap('a claim', async (tx) => {
          await completeAndClaim(tx, [], claim)
        })
        await isCheap('a dead letter', async (tx) => {
          const dead = await moveToDeadLetter(
            tx,
            second.claimed.slice(0, 1).map((one) => ({ ...one, error: 'broken' })),
            false,
          )
          assert.equal(dead.size, 1)
        })
      }
    } finally {
      await session.end()
    }
  })
})
