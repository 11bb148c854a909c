import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { member } from '../../../../test/persons.ts'
import { until } from '../../../../test/platform.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { startWorker } from '../../../platform/jobs/consume/worker.ts'
import { makeInbox } from '../inbox-testing.ts'
import { bulkJob, purgeBulkChanges } from './jobs.ts'

// Changes of many conversations at once.

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { db, call, tenant, parts } = world
const inbox = makeInbox(world)
const work = () => startWorker({ db, log: parts.log, kinds: [bulkJob({ db })], schedules: [] })
let worker = work()
after(() => worker.stop(1_000))

let handsets = 0
const begin = async (who: Tenant): Promise<string> => {
  const number = `+4479113${String(20_000 + handsets++)}`
  return (await call(who, 'POST', '/open/conversations', { number })).body.conversation.uuid
}

const agents = async (who: Tenant) => [await member(world, who, 'agent'), await member(world, who, 'agent')] as const

test('the undoing of a bulk change leaves what was changed since, and is its author’s', async () => {
  const who = await tenant()
  const [ada, bob] = await agents(who)
  const uuids = [await begin(who), await begin(who), await begin(who), await begin(who)]
  const [assigned, ranked, closed, plain] = uuids
  const change = (uuid: string | undefined, body: object) => call(who, 'PATCH', `/open/conversations/${uuid}`, body)
  const states = async () => {
    const list = await inbox.conversations(who)
    return uuids.map((uuid) => {
      const { assignee_uuid, priority, status } = list.find((one) => one.uuid === uuid) ?? assert.fail()
      return [assignee_uuid, priority, status]
    })
  }
  const completed = async ({ status, body }: { status: number; body: { job_uuid: string } }) => {
    assert.equal(status, 202, JSON.stringify(body))
    return await until(async () => {
      const { job } = (await call(who, 'GET', `/open/conversations/bulk/${body.job_uuid}`)).body
      return job.state === 'completed' && body.job_uuid
    })
  }
  const job = await completed(
    await ada.call('POST', '/open/conversations/bulk', { uuids, change: { assignee_uuid: ada.user, priority: 1 } }),
  )
  assert.deepEqual(
    await states(),
    uuids.map(() => [ada.user, 1, 'open']),
  )
  await change(assigned, { assignee_uuid: bob.user })
  await change(ranked, { priority: 2 })
  await change(closed, { status: 'closed' })
  assert.equal((await bob.call('POST', `/open/conversations/bulk/${job}/undo`)).body.error_code, 'role')
  await completed(await ada.call('POST', `/open/conversations/bulk/${job}/undo`))
  assert.deepEqual(await states(), [
    [bob.user, 0, 'open'],
    [undefined, 2, 'open'],
    [undefined, 0, 'closed'],
    [undefined, 0, 'open'],
  ])
  assert.ok(plain)
})

test('1,200 conversations are closed by one act in seconds, also across a crash, and the act is undone', async () => {
  const who = await tenant()
  const [open, mine] = [await begin(who), await begin(who)]
  await db.run`
    insert into conversations (account_id, id, counterpart, name, status, last_at, last_item, last_kind, last_text,
      waiting_since, created_at)
    select account_id, gen_random_uuid(), '+4479112' || n, 'x', 'open', last_at, last_item, last_kind, '', last_at, created_at
    from conversations, generate_series(10001, 11198) n where account_id = ${who.id} and id = ${open.slice(3)}`
  const count = async (list: string) =>
    (
      await db.one<{ n: number }>`
      select count(*)::integer as n from conversations where account_id = ${who.id} and status = ${list}`
    ).n
  const waiting = await db.many`select id, waiting_since from conversations where account_id = ${who.id} order by id`
  const began = performance.now()
  const made = await call(who, 'POST', '/open/conversations/bulk', {
    query: { status: 'open' },
    change: { status: 'closed' },
  })
  assert.equal(made.status, 202, JSON.stringify(made.body))
  const { job_uuid } = made.body
  const jobOf = async (job: string) => (await call(who, 'GET', `/open/conversations/bulk/${job}`)).body.job
  // A crash: the job keeps its lease until that ends, and another worker takes it over.
  await until(async () => (await jobOf(job_uuid)).done >= 300)
  await worker.stop(0)
  worker = work()
  await db.run`update jobs set leased_until = now() - interval '1 second' where account_id = ${who.id}`
  await until(async () => (await jobOf(job_uuid)).state === 'completed')
  const took = performance.now() - began
  const job = await jobOf(job_uuid)
  assert.deepEqual([job.total, job.done, job.changed, await count('closed')], [1_200, 1_200, 1_200, 1_200])
  assert.ok(took < 30_000, `took ${took} ms`)
  const events = await db.many<{ payload: { done: number; state: string } }>`
    select payload from events where account_id = ${who.id} and name = 'conversation.bulk' order by id`
  assert.deepEqual(
    events.map(({ payload }) => payload.done),
    [...Array.from({ length: 12 }, (_, i) => (i + 1) * 100), 1_200],
  )
  // Somebody opens one meanwhile: it stays as it is.
  await call(who, 'PATCH', `/open/conversations/${mine}`, { status: 'snoozed', snoozed_till_reply: true })
  const undone = await call(who, 'POST', `/open/conversations/bulk/${job_uuid}/undo`)
  assert.equal(undone.status, 202, JSON.stringify(undone.body))
  await until(async () => (await jobOf(undone.body.job_uuid)).state === 'completed')
  assert.deepEqual([await count('open'), await count('snoozed')], [1_199, 1])
  const after = await db.many`select id, waiting_since from conversations where account_id = ${who.id} order by id`
  assert.deepEqual(after, waiting)
  const again = await call(who, 'POST', `/open/conversations/bulk/${job_uuid}/undo`)
  assert.deepEqual([again.status, again.body.error_code], [409, 'not_undoable'])
})

test('a bulk change of an agent leaves what another agent has by then, and so does its undoing', async () => {
  const who = await tenant()
  const [first, second, third] = [await begin(who), await begin(who), await begin(who)]
  const [ada, bob] = await agents(who)
  await call(who, 'PATCH', '/open/account', { agents_see_all: false })
  const give = (uuid: string, assignee_uuid: string | null) =>
    call(who, 'PATCH', `/open/conversations/${uuid}`, { assignee_uuid })
  const priorities = async () => {
    const list = await inbox.conversations(who)
    return [first, second, third].map((uuid) => list.find((one) => one.uuid === uuid)?.priority)
  }
  /** Asks while no worker runs, so that something happens between the request and its effect. */
  const during = async (url: string, body: object | undefined, between: () => Promise<unknown>) => {
    await worker.stop(1_000)
    const made = await ada.call('POST', url, body)
    assert.equal(made.status, 202, JSON.stringify(made.body))
    await between()
    worker = work()
    const path = `/open/conversations/bulk/${made.body.job_uuid}`
    return await until(async () => {
      const { job } = (await ada.call('GET', path)).body
      return job.state === 'completed' && { ...job, uuid: made.body.job_uuid }
    })
  }
  const change = { priority: 2 }
  const done = await during('/open/conversations/bulk', { uuids: [first, second], change }, () =>
    give(second, bob.user),
  )
  assert.deepEqual([done.total, done.changed, await priorities()], [2, 1, [2, 0, 0]])
  const byFilter = await during('/open/conversations/bulk', { query: {}, change: { priority: 1 } }, () =>
    give(third, bob.user),
  )
  assert.deepEqual([byFilter.changed, await priorities()], [1, [1, 0, 0]])
  await give(second, null)
  await give(third, null)
  const both = await during('/open/conversations/bulk', { query: {}, change }, async () => {})
  assert.deepEqual([both.changed, await priorities()], [3, [2, 2, 2]])
  const undone = await during(`/open/conversations/bulk/${both.uuid}/undo`, undefined, () => give(third, bob.user))
  assert.deepEqual([undone.changed, await priorities()], [2, [1, 0, 2]])
})

test('a bulk change with a misspelt filter is refused and changes nothing', async () => {
  const who = await tenant()
  await begin(who)
  for (const query of [{ asignee: 'none' }, { status: 'open', asignee: 'none' }]) {
    const refused = await call(who, 'POST', '/open/conversations/bulk', { query, change: { status: 'closed' } })
    assert.deepEqual([refused.status, refused.body.field], [400, '/query/asignee'])
  }
  assert.deepEqual(
    (await inbox.conversations(who)).map(({ status }) => status),
    ['open'],
  )
})

test('a change whose job is given up has failed, and old changes are deleted by the hundred', async () => {
  const who = await tenant()
  const uuids = [await begin(who)]
  await worker.stop(1_000)
  const change = { status: 'closed' }
  const { job_uuid } = (await call(who, 'POST', '/open/conversations/bulk', { uuids, change })).body
  // A fault of the data, and the last of its attempts.
  await db.run`update bulk_changes set change = '{"status": "no such status"}' where account_id = ${who.id}`
  await db.run`update jobs set attempts = 19 where account_id = ${who.id}`
  worker = work()
  const jobOf = async () => (await call(who, 'GET', `/open/conversations/bulk/${job_uuid}`)).body.job
  assert.equal((await until(async () => ((await jobOf()).state === 'running' ? null : await jobOf()))).state, 'failed')
  await db.run`
    insert into bulk_changes (account_id, id, is_narrowed, change, is_found, created_at)
    select ${who.id}, gen_random_uuid(), false, '{}', true, now() - interval '2 days' from generate_series(1, 300)`
  await db.begin((tx) => purgeBulkChanges.run(tx, new Date()))
  assert.equal((await db.many`select from bulk_changes where account_id = ${who.id}`).length, 1)
})
