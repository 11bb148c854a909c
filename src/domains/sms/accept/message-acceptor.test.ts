import assert from 'node:assert/strict'
import { test } from 'node:test'
import { segment } from '@trunkline/phone/segments.ts'
import { makeWorld } from '../../../../test/world.ts'
import { type LocalQueue, registerLocalQueue } from '../../../platform/jobs/consume/local-queue.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { type BatchJob, type BatchPayload, readBatchPayload } from '../batch.ts'
import { openMembers } from '../submit/batch-store.ts'
import { batchKind } from '../submit/message-slots.ts'
import { makeMessageAcceptor, type ValidatedMessage } from './message-acceptor.ts'

const { db, parts, tenant } = await makeWorld()
const { id: account } = await tenant({ balance: '0.14' })

const message = (text: string, changed: Partial<ValidatedMessage> = {}): ValidatedMessage => ({
  account,
  id: uuid(),
  channel: uuid(),
  number: '+447700900001',
  contact: '+447700900002',
  text,
  encoding: 'gsm7',
  fragments: 1,
  price: 40_000,
  sendAt: null,
  decision: uuid(),
  long: 'udh8',
  plan: { decision: parts.routing.decide('+447700900002', true), header: 'udh8', segments: segment(text) },
  ...changed,
})

/** A local queue that keeps what it is given. */
const makeQueue = (slots: number) => {
  const jobs: BatchJob[] = []
  const canceled: boolean[] = []
  const queue: LocalQueue = {
    worker: uuid(),
    leaseSeconds: 30,
    reserve: () => (slots-- > 0 ? { at: performance.now() } : null),
    // The acceptor commits jobs of this kind only.
    commit: (_, job) => void jobs.push(job as BatchJob),
    cancel: (_, isDoubtful) => void canceled.push(isDoubtful),
  }
  return { queue, jobs, canceled, close: registerLocalQueue(db, batchKind, queue) }
}

const makeAcceptor = () => {
  const woken: string[] = []
  return { woken, ...makeMessageAcceptor(db, parts.clock, true, (kind) => void woken.push(kind)) }
}

const jobsOf = (who: string) =>
  db.many<{ id: string; kind: string; payload: BatchPayload; owner: string | null; fence: number; attempts: number }>`
    select id, kind, payload, owner, fence, attempts from jobs where account_id = ${who} order by id`

test('messages due at once share one leased job, and reach this process exactly as they are stored', async () => {
  const { id: rich } = await tenant({ balance: '10' })
  const { queue, jobs, close } = makeQueue(1)
  const { accept, woken } = makeAcceptor()
  const all = [message('one “quoted” \\ text'), message('two', { long: 'udh16' }), message('three')].map((one) => ({
    ...one,
    account: rich,
  }))
  await Promise.all(all.map((one) => accept(one, null)))
  close()
  const [row, ...others] = await jobsOf(rich)
  const [job] = jobs
  assert.ok(row && job)
  assert.deepEqual([others, woken, jobs.length], [[], [], 1])
  const { members, ...payload } = job.payload
  assert.deepEqual(row, { id: job.id, kind: batchKind, payload, owner: queue.worker, fence: 1, attempts: 1 })
  assert.deepEqual(
    [...readBatchPayload(row.payload).keys()],
    all.map(({ id }) => id),
  )
  const stored = { account: rich, payload: row.payload, createdAt: job.createdAt }
  const [open] = await openMembers(db, [stored])
  assert.deepEqual(
    open,
    members?.map(({ plan, ...stored }) => stored),
  )
  assert.deepEqual(
    members?.map(({ plan }) => plan),
    all.map(({ plan }) => plan),
  )
  const transfers = await db.many`select amount::text, note from transfers where account_id = ${rich} and kind = 'sms'`
  assert.deepEqual(transfers, [{ amount: '0.120000', note: '3 sent' }])
})

test('each message of a batch is stored with its own number, price, segments and route, equal to those of others or not', async () => {
  const { id: rich } = await tenant({ balance: '10' })
  const { accept } = makeAcceptor()
  const common = { account: rich, channel: uuid(), decision: uuid() }
  const equal = ['one', 'two', 'three'].map((text) => message(text, common))
  const other = { number: '+447700900009', encoding: 'ucs2', fragments: 2, price: 0 } as const
  for (const batch of [equal, [message('four', common), message('five', { account: rich, ...other })]]) {
    await Promise.all(batch.map((one) => accept(one, null)))
    const stored = await db.many`
      select account_id as account, id, channel_id as channel, number, contact, text, encoding, fragments,
        (price * 1000000)::integer as price, decision_id as decision, transfer_id is not null as "isPaid"
      from sms_messages where id = any(${batch.map(({ id }) => id)}::uuid[]) order by id`
    assert.deepEqual(
      stored,
      batch.map(({ sendAt, long, plan, ...one }) => ({ ...one, isPaid: one.price > 0 })),
    )
  }
  // A batch that fails is repeated message by message.
  assert.equal((await jobsOf(rich)).length, 2)
})

test('messages of two accounts are accepted in one transaction, each account with its own batch and debit', async () => {
  const [{ id: ada }, { id: bob }] = [await tenant({ balance: '1' }), await tenant({ balance: '1' })]
  const { jobs, close } = makeQueue(2)
  const { accept, woken } = makeAcceptor()
  const all = [ada, bob, ada].map((account) => message('hello', { account }))
  await Promise.all(all.map((one) => accept(one, null)))
  close()
  assert.deepEqual(woken, [])
  for (const [account, count] of [
    [ada, 2],
    [bob, 1],
  ] as const) {
    const [row, ...others] = await jobsOf(account)
    assert.ok(row)
    assert.deepEqual(others, [])
    const expected = all.filter((one) => one.account === account).map(({ id }) => id)
    assert.deepEqual([...readBatchPayload(row.payload).keys()], expected)
    assert.equal(jobs.find(({ id }) => id === row.id)?.payload.members?.length, count)
    const { balance } = await db.one<{
      balance: string
    }>`select balance::text from balances where account_id = ${account}`
    assert.equal(balance, (1 - count * 0.04).toFixed(6))
  }
  const { times } = await db.one<{ times: number }>`
    select count(distinct xmin::text) as times from sms_messages where id = any(${all.map(({ id }) => id)}::uuid[])`
  assert.equal(times, 1)
})

test('a batch beyond the balance is decided message by message, and the others of the statement are not affected', async () => {
  const { id: rich } = await tenant({ balance: '1' })
  const { jobs, canceled, close } = makeQueue(2)
  const { accept, woken } = makeAcceptor()
  const all = [1, 2, 3, 4].map((n) => message(`poor ${n}`))
  const other = message('rich', { account: rich })
  const results = await Promise.allSettled([...all, other].map((one) => accept(one, null)))
  close()
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual([jobs.length, canceled, woken], [1, [false], ['submit']])
  assert.deepEqual(
    (await jobsOf(account)).map(({ id, kind }) => [id, kind]),
    all.slice(0, 3).map(({ id }) => [id, 'sms.submit']),
  )
})

test('a batch with contacts who opted out of its number, or of all, refuses their messages alone', async () => {
  const { id: rich } = await tenant({ balance: '1' })
  const [friend, gone, blocked] = ['+447700900002', '+447700900003', '+447700900004']
  await db.run`
    insert into sms_opt_outs (account_id, number, contact)
    values (${rich}, '+447700900001', ${gone}), (${rich}, '', ${blocked}), (${rich}, '+447700900009', ${friend})`
  const { accept } = makeAcceptor()
  const of = (text: string, to: string) => message(text, { account: rich, contact: to })
  const all = [of('a', friend), of('b', gone), of('c', blocked)]
  const results = await Promise.allSettled(all.map((one) => accept(one, null)))
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected'],
  )
})

test('a batch is not leased while older messages of its account wait for a claim; those of others do not matter', async () => {
  const [{ id: ada }, { id: bob }] = [await tenant({ balance: '1' }), await tenant({ balance: '1' })]
  const { accept, woken } = makeAcceptor()
  await accept(message('no worker is here', { account: ada }), null)
  const { jobs, canceled, close } = makeQueue(2)
  await accept(message('behind it', { account: ada }), null)
  await accept(message('of another account', { account: bob }), null)
  close()
  assert.deepEqual([woken, canceled], [['batch', 'batch'], [false]])
  assert.deepEqual(
    jobs.map(({ account }) => account),
    [bob],
  )
  assert.deepEqual(
    (await jobsOf(ada)).map(({ owner, fence }) => [owner, fence]),
    [
      [null, 0],
      [null, 0],
    ],
  )
})

test('a message with a send time has a job of its own from the start', async () => {
  const { id: rich } = await tenant({ balance: '1' })
  const { accept, woken } = makeAcceptor()
  const later = message('later', { account: rich, sendAt: new Date(parts.clock.now() + 86_400_000) })
  await accept(later, null)
  assert.deepEqual(
    [(await jobsOf(rich)).map(({ id, kind }) => [id, kind]), woken],
    [[[later.id, 'sms.submit']], ['submit']],
  )
})

test('a slot reserved for a failed statement is released', async () => {
  const { canceled, close } = makeQueue(1)
  const { accept } = makeAcceptor()
  await assert.rejects(accept(message('never', { channel: 'not a uuid' }), null))
  close()
  assert.deepEqual(canceled, [false])
})
