import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { statuses } from '@trunkline/smpp/pdu.ts'
import { blocksRead } from '../../../../test/blocks.ts'
import { until } from '../../../../test/platform.ts'
import type { Tenant } from '../../../../test/world.ts'
import type { Tx } from '../../../platform/db/sql.ts'
import { maxQueriedPartsOfAccount, maxQueryRefusals } from '../limits.ts'
import { giveNumber, makeSmsWorld, type Smsc, withSmscs } from '../sms-testing.ts'
import { forceIndexPlans } from '../state-transition-store.ts'
import { startReceiptQueries } from './receipt-queries.ts'
import * as store from './receipt-query-store.ts'

const world = await makeSmsWorld()
const { call, db, parts, tenant, send, messageOf, waitForStatus, connect, advance, inspect } = world
const queries = startReceiptQueries(parts, 50)
after(async () => {
  await queries.end()
  await world.stop()
})

const minutes = (count: number) => advance(count * 60 + 5)
const make = async () => {
  const who = await tenant()
  return { who, ...(await giveNumber(world, who)) }
}
/** Sends a message whose receipt gets lost. @returns its id and that of the carrier */
const sendSilently = async (smsc: Smsc, { who, number }: { who: Tenant; number: string }, to: string) => {
  const printed: string = (await send(who, number, 'x', { to })).body.message_uuid
  await waitForStatus(who, printed, 'sent')
  return { printed, id: smsc.submits.find(({ destination }) => destination === to)?.id ?? assert.fail() }
}
const handset = (n: number) => `+4479115${String(10_000 + n)}`
const waiting = async (connection: string) =>
  (
    await db.many<{ account_id: string; asked: number; answer: string | null }>`
      select account_id, asked, answer from sms_receipt_queries where connection_id = ${connection.slice(3)}`
  ).toSorted((a, b) => a.asked - b.asked)
const receiptsOf = async (connection: string) =>
  (await call('operator', 'GET', `/operator/connections/${connection}`)).body.connection.state.receipts
const missing = (waiting: number, without_receipt: number) => ({ waiting, without_receipt })
const timelineOf = async (who: Tenant, printed: string) =>
  (await call(who, 'GET', `/open/sms/message/${printed}/timeline`)).body

test(
  'a carrier is asked for a lost receipt after 15 minutes, and each of its states counts as a receipt',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    const connection = await connect('only', smsc, { window: 100 })
    const sender = await make()
    const { who, number } = sender
    const expected = [
      { state: 2, status: 'delivered' },
      { state: 3, status: 'expired' },
      { state: 4, status: 'undelivered' },
      { state: 5, status: 'undelivered', error: 17 },
      { state: 8, status: 'rejected' },
      { state: 1, status: 'sent', sub: 'enroute' },
      { state: 6, status: 'sent', sub: 'accepted' },
      { state: 7, status: 'sent', sub: 'unknown' },
      { state: 77, status: 'sent', sub: 'unknown' },
    ]
    const sent = await Promise.all(expected.map((_, n) => sendSilently(smsc, sender, handset(n))))
    const places = new Map(sent.map(({ id }, n) => [id, n]))
    smsc.reactToQuery = (id) => {
      const { state, error = 0 } = expected[places.get(id) ?? -1] ?? assert.fail(id)
      return { state, error }
    }
    await minutes(14)
    assert.equal(smsc.queries.length, 0)
    await minutes(2)
    for (const [n, { status, sub, error }] of expected.entries()) {
      const message = await until(async () => {
        const one = await messageOf(who, sent[n]?.printed ?? '')
        return one.status === status && (sub === undefined || one.sub_status === sub) ? one : null
      })
      assert.equal(message.error_code, error === undefined ? undefined : String(error))
    }
    assert.deepEqual(
      smsc.queries.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      sent.map(({ id }) => ({ id, source: number })).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    )
    const events = await db.many<{ name: string; count: number }>`
      select name, count(*) as count from events where account_id = ${who.id} group by name order by name`
    assert.deepEqual(events, [
      { name: 'sms.message.delivered', count: 1 },
      { name: 'sms.message.failed', count: 4 },
      { name: 'sms.message.sent', count: expected.length },
    ])
    // Those without a final state are asked for again.
    await until(async () => (await waiting(connection)).length === 4)
    assert.deepEqual(await receiptsOf(connection), missing(4, 0))

    const { timeline, outcome } = await timelineOf(who, sent[0]?.printed ?? '')
    const receipts = timeline.filter(({ what }: { what: string }) => what === 'receipt')
    assert.deepEqual(
      receipts.map(({ text }: { text: string }) => text),
      [
        'The receipt for the message is missing. Asked for it, the carrier answered: delivered',
        'Receipt for the message: delivered',
      ],
    )
    assert.equal(outcome.state, 'succeeded')
    const { attempts } = await inspect(sent[0]?.printed ?? '')
    assert.deepEqual(
      attempts.map(({ outcome, reason }: { outcome: string; reason: string }) => [outcome, reason]),
      [['queried', 'delivered']],
    )
  }),
)

test(
  'a part without a final state is asked for ever more rarely, and a late receipt ends that',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    smsc.reactToQuery = () => ({ state: 1 })
    const connection = await connect('only', smsc)
    const sender = await make()
    const { printed, id } = await sendSilently(smsc, sender, handset(50))
    const isAsked = (times: number) => until(async () => (await waiting(connection))[0]?.asked === times)
    await minutes(16)
    await isAsked(1)
    for (const [times, pause] of [
      [2, 15],
      [3, 30],
      [4, 60],
    ] as const) {
      await advance(pause * 60 - 60)
      assert.equal(smsc.queries.length, times - 1)
      await advance(65)
      await isAsked(times)
    }
    assert.equal(smsc.queries.length, 4)
    assert.equal((await messageOf(sender.who, printed)).sub_status, 'enroute')
    // An answer that repeats is no further fact.
    assert.equal((await inspect(printed)).attempts.length, 1)
    smsc.receipt(id, 'DELIVRD', handset(50), sender.number)
    await waitForStatus(sender.who, printed, 'delivered')
    await minutes(24 * 60)
    await until(async () => (await waiting(connection)).length === 0)
    assert.equal(smsc.queries.length, 4)
  }),
)

test(
  'a carrier without query_sm is asked once a day, and its messages end with no_receipt, in the timeline too',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    const connection = await connect('only', smsc)
    const sender = await make()
    const sent = [await sendSilently(smsc, sender, handset(60)), await sendSilently(smsc, sender, handset(61))]
    await minutes(16)
    await until(async () => smsc.queries.length === 1)
    const isRefused = async () => (await store.askable(db, [connection.slice(3)])).length === 0
    await until(isRefused)
    assert.ok((await receiptsOf(connection)).refused_at)
    await minutes(12 * 60)
    assert.equal(smsc.queries.length, 1)
    await minutes(12 * 60)
    await until(async () => smsc.queries.length === 2)
    await until(isRefused)
    // Two days of validity, as none is set, and an hour.
    await minutes(25 * 60)
    for (const { printed } of sent) {
      await until(async () => (await messageOf(sender.who, printed)).sub_status === 'no_receipt')
      const { timeline, outcome } = await timelineOf(sender.who, printed)
      assert.equal(timeline.at(-1).text, 'No receipt came within an hour after the validity')
      assert.equal(timeline.at(-1).detail.status, 'no_receipt')
      assert.equal(outcome.state, 'in_progress')
    }
    await until(async () => (await waiting(connection)).length === 0)
    assert.ok(smsc.queries.length <= 3, 'one question a day')
    assert.deepEqual({ ...(await receiptsOf(connection)), refused_at: '' }, { ...missing(0, 2), refused_at: '' })
    smsc.receipt(sent[0]?.id ?? '', 'DELIVRD', handset(60), sender.number)
    await waitForStatus(sender.who, sent[0]?.printed ?? '', 'delivered')
  }),
)

test(
  'a carrier that refuses every question is not asked again for a day, one that answers some is; a setting forbids all',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    const connection = await connect('only', smsc, { window: 100 })
    const sender = await make()
    const count = maxQueryRefusals + 2
    const sent = await Promise.all(
      Array.from({ length: count }, (_, n) => sendSilently(smsc, sender, handset(100 + n))),
    )
    const [known] = sent
    smsc.reactToQuery = () => ({ status: statuses.ESME_RQUERYFAIL })
    await minutes(16)
    await until(async () => (await store.askable(db, [connection.slice(3)])).length === 0)
    assert.equal(smsc.queries.length, maxQueryRefusals)
    // A change of the connection makes another attempt.
    smsc.reactToQuery = (id) => (id === known?.id ? { state: 2 } : { status: statuses.ESME_RINVMSGID })
    const former = parts.carriers.up(connection.slice(3))
    await world.change(connection, { settings: { tps: 1_000 } })
    await until(async () => ![null, former].includes(parts.carriers.up(connection.slice(3))))
    await minutes(31)
    await waitForStatus(sender.who, known?.printed ?? '', 'delivered')

    await world.change(connection, { settings: { query_sm: false } })
    await until(async () => parts.carriers.up(connection.slice(3))?.query === undefined)
    const before = smsc.queries.length
    await minutes(24 * 60)
    assert.equal(smsc.queries.length, before)
  }),
)

test(
  'a carrier that leaves three questions without an answer is not asked again for a day, and keeps its bind',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    const connection = await connect('only', smsc, { response_seconds: 1 })
    const sender = await make()
    await Promise.all([80, 81, 82, 83].map((n) => sendSilently(smsc, sender, handset(n))))
    smsc.reactToQuery = () => 'mute'
    await minutes(16)
    await until(async () => (await store.askable(db, [connection.slice(3)])).length === 0)
    assert.equal(smsc.queries.length, 3)
    assert.equal(parts.carriers.state(connection.slice(3))?.links[0]?.lastError, null)
  }),
)

test(
  'a message of a connection that was deleted ends with no_receipt',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    const connection = await connect('only', smsc, { validity_seconds: 3_600 })
    const sender = await make()
    const { printed } = await sendSilently(smsc, sender, handset(70))
    // The schedule knows the connection once it has run.
    await minutes(2)
    const isKnown = () => db.maybe`select from sms_receipt_checks where connection_id = ${connection.slice(3)}`
    await until(isKnown)
    await call('operator', 'DELETE', `/operator/connections/${connection}`)
    await minutes(50 * 60)
    await until(async () => (await messageOf(sender.who, printed)).sub_status === 'no_receipt')
    await minutes(9 * 24 * 60)
    await until(async () => !(await isKnown()))
  }),
)

/** Rolls back the writes of a test. */
class Rollback extends Error {}
const inVain = (work: (tx: Tx) => Promise<void>) =>
  assert.rejects(
    db.begin(async (tx) => {
      await work(tx)
      throw new Rollback()
    }),
    Rollback,
  )

/** Adds parts that were sent some seconds ago, without a receipt. */
const addParts = (tx: Tx, account: string, connection: string, count: number, seconds: number) => tx.run`
  insert into sms_parts (account_id, message_id, part, connection_id, carrier_id, status, sent_at, updated_at)
  select ${account}, gen_random_uuid(), 1, ${connection}, n::text, 'sent', app_now() - make_interval(secs => ${seconds}),
    app_now() from generate_series(1, ${count}) n`

test('the search for missing receipts reads the parts of its minutes alone, however many others there are', async () => {
  const [account, connection] = [crypto.randomUUID(), crypto.randomUUID()]
  await db.begin(async (tx) => {
    for (const days of [20, 10, 5]) await addParts(tx, account, connection, 10_000, days * 86_400)
    await addParts(tx, account, connection, 20, 960)
    for (const minutes of [10, 5]) await addParts(tx, account, connection, 10_000, minutes * 60)
  })
  await db.run`select brin_summarize_new_values('sms_parts_by_time')`
  await inVain(async (tx) => {
    await tx.run`update sms_receipt_query_progress set until = app_now() - interval '20 minutes'`
    const before = await blocksRead(tx, ['sms_parts'])
    await store.planForSearch(tx)
    assert.equal(await store.addOverdueParts(tx, [connection]), false)
    const read = [...(await blocksRead(tx, ['sms_parts']))].map(([name, count]) => count - (before.get(name) ?? 0))
    const { count } = await tx.one<{ count: number }>`
      select count(*) as count from sms_receipt_queries where connection_id = ${connection}`
    assert.equal(count, 20)
    assert.ok(Math.max(...read) < 100, `${read}`)
  })
  await db.run`delete from sms_parts where connection_id = ${connection}`
})

test('the questions of an account with many lost receipts are limited, and delay those of no other account', async () => {
  const [large, small, connection] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()]
  await inVain(async (tx) => {
    await tx.run`update sms_receipt_query_progress set until = app_now() - interval '30 minutes'`
    await addParts(tx, large, connection, maxQueriedPartsOfAccount + 500, 1_200)
    await addParts(tx, small, connection, 3, 960)
    await tx.run`
      insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, status,
        created_at, updated_at)
      select account_id, message_id, gen_random_uuid(), 'outbound', '+447911123456', '+447700100000', 'x', 'gsm7', 1, 'sent',
        app_now(), app_now()
      from sms_parts where connection_id = ${connection}`
    await store.planForSearch(tx)
    for (let runs = 0; runs < 2; runs++) {
      await store.addOverdueParts(tx, [connection])
      const added = await tx.many<{ account_id: string; count: number }>`
        select account_id, count(*) as count from sms_receipt_queries where connection_id = ${connection} group by 1`
      assert.deepEqual(
        new Map(added.map(({ account_id, count }) => [account_id, count])),
        new Map([
          [large, maxQueriedPartsOfAccount],
          [small, 3],
        ]),
      )
      await tx.run`update sms_receipt_query_progress set until = app_now() - interval '30 minutes'`
    }
    await forceIndexPlans(tx)
    const claimed = await store.claim(tx, connection, 10)
    assert.equal(claimed.filter(({ account_id }) => account_id === small).length, 3)
    assert.equal(claimed.length, 10)
  })
})
