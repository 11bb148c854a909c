import assert from 'node:assert/strict'
import { test } from 'node:test'
import pino from 'pino'
import { until } from '../../../test/platform.ts'
import { makeWorld } from '../../../test/world.ts'
import { startWorker } from '../../platform/jobs/consume/worker.ts'
import type { JobKind } from '../../platform/jobs/job-kind.ts'
import { enqueue } from '../../platform/jobs/queue.ts'
import { runDue } from '../../platform/jobs/schedule.ts'
import { uuid } from '../../platform/lib/id.ts'
import { deadJobRetention } from './jobs.ts'
import { maxDeadJobsPerKind } from './limits.ts'

const logged: { level: number; msg: string; kind?: string; jobs?: number }[] = []
const log = pino({ level: 'error' }, { write: (line) => void logged.push(JSON.parse(line)) })
const world = await makeWorld({}, {}, { log })
const { db, call } = world
const tenant = await world.tenant()
const stranger = await world.tenant()

const operate = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) =>
  call('operator', method, `/operator/dead-jobs${path}`, body)

/** Adds dead jobs, the newest last. @returns their printed ids */
const add = async (kind: string, number: number, { account = tenant.id, settled = false } = {}): Promise<string[]> => {
  const ids = Array.from({ length: number }, () => uuid())
  await db.run`
    insert into dead_jobs (id, account_id, kind, payload, run_at, fence, attempts, created_at, last_error, is_settled, died_at)
    select id, ${account}, ${kind}, '{"n": 1}', app_now(), 1, 3, app_now(), 'Error: away', ${settled},
      app_now() + make_interval(secs => n * 1e-6)
    from unnest(${ids}::uuid[]) with ordinality d (id, n)`
  return ids.map((id) => `DJB${id}`)
}

const idsOf = ({ body }: { body: { dead_jobs: { uuid: string }[] } }) => body.dead_jobs.map(({ uuid }) => uuid)

const actsOn = async (action: string) =>
  (await call('operator', 'GET', `/operator/audit?action=${action}`)).body.acts as {
    targets: string[]
    account_uuid?: string
    changes: { field: string; before?: unknown; after?: unknown }[]
  }[]

test('the list has each dead job once, newest first, and filters by kind and account', async () => {
  const own = await add('list.a', 3)
  const other = await add('list.a', 2, { account: stranger.id, settled: true })
  await add('list.b', 1)
  const seen: string[] = []
  for (let cursor = ''; ; ) {
    const page = await operate('GET', `?kind=list.a&results_per_page=2${cursor}`)
    assert.equal(page.status, 200, JSON.stringify(page.body))
    seen.push(...idsOf(page))
    if (page.body.next_cursor === undefined) break
    cursor = `&cursor=${page.body.next_cursor}`
  }
  assert.deepEqual(seen, [...own, ...other].toReversed())
  const [row] = (await operate('GET', `?kind=list.a&account_uuid=${stranger.uuid}`)).body.dead_jobs
  assert.deepEqual([row.kind, row.account_uuid, row.attempts], ['list.a', stranger.uuid, 3])
  assert.deepEqual([row.error, row.settled, row.payload], ['Error: away', true, '{"n": 1}'])
  assert.deepEqual(idsOf(await operate('GET', '?kind=list.none')), [])
  assert.equal((await operate('GET', `?account_uuid=ACC${uuid()}`)).status, 404)
})

test('a requeued job runs with all its attempts, and both acts are in the audit trail', async () => {
  let isWorking = false
  const ran: number[] = []
  const kind: JobKind = {
    kind: 'fixed',
    concurrency: 1,
    leaseSeconds: 30,
    maxAttempts: 1,
    run: async ({ attempt }) => {
      if (!isWorking) throw new Error('broken')
      ran.push(attempt)
    },
  }
  const worker = startWorker({ db, kinds: [kind], log })
  await db.begin((tx) => enqueue(tx, 'fixed', {}, { account: tenant.id }))
  const [job = ''] = await until(async () => {
    const found = idsOf(await operate('GET', '?kind=fixed'))
    return found.length > 0 && found
  })
  isWorking = true
  assert.equal((await operate('POST', `/${job}/requeue`)).status, 200)
  await until(async () => ran.length > 0)
  await worker.stop()
  assert.deepEqual(ran, [1])
  assert.equal((await operate('POST', `/${job}/requeue`)).status, 404)
  const [act] = await actsOn('requeueDeadJob')
  assert.deepEqual([act?.targets, act?.account_uuid], [[job], tenant.uuid])
  assert.deepEqual(act?.changes, [{ field: 'kind', after: 'fixed' }])
})

test('a job whose failure took effect is not requeued, alone or with its kind', async () => {
  const [job = ''] = await add('sms.submit', 1, { settled: true })
  const refused = await operate('POST', `/${job}/requeue`)
  assert.deepEqual([refused.status, refused.body.error_code], [409, 'job_settled'])
  const answer = await operate('POST', '/requeue', { kind: 'sms.submit' })
  assert.equal(answer.body.requeued, 0)
  assert.deepEqual(idsOf(await operate('GET', '?kind=sms.submit')), [job])
  assert.deepEqual(await db.many`select from jobs where kind = 'sms.submit'`, [])
})

test('all jobs of a kind are requeued or deleted, and those of other kinds stay', async () => {
  await add('all.a', 3)
  await add('all.b', 2)
  assert.equal((await operate('POST', '/requeue', { kind: 'all.a' })).body.requeued, 3)
  assert.equal((await db.many`select from jobs where kind = 'all.a' and attempts = 0`).length, 3)
  assert.equal(idsOf(await operate('GET', '?kind=all.b')).length, 2)
  assert.equal((await operate('DELETE', '?kind=all.b')).body.deleted, 2)
  assert.deepEqual(idsOf(await operate('GET', '?kind=all.b')), [])
  assert.equal((await db.many`select from jobs where kind = 'all.b'`).length, 0)
  const [requeued] = await actsOn('requeueDeadJobs')
  assert.deepEqual(requeued?.changes.map(({ field, after }) => [field, after]).sort(), [
    ['kind', 'all.a'],
    ['requeued', 3],
  ])
  assert.equal((await actsOn('deleteDeadJobs')).length, 1)
})

test('a deleted job is gone, and its neighbour stays', async () => {
  const [job = '', neighbour] = await add('deleted', 2)
  assert.equal((await operate('DELETE', `/${job}`)).status, 200)
  assert.deepEqual(idsOf(await operate('GET', '?kind=deleted')), [neighbour])
  assert.equal((await operate('DELETE', `/${job}`)).status, 404)
})

test('the table is bounded for each kind, and the loss of undone work is logged and counted', async () => {
  await add('flood', maxDeadJobsPerKind + 5)
  const [rare] = await add('rare', 1)
  await runDue(db, [deadJobRetention(world.parts)], log)
  const { n } = await db.one<{ n: number }>`select count(*)::integer as n from dead_jobs where kind = 'flood'`
  assert.equal(n, maxDeadJobsPerKind)
  assert.deepEqual(idsOf(await operate('GET', '?kind=rare')), [rare])
  assert.deepEqual(
    logged.map(({ msg, kind, jobs }) => [msg, kind, jobs]),
    [['jobs: dead jobs deleted, their work was not done', 'flood', 5]],
  )
  const { body } = await call(null, 'GET', '/metrics')
  assert.match(String(body), /^trunkline_dead_jobs_dropped_total\{kind="flood",reason="number",settled="false"\} 5$/m)
})
