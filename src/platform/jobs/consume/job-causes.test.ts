import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type TestDatabase, testDatabase } from '../../../../test/database.ts'
import { makeLog } from '../../../log.ts'
import { Discard, type JobKind } from '../job-kind.ts'
import { startTestWorker, until } from '../job-testing.ts'
import { enqueue, enqueueAll, requestIdOf } from '../queue.ts'

type Line = { msg: string; request_id?: string; kind?: string }

const lines: Line[] = []
const log = makeLog('debug', { write: (text) => void lines.push(JSON.parse(text)) })
const usual = { concurrency: 4, leaseSeconds: 30, maxAttempts: 1 }

let db: TestDatabase
before(async () => {
  db = await testDatabase()
})

test('the log lines of a job, and of the jobs that it adds, carry the id of the request that caused them', async () => {
  let escaped: (() => void) | null = null
  const kinds: JobKind[] = [
    {
      kind: 'first',
      ...usual,
      run: async ({ payload }) => {
        log.info({ kind: 'first' }, 'at work')
        const { promise, resolve } = Promise.withResolvers<void>()
        // A connection that a job opened outlives it: its lines have another cause.
        void promise.then(() => log.info({ kind: 'first' }, 'later'))
        escaped = resolve
        await db.begin((tx) => enqueue(tx, 'second', { n: Object(payload).n }))
      },
    },
    {
      kind: 'second',
      ...usual,
      run: async () => {
        throw new Discard('no use')
      },
    },
  ]
  const worker = startTestWorker({ db, kinds, log })
  await db.begin(async (tx) => {
    tx.requestId = 'req_of_the_test'
    await enqueueAll(tx, 'first', [{ payload: { n: 1 } }])
  })
  await until('the second job failed', () => lines.some(({ msg }) => msg === 'jobs: job failed for good'))
  Object(escaped)()
  await until('the last line is written', () => lines.some(({ msg }) => msg === 'later'))
  const idOf = (text: string) => lines.find(({ msg }) => msg === text)?.request_id
  assert.equal(idOf('at work'), 'req_of_the_test')
  assert.equal(idOf('jobs: job failed for good'), 'req_of_the_test')
  assert.equal(idOf('later'), undefined)

  lines.length = 0
  await db.begin((tx) => enqueue(tx, 'second', { n: 2 }))
  await until('the job without a known cause failed', () => lines.some(({ kind }) => kind === 'second'))
  assert.deepEqual(
    lines.filter(({ request_id }) => request_id !== undefined),
    [],
  )
  await worker.stop()
  assert.equal(requestIdOf({ request_id: 7 }), null)
})
