import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import type { Tenant } from '../../../../test/world.ts'
import type { Job } from '../../../platform/jobs/job-kind.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { acceptBatches } from '../accept/accepted-batch-store.ts'
import { type BatchJob, type BatchPayload, batchPayload, readBatchPayload } from '../batch.ts'
import { maxBatchAttempts, maxBatchMessages } from '../limits.ts'
import { giveNumber, makeSmsWorld, withSmscs } from '../sms-testing.ts'
import { makeBatchHandler } from './batch-handler.ts'
import { completeBatches, lockBatches, openMembers } from './batch-store.ts'
import { makeFairQueue } from './fair-queue.ts'
import { batchKind } from './message-slots.ts'
import { makePendingCommits } from './pending-commits.ts'
import { makeSendingWatch } from './sending-watch.ts'
import type { Submission } from './submit-handler.ts'

const world = await makeSmsWorld()
const { db, parts, tenant, send, waitForStatus, connect } = world
after(world.stop)

const jobsOf = (account: string) =>
  db.many<{ id: string; kind: string; payload: BatchPayload; fence: number; attempts: number; isLeased: boolean }>`
    select id, kind, payload, fence, attempts, leased_until is not null as "isLeased" from jobs
    where account_id = ${account} order by id`

const isIdle = (account: string) => until(async () => (await jobsOf(account)).length === 0)

/** Accepts messages in one batch, as a process does that dies after the commit; returns the batch and its messages. */
const acceptAndDie = async (
  who: Tenant,
  from: string,
  texts: readonly string[],
  { isLeased = true, contacts = [] }: { isLeased?: boolean; contacts?: readonly string[] } = {},
) => {
  const { id: channel } = await db.one<{ id: string }>`select id from sms_channels where account_id = ${who.id}`
  const messages = texts.map((text, i) => ({
    account: who.id,
    id: uuid(),
    channel,
    number: from,
    contact: contacts[i] ?? `+4479111234${10 + i}`,
    text,
    encoding: 'gsm7' as const,
    fragments: 1,
    price: 40_000,
    sendAt: null,
    decision: uuid(),
    long: 'udh8' as const,
  }))
  const id = uuid()
  const lease = { worker: uuid(), seconds: 3_600 }
  await acceptBatches(db, [{ id, account: who.id, messages, isLeased }], lease, true)
  return { id, messages }
}

/** Lets the lease of a dead process end. */
const expire = (id: string) => db.run`update jobs set leased_until = '2000-01-01' where id = ${id}`

const statuses = async (who: Tenant) =>
  (await db.many<{ status: string }>`select status from sms_messages where account_id = ${who.id} order by id`).map(
    ({ status }) => status,
  )

const eventsOf = async (who: Tenant) =>
  (
    await db.one<{ count: number }>`
    select count(*) as count from events where account_id = ${who.id} and name = 'sms.message.sent'`
  ).count

const balanceOf = async (who: Tenant) =>
  (await db.one<{ balance: string }>`select balance::text from balances where account_id = ${who.id}`).balance

test(
  'messages accepted together are sent by one job that is never claimed, and leave nothing behind',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { window: 100 })
    const who = await tenant({ balance: '10' })
    const { number } = await giveNumber(world, who)
    const seen: Awaited<ReturnType<typeof jobsOf>> = []
    smsc.react = () => {
      void jobsOf(who.id).then((rows) => seen.push(...rows))
      return 'take'
    }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => send(who, number, `text ${i}`, { to: `+4479111234${10 + i}` })),
    )
    for (const { body } of answers) await waitForStatus(who, body.message_uuid, 'sent')
    await isIdle(who.id)
    assert.ok(seen.every(({ kind, attempts, fence }) => kind === batchKind && attempts === 1 && fence === 1))
    assert.equal(smsc.submits.length, 20)
    assert.deepEqual([await eventsOf(who), await balanceOf(who)], [20, '9.200000'])
  }),
)

test(
  'after a crash, a batch continues with the messages whose status says that they are not sent',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { window: 100 })
    const who = await tenant({ balance: '10' })
    const { number } = await giveNumber(world, who)
    const { id, messages } = await acceptAndDie(who, number, ['one', 'two', 'three'])
    const [first] = messages
    assert.ok(first)
    const taken = { part: 1, connection: uuid(), carrierId: 'before the crash' }
    const batch = { id, fence: 1 }
    await completeBatches(db, [{ id: first.id, account: who.id, batch, taken }], () => false)
    await expire(id)
    await isIdle(who.id)
    assert.deepEqual(smsc.submits.map(({ text }) => text).sort(), ['three', 'two'])
    assert.deepEqual(await statuses(who), ['sent', 'sent', 'sent'])
    assert.deepEqual([await eventsOf(who), await balanceOf(who)], [3, '9.880000'])
  }),
)

test(
  'the largest batch continues after a crash too',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { window: 100 })
    const who = await tenant({ balance: '10' })
    const { number } = await giveNumber(world, who)
    const texts = Array.from({ length: maxBatchMessages }, (_, i) => `text ${i}`)
    const { id } = await acceptAndDie(who, number, texts)
    await expire(id)
    await isIdle(who.id)
    assert.deepEqual(new Set(smsc.submits.map(({ text }) => text)), new Set(texts))
    assert.deepEqual(new Set(await statuses(who)), new Set(['sent']))
    assert.deepEqual([await eventsOf(who), await balanceOf(who)], [128, '4.880000'])
  }),
)

test('what an account submits later waits while an older batch of it, which was claimed, is read', async () => {
  const who = await tenant({ balance: '10' })
  const { number } = await giveNumber(world, who)
  const [older, younger] = [await acceptAndDie(who, number, ['1']), await acceptAndDie(who, number, ['2'])]
  const submitted: string[] = []
  const handler = makeBatchHandler({
    db,
    queue: makeFairQueue(() => 100),
    pendingCommits: makePendingCommits(() => {}),
    sendings: makeSendingWatch(parts),
    submit: async ({ payload }) => {
      submitted.push(payload.text)
      return { outcome: 'sent', taken: [], mayBeStored: false }
    },
    wake: () => {},
    storeOutcomes: async () => {},
  })
  const jobOf = ({ id, messages }: typeof older): BatchJob => {
    const now = new Date()
    const payload = batchPayload(messages)
    return { id, account: who.id, kind: batchKind, key: null, payload, runAt: now, createdAt: now, attempt: 1 }
  }
  const members = younger.messages.map((one) => ({
    id: one.id,
    payload: { from: one.number, to: one.contact, text: '2' },
  }))
  const own: Job<Submission> = {
    ...jobOf(older),
    id: uuid(),
    payload: { from: number, to: '+447911123499', text: '3' },
  }
  const { signal } = new AbortController()
  const runs: Promise<unknown>[] = []
  await db.begin(async (tx) => {
    await tx.run`lock table sms_messages in access exclusive mode`
    runs.push(handler.runBatch(jobOf(older), signal, 1))
    const local = jobOf(younger)
    runs.push(handler.runBatch({ ...local, payload: { ...local.payload, members } }, signal, 1))
    runs.push(handler.runSingle(own, signal, 1))
    await until(
      async () =>
        (await db.maybe`select from pg_locks where not granted and relation = 'sms_messages'::regclass and database =
          (select oid from pg_database where datname = current_database())`) !== null,
    )
    assert.deepEqual(submitted, [])
  })
  await Promise.all(runs)
  assert.deepEqual(submitted, ['1', '2', '3'])
})

test(
  'a process that lost the lease of a batch changes nothing: neither a status, nor money, nor jobs',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    const who = await tenant({ balance: '10' })
    const { number } = await giveNumber(world, who)
    const { id, messages } = await acceptAndDie(who, number, ['one', 'two'])
    const sent = messages.map((message) => ({ id: message.id, account: who.id, taken: null }))
    await db.run`update jobs set fence = 2 where id = ${id}`
    const stale = { id, fence: 1 }
    for (const isFinal of [true, false]) {
      const held = await completeBatches(
        db,
        sent.map((one) => ({ ...one, batch: stale })),
        () => isFinal,
      )
      assert.deepEqual([...held], [])
    }
    assert.deepEqual([...(await db.begin((tx) => lockBatches(tx, [stale])))], [])
    assert.deepEqual([await statuses(who), await eventsOf(who)], [['queued', 'queued'], 0])
    assert.deepEqual(
      (await jobsOf(who.id)).map((job) => job.id),
      [id],
    )
    // The new holder has both.
    await connect('only', smsc, { window: 100 })
    await expire(id)
    await isIdle(who.id)
    assert.equal(smsc.submits.length, 2)
    assert.equal(await eventsOf(who), 2)
  }),
)

test(
  'a message that must be retried leaves its batch for a job of its own, and the others are not delayed',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    const slow = '+447911123499'
    const who = await tenant({ balance: '10' })
    const { number } = await giveNumber(world, who)
    await connect('only', smsc, { window: 100, prefixes: ['44'] })
    await connect('absent', smsc, { window: 100, prefixes: ['33'] }).then((id) =>
      world.change(id, { settings: { port: 1 } }),
    )
    const away = '+33612345678'
    const { id, messages } = await acceptAndDie(who, number, ['waits', 'goes'], { contacts: [away, slow] })
    const [waits, goes] = messages
    await expire(id)
    await waitForStatus(who, `SMO${goes?.id}`, 'sent')
    const own = await until(async () => {
      const rows = await jobsOf(who.id)
      return rows.length === 1 && rows[0]?.kind === 'sms.submit' ? rows[0] : undefined
    })
    assert.equal(own.id, waits?.id)
    assert.deepEqual(own.payload, { from: number, to: away, text: 'waits' })
    await until(() => db.run`delete from jobs where id = ${own.id} and leased_until is null`)
  }),
)

test(
  'a message that fails in a batch is refunded once, and its batch ends',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { window: 100 })
    smsc.react = ({ text }) => (text === 'bad' ? 11 : 'take')
    const who = await tenant({ balance: '10' })
    const { number } = await giveNumber(world, who)
    const answers = await Promise.all(
      ['good', 'bad', 'fine'].map((text, i) => send(who, number, text, { to: `+4479111234${10 + i}` })),
    )
    const [good, bad, fine] = answers.map(({ body }) => body.message_uuid)
    await waitForStatus(who, bad, 'failed')
    await waitForStatus(who, good, 'sent')
    await waitForStatus(who, fine, 'sent')
    await isIdle(who.id)
    assert.equal(await balanceOf(who), '9.920000')
  }),
)

test(
  'a batch that was lost several times is divided, so that one message cannot hold up the others',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    const who = await tenant({ balance: '10' })
    const { number } = await giveNumber(world, who)
    const { id, messages } = await acceptAndDie(who, number, ['one', 'two'])
    await db.run`update jobs set attempts = ${maxBatchAttempts - 1} where id = ${id}`
    await connect('only', smsc, { window: 100 })
    const kinds: string[] = []
    smsc.react = () => {
      void jobsOf(who.id).then((rows) => kinds.push(...rows.map(({ kind }) => kind)))
      return 'take'
    }
    await expire(id)
    await isIdle(who.id)
    assert.ok(!kinds.includes(batchKind), 'each message had a job of its own')
    assert.equal(smsc.submits.length, messages.length)
  }),
)

test(
  'a batch that no worker leased at once is claimed, and its messages keep their segmentation',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { window: 100 })
    const who = await tenant({ balance: '10' })
    const { number } = await giveNumber(world, who)
    await acceptAndDie(who, number, ['one', 'two'], { isLeased: false })
    await isIdle(who.id)
    assert.deepEqual(smsc.submits.map(({ text }) => text).sort(), ['one', 'two'])
  }),
)

test(
  'a quiet account’s message is submitted among the next two, however many a greedy account has waiting',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { window: 1 })
    const [greedy, quiet] = [await tenant({ balance: '10' }), await tenant({ balance: '10' })]
    const { number: loud } = await giveNumber(world, greedy)
    const { number: calm } = await giveNumber(world, quiet)
    const to = (i: number) => `+4479111234${10 + i}`
    const answers = await db.begin(async (tx) => {
      // The first message cannot be recorded, and keeps the window until then.
      await tx.run`lock table sms_parts in exclusive mode`
      const texts = Array.from({ length: 30 }, (_, i) => send(greedy, loud, `greedy ${i}`, { to: to(i) }))
      const accepted = await Promise.all(texts)
      await until(async () => smsc.submits.length === 1)
      return [...accepted, await send(quiet, calm, 'quiet', { to: to(40) })]
    })
    for (const { body } of answers.slice(0, -1)) await waitForStatus(greedy, body.message_uuid, 'sent')
    const place = smsc.submits.findIndex(({ text }) => text === 'quiet')
    assert.ok(place === 1 || place === 2, `submitted as number ${place + 1}`)
    await isIdle(greedy.id)
    await isIdle(quiet.id)
  }),
)

test('messages of a batch that have jobs of their own are not submitted with it', async () => {
  const who = await tenant({ balance: '10' })
  const { number } = await giveNumber(world, who)
  const { id, messages } = await acceptAndDie(who, number, ['one', 'two'])
  const [one, two] = messages
  assert.ok(one && two)
  await db.run`
    insert into jobs (id, account_id, kind, run_at) values (${one.id}, ${who.id}, 'sms.submit', 'infinity')`
  const [job] = await db.many<{ payload: BatchPayload }>`select payload from jobs where id = ${id}`
  assert.ok(job)
  const [open] = await openMembers(db, [{ account: who.id, payload: job.payload, createdAt: new Date() }])
  assert.deepEqual(
    open?.map((member) => member.id),
    [two.id],
  )
  await db.run`delete from jobs where account_id = ${who.id}`
})

test(
  'jobs of the form before batches, leased or waiting, are submitted after an upgrade',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { window: 100 })
    await world.stop()
    const who = await tenant({ balance: '10' })
    const { number } = await giveNumber(world, who)
    const { id, messages } = await acceptAndDie(who, number, ['leased', 'waiting'])
    await db.run`delete from jobs where id = ${id}`
    for (const message of messages)
      await db.run`
        insert into jobs (id, account_id, kind, payload, run_at, created_at, leased_until, owner, fence, attempts)
        select ${message.id}, ${who.id}, 'sms.submit',
          ${{ from: number, to: message.contact, text: message.text }}::jsonb, app_now(), app_now(),
          case when n = 1 then timestamptz '2000-01-01' end, case when n = 1 then gen_random_uuid() end, n, n
        from (select ${message.text === 'leased' ? 1 : 0}::integer as n) x`
    await world.start()
    await isIdle(who.id)
    assert.deepEqual(smsc.submits.map(({ text }) => text).sort(), ['leased', 'waiting'])
    assert.deepEqual([await statuses(who), await eventsOf(who)], [['sent', 'sent'], 2])
  }),
)

test(
  'a stop gives waiting batches back at once, and the next worker submits their messages',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { window: 1, response_seconds: 300 })
    smsc.react = (_, count) => (count === 1 ? 'mute' : 'take')
    const who = await tenant({ balance: '10' })
    const { number } = await giveNumber(world, who)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => send(who, number, `text ${i}`, { to: `+4479111234${10 + i}` })),
    )
    await until(async () => smsc.submits.length === 1)
    assert.equal((await jobsOf(who.id)).filter(({ isLeased }) => isLeased).length > 0, true)
    await world.stop()
    assert.deepEqual(
      (await jobsOf(who.id)).filter(({ isLeased }) => isLeased),
      [],
    )
    await world.start()
    for (const { body } of answers) await waitForStatus(who, body.message_uuid, 'sent')
    await isIdle(who.id)
    assert.equal(new Set(smsc.submits.map(({ text }) => text)).size, 10)
    assert.ok(smsc.submits.length <= 11, 'only the unanswered submit is repeated')
    assert.equal(await balanceOf(who), '9.600000')
  }),
)

test('the payload of a batch holds its ids and, if any differs, the segmentations', () => {
  const messages = [
    { id: `00${uuid().slice(2)}`, long: 'udh8' as const },
    { id: `ff${uuid().slice(2)}`, long: 'udh16+1.0' as const },
  ]
  const read = (payload: BatchPayload) => [...readBatchPayload(payload)].map(([id, long]) => ({ id, long }))
  assert.deepEqual(read(batchPayload(messages)), messages)
  assert.deepEqual(read(batchPayload(messages.slice(0, 1))), messages.slice(0, 1))
  assert.equal(batchPayload(messages.slice(0, 1)).long, undefined)
})
