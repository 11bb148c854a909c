import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import type { Tenant } from '../../../../test/world.ts'
import { startWorker } from '../../../platform/jobs/consume/worker.ts'
import { smsJobs } from '../jobs.ts'
import { maxBatchMessages } from '../limits.ts'
import { cancelScheduled } from '../ops.ts'
import { giveNumber, makeSmsWorld, type Smsc, withSmscs } from '../sms-testing.ts'
import { completeSendings } from './complete-sendings.ts'
import { isWaiting } from './store.ts'

const world = await makeSmsWorld()
const { call, db, parts, tenant, connect, send } = world
after(world.stop)

let next = 0
/** Numbers to which nothing else is sent. */
const numbers = (count: number) => Array.from({ length: count }, () => `+4479${String(20_000_000 + next++)}`)

type Sending = { state: string; counts: Record<string, number>; accepted: number }

const makeSender = async (balance = '100') => {
  const who = await tenant({ balance })
  return { who, ...(await giveNumber(world, who)) }
}

/** Sends one text to new numbers. */
const start = async ({ who, number }: { who: Tenant; number: string }, count: number) => {
  const body = { from_number: number, text: 'Hello', to_numbers: numbers(count) }
  const answer = await call(who, 'POST', '/open/sms/send-many', body)
  assert.equal(answer.status, 202)
  const path = `/open/sms/sendings/${answer.body.sending_uuid}`
  return {
    uuid: answer.body.sending_uuid as string,
    to: body.to_numbers,
    messages: answer.body.messages.map((one: { message_uuid: string }) => one.message_uuid) as string[],
    act: async (name: 'pause' | 'resume' | 'cancel') => await call(who, 'POST', `${path}/${name}`),
    read: async (): Promise<Sending> => (await call(who, 'GET', path)).body.sending,
  }
}

const balanceOf = async (who: Tenant) =>
  Number((await db.one<{ balance: string }>`select balance from balances where account_id = ${who.id}`).balance)

const hasNoJobs = (who: Tenant) =>
  until(async () => (await db.many`select 1 from jobs where account_id = ${who.id}`).length === 0)

/** Makes a carrier answer no submit until the returned function is called. */
const block = (smsc: Smsc) => {
  smsc.react = () => 'mute'
  return () => {
    smsc.react = () => 'take'
  }
}

test(
  'a sending is submitted, each message once, with its events and receipts, and is completed',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { window: 100 })
    const sender = await makeSender()
    const { who, number } = sender
    const { to, read, uuid } = await start(sender, 300)
    await until(async () => (await read()).counts.sent === 300)
    assert.deepEqual(smsc.submits.map(({ destination }) => destination).sort(), to.toSorted())
    for (const { id, destination } of smsc.submits) smsc.receipt(id, 'DELIVRD', destination, number)
    await until(async () => (await read()).counts.delivered === 300)
    assert.equal((await read()).state, 'completed')
    const events = await db.many`
      select name, count(*)::integer as count from events
      where account_id = ${who.id} and payload ->> 'sending_uuid' = ${uuid} group by name order by name`
    assert.deepEqual(events, [
      { name: 'sms.message.delivered', count: 300 },
      { name: 'sms.message.sent', count: 300 },
    ])
    await hasNoJobs(who)
    await db.begin((tx) => completeSendings().run(tx, new Date()))
    const listed = (await call(who, 'GET', '/open/sms/sendings')).body.sendings
    assert.deepEqual([listed[0].state, listed[0].accepted], ['completed', 300])
  }),
)

test(
  'a paused sending holds what is not submitted, over restarts; resumed it goes on, and canceled it refunds the rest',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { window: 4 })
    const sender = await makeSender()
    const { who } = sender
    const size = maxBatchMessages * 3
    // Answers come only for as many submits as are allowed.
    let allowed = 10
    smsc.react = () => (allowed-- > 0 ? 'take' : 'mute')
    const { act, read, messages, uuid } = await start(sender, size)
    await until(async () => smsc.submits.length >= 14)
    const paused = await act('pause')
    assert.deepEqual([paused.status, paused.body.sending.state], [200, 'paused'])
    assert.equal((await act('pause')).status, 200)
    // The submits without an answer end with the links.
    allowed = Number.POSITIVE_INFINITY
    smsc.cut()
    await world.stop()
    const submitted = new Set(smsc.submits.map(({ destination }) => destination)).size
    assert.ok(submitted < 30, `${submitted} were submitted`)
    await world.start()
    await until(async () => parts.carriers.isAnyUp())
    // A message that is sent now proves that the worker works.
    const { body } = await send(who, sender.number, 'Single')
    await world.waitForStatus(who, body.message_uuid, 'sent')
    const held = await read()
    assert.equal(held.state, 'paused')
    const waiting = (held.counts.queued ?? 0) + (held.counts.sending ?? 0)
    assert.ok(waiting >= size - 30, `${waiting} wait`)
    assert.ok(new Set(smsc.submits.map(({ destination }) => destination)).size <= submitted + 1)

    const before = smsc.submits.length
    let more = 20
    smsc.react = () => (more-- > 0 ? 'take' : 'mute')
    assert.equal((await act('resume')).body.sending.state, 'running')
    await until(async () => smsc.submits.length >= before + 24)
    const canceled = await act('cancel')
    assert.deepEqual([canceled.status, canceled.body.sending.state], [200, 'canceled'])
    more = Number.POSITIVE_INFINITY
    smsc.cut()
    await world.stop()
    await world.start()
    await hasNoJobs(who)
    const { counts } = await read()
    assert.equal((counts.sent ?? 0) + (counts.canceled ?? 0), size)
    assert.ok((counts.canceled ?? 0) >= size - 70, `${counts.canceled} are canceled`)
    // The single message was charged too.
    assert.equal(await balanceOf(who), Number((100 - 0.04 * ((counts.sent ?? 0) + 1)).toFixed(6)))
    const failed = await db.one<{ count: number }>`
      select count(*)::integer as count from events where account_id = ${who.id} and name = 'sms.message.failed'
        and payload ->> 'sending_uuid' = ${uuid}`
    assert.equal(failed.count, counts.canceled)
    const statuses = new Set(
      (
        await db.many<{ status: string }>`
      select status from sms_messages where account_id = ${who.id}`
      ).map(({ status }) => status),
    )
    assert.deepEqual(statuses, new Set(['sent', 'canceled']))
    assert.equal(messages.length, size)
    const again = [await act('cancel'), await act('pause'), await act('resume')].map(({ status }) => status)
    assert.deepEqual(again, [200, 409, 409])
  }),
)

test('a sending that no worker has begun is paused, resumed and canceled at once, with one refund for each message', async () => {
  const sender = await makeSender()
  const { who } = sender
  await world.stop()
  const { act, read, messages } = await start(sender, 300)
  await act('pause')
  const jobs = () => db.many<{ due: boolean }>`
    select run_at <= app_now() as due from jobs where account_id = ${who.id} and kind = 'sms.batch'`
  assert.deepEqual(new Set((await jobs()).map(({ due }) => due)), new Set([false]))
  await act('resume')
  assert.deepEqual(new Set((await jobs()).map(({ due }) => due)), new Set([true]))
  await act('pause')
  assert.equal((await act('cancel')).body.sending.counts.canceled, 300)
  assert.deepEqual([await balanceOf(who), (await jobs()).length], [100, 0])
  const refunds = await db.one<{ count: number; sum: string }>`
    select count(*)::integer as count, sum(amount)::text as sum from transfers
    where account_id = ${who.id} and kind = 'sms_refund'`
  assert.deepEqual(refunds, { count: 300, sum: '12.000000' })
  const timeline = (await call(who, 'GET', `/open/sms/message/${messages[7]}/timeline`)).body
  assert.match(JSON.stringify(timeline), /refunded/)
  assert.equal((await read()).state, 'canceled')
  await world.start()
})

for (const act of ['pause', 'cancel'] as const)
  test(
    `a batch that a dead process had claimed is ${act === 'pause' ? 'held' : 'canceled and refunded'} once its lease ends`,
    withSmscs(world, 1, async ([smsc]) => {
      assert.ok(smsc)
      await connect('only', smsc, { window: 100 })
      const sender = await makeSender()
      const { who, number } = sender
      await world.stop()
      const sending = await start(sender, 20)
      await db.run`
        update jobs set leased_until = now() + interval '1 hour', owner = ${randomUUID()}, fence = 1, attempts = 1
        where account_id = ${who.id}`
      const { counts } = (await sending.act(act)).body.sending
      assert.equal(counts.queued, 20)
      await db.run`update jobs set leased_until = '2000-01-01' where account_id = ${who.id}`
      await world.start()
      await until(async () => parts.carriers.isAnyUp())
      await until(async () => {
        const { attempts } = await db.one<{ attempts: number }>`
          select coalesce(max(attempts + fence), 9) as attempts from jobs where account_id = ${who.id}`
        return attempts > 2 || attempts === 9
      })
      const { body } = await send(who, number, 'Single')
      await world.waitForStatus(who, body.message_uuid, 'sent')
      assert.deepEqual(
        smsc.submits.map(({ text }) => text),
        ['Single'],
      )
      const expected = act === 'pause' ? 'queued' : 'canceled'
      await until(async () => (await sending.read()).counts[expected] === 20)
      if (act === 'cancel') {
        await hasNoJobs(who)
        assert.equal(await balanceOf(who), 99.96)
        return
      }
      await sending.act('resume')
      await until(async () => (await sending.read()).counts.sent === 20)
    }),
  )

test('a held message does not hold back later ones of its pair, and closing the account cancels the sending', async () => {
  const sender = await makeSender('1')
  const { who } = sender
  await world.stop()
  const { act, messages } = await start(sender, 5)
  const id = messages[0]?.slice(3) ?? ''
  // The message has left its batch for a retry.
  await db.run`
    insert into jobs (id, account_id, kind, payload, run_at, created_at)
    values (${id}, ${who.id}, 'sms.submit', ${{ from: '', to: '', text: '' }}::jsonb, app_now(), app_now())`
  assert.equal(await isWaiting(db, id), true)
  await act('pause')
  assert.equal(await isWaiting(db, id), false)
  await act('resume')
  assert.equal(await isWaiting(db, id), true)
  await act('pause')
  // As the closing of an account does.
  assert.equal(await db.begin((tx) => cancelScheduled(tx, who.id)), 5)
  const { count } = await db.one<{ count: number }>`
    select count(*)::integer as count from sms_messages where account_id = ${who.id} and status = 'canceled'`
  assert.equal(count, 5)
  const { state } = await db.one<{ state: string }>`select state from sms_sendings where account_id = ${who.id}`
  assert.equal(state, 'canceled')
  await world.start()
})

test('corrections of the charge leave that much less to refund', async () => {
  const sender = await makeSender('1')
  const { who } = sender
  await world.stop()
  const { act } = await start(sender, 10)
  const ledger = `/operator/accounts/${who.uuid}/ledger?kind=sms`
  const [{ uuid: transfer_uuid }] = (await call('operator', 'GET', ledger)).body.transfers
  const correction = { amount: '0.30', reason: 'x', transfer_uuid }
  assert.equal((await call('operator', 'POST', `/operator/accounts/${who.uuid}/corrections`, correction)).status, 201)
  assert.equal((await act('cancel')).status, 200)
  assert.equal(await balanceOf(who), 1)
  await world.start()
})

test(
  'a sending is paused and canceled while another process submits it',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { window: 2 })
    const release = block(smsc)
    const sender = await makeSender()
    // A second worker on the same database stands for another process: its handler and queue are its own.
    const other = startWorker({ db, log: parts.log, kinds: smsJobs(parts) })
    const { act, read } = await start(sender, maxBatchMessages * 2)
    await until(async () => smsc.submits.length >= 2)
    await act('pause')
    await until(async () => {
      const { held } = await db.one<{ held: number }>`
        select count(*)::integer as held from jobs
        where account_id = ${sender.who.id} and leased_until is null and run_at > app_now()`
      return held >= maxBatchMessages
    })
    release()
    await act('cancel')
    smsc.cut()
    await hasNoJobs(sender.who)
    const { counts } = await read()
    assert.equal((counts.sent ?? 0) + (counts.canceled ?? 0), maxBatchMessages * 2)
    assert.ok((counts.sent ?? 0) < 20, `${counts.sent} were sent`)
    await other.stop(1_000)
  }),
)

test(
  'a message of a quiet account is submitted in its turn while another account has thousands waiting',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { window: 4 })
    const release = block(smsc)
    const [busy, quiet] = [await makeSender('1000'), await makeSender()]
    for (let i = 0; i < 3; i++) await start(busy, 1_000)
    await until(async () => smsc.submits.length >= 4)
    const { body } = await send(quiet.who, quiet.number, 'Quiet')
    const before = smsc.submits.length
    release()
    smsc.cut()
    await world.waitForStatus(quiet.who, body.message_uuid, 'sent')
    const place = smsc.submits.findIndex(({ text }) => text === 'Quiet')
    // Besides those under way, at most as many messages of the busy account go before it as the window has room for.
    assert.ok(place - before <= 16, `${place - before} went before it`)
    await call(
      busy.who,
      'POST',
      `/open/sms/sendings/${(await call(busy.who, 'GET', '/open/sms/sendings')).body.sendings[0].uuid}/cancel`,
    )
  }),
)
