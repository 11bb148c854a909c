import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import type { Tenant } from '../../../../test/world.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { contact, giveNumber, makeSmsWorld, withSmscs } from '../sms-testing.ts'
import { adoptDoubtfulParts, idForms } from './receipt-correlation.ts'

const world = await makeSmsWorld()
const { call, db, parts, tenant, send, messageOf, waitForStatus, connect, advance } = world
after(world.stop)

const make = async () => {
  const who = await tenant()
  return { who, ...(await giveNumber(world, who)) }
}
const eventsOf = async (account: string) =>
  (await db.many<{ name: string }>`select name from events where account_id = ${account} order by id`).map(
    ({ name }) => name,
  )

test('an id may be decimal or hexadecimal, in either letter case and with leading zeros', () => {
  const keys = (id: string) => idForms(id).map(({ key, form }) => `${form} ${key}`)
  assert.deepEqual(keys('00FF'), ['text ff', 'decimal 255'])
  assert.deepEqual(keys('0255'), ['text 255', 'hex ff', 'decimal 597'])
  assert.deepEqual(keys('a-name'), ['text a-name'])
})

for (const [name, answered, reported] of [
  [
    'answered in hexadecimal and reported in decimal',
    (n: number) => (n + 9).toString(16),
    (n: number) => String(n + 9),
  ],
  [
    'answered in decimal and reported in hexadecimal',
    (n: number) => String(n + 9),
    (n: number) => (n + 9).toString(16),
  ],
  ['reported in capitals with leading zeros', (n: number) => `ab${n}`, (n: number) => `00AB${n}`],
] as const)
  test(
    `receipts find their messages: ids ${name}`,
    withSmscs(world, 1, async ([smsc]) => {
      assert.ok(smsc)
      smsc.idOf = answered
      await connect('only', smsc, { window: 100 })
      const { who, number } = await make()
      const to = (i: number) => `+4479111${String(10_000 + i)}`
      const sent: string[] = []
      for (let i = 0; i < 20; i++) sent.push((await send(who, number, `${i}`, { to: to(i) })).body.message_uuid)
      for (const one of sent) await waitForStatus(who, one, 'sent')
      const places = new Map(smsc.submits.map(({ destination }, i) => [destination, i + 1]))
      // Every second message is delivered, which reveals receipts applied to the wrong message.
      for (let i = 0; i < 20; i++) {
        const place = places.get(to(i)) ?? 0
        smsc.receipt(reported(place), i % 2 === 0 ? 'DELIVRD' : 'UNDELIV', to(i), number)
      }
      for (const [i, one] of sent.entries()) await waitForStatus(who, one, i % 2 === 0 ? 'delivered' : 'undelivered')
    }),
  )

test(
  'a receipt never applies to another handset’s message whose id is the same number in another form',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    smsc.idOf = (count) => (count === 1 ? '64' : '100')
    await connect('only', smsc)
    const [{ who, number }, other] = [await make(), await make()]
    const old = await send(who, number, 'id 64')
    await waitForStatus(who, old.body.message_uuid, 'sent')
    const to = '+447911999999'
    smsc.react = ({ id }) => {
      smsc.receipt(id, 'DELIVRD', to, other.number)
      return 'take'
    }
    const { body } = await send(other.who, other.number, 'id 100, in hexadecimal 64', { to })
    await waitForStatus(other.who, body.message_uuid, 'delivered')
    assert.equal((await messageOf(who, old.body.message_uuid)).status, 'sent')
  }),
)

test(
  'a receipt applies to the message of its handset if a learned connection writes one id in two forms',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    const ids = ['first', '64', '100', '101']
    smsc.idOf = (count) => ids[count - 1] ?? `id${count}`
    await connect('only', smsc)
    const [{ who, number }, other] = [await make(), await make()]
    const sent = async (from: Tenant, source: string, to: string): Promise<string> => {
      const { body } = await send(from, source, 'x', { to })
      await waitForStatus(from, body.message_uuid, 'sent')
      return body.message_uuid
    }
    // The learned form of the connection: receipts repeat the id of the response.
    const first = await sent(who, number, contact)
    smsc.receipt('first', 'DELIVRD', contact, number)
    await waitForStatus(who, first, 'delivered')
    const old = await sent(who, number, contact)
    const [to, last] = ['+447911999999', '+447911999998']
    const hex = await sent(other.who, other.number, to)
    // 64 is the hexadecimal form of 100 and the id of the old message.
    smsc.receipt('64', 'UNDELIV', to, other.number)
    await waitForStatus(other.who, hex, 'undelivered')
    assert.equal((await messageOf(who, old)).status, 'sent')
    // The handset is in national form, and the carrier repeats the addresses of the submit.
    await smsc.deliver({
      esm_class: 4,
      source_addr_ton: 0,
      source_addr: `00${contact.slice(1)}`,
      destination_addr: number.slice(1),
      short_message: 'id:64 stat:DELIVRD err:000',
    })
    await waitForStatus(who, old, 'delivered')
    const swapped = await sent(who, number, last)
    smsc.receipt('101', 'DELIVRD', number, last)
    await waitForStatus(who, swapped, 'delivered')
  }),
)

test('a receipt confirms a message of unknown fate only between its two numbers, on its connection, while it is young', async () => {
  const { who, number } = await make()
  const other = await make()
  const [connection, elsewhere] = [crypto.randomUUID(), crypto.randomUUID()]
  const [handset, second] = ['+447911777001', '+447911777002']
  /** A message that was submitted without a response. @returns its id */
  const submit = async (from: { who: Tenant; number: string }, to: string, seconds = 10, status = 'doubtful') => {
    const id = uuid()
    await db.run`
      insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, status,
        created_at, updated_at)
      select account_id, ${id}, id, 'outbound', ${to}, ${from.number}, 'x', 'gsm7', 1, 'queued', app_now(), app_now()
      from sms_channels where account_id = ${from.who.id}`
    await db.run`
      insert into sms_parts (account_id, message_id, part, connection_id, status, sent_at, updated_at)
      values (${from.who.id}, ${id}, 1, ${connection}, ${status}, app_now() - make_interval(secs => ${seconds}), app_now())`
    return id
  }
  const oldest = await submit({ who, number }, handset, 50)
  const newer = await submit({ who, number }, handset, 20)
  const toSecond = await submit({ who, number }, second, 55)
  const ofOther = await submit(other, handset, 55)
  await submit({ who, number }, handset, 61)
  await submit({ who, number }, handset, 30, 'sent')
  const adopt = async (more: object) => {
    const receipt = {
      n: 0,
      connection,
      carrierId: 'unknown',
      state: 'DELIVERED',
      error: null,
      handset,
      number,
      ...more,
    }
    const [found] = await db.begin((tx) => adoptDoubtfulParts(tx, [receipt as never], 60))
    return found?.message_id
  }
  assert.equal(await adopt({ connection: elsewhere }), undefined)
  assert.equal(await adopt({ handset: '+447911777003' }), undefined)
  assert.equal(await adopt({ number: '+447911777004' }), undefined)
  assert.equal(await adopt({ handset: undefined }), undefined)
  const left = await db.many`select from sms_parts where connection_id = ${connection} and carrier_id is not null`
  assert.deepEqual(left, [])
  assert.equal(await adopt({ carrierId: 'one' }), oldest)
  assert.equal(await adopt({ carrierId: 'two' }), newer)
  assert.equal(await adopt({ carrierId: 'three' }), undefined)
  assert.equal(await adopt({ carrierId: 'four', handset: second }), toSecond)
  assert.equal(await adopt({ carrierId: 'five', number: other.number }), ofOther)
  const current = await submit({ who, number }, '+5541991230001')
  assert.equal(await adopt({ carrierId: 'former', handset: '+554191230001' }), current)

  // Two receipts of one message at once: the second waits for the part, and finds it taken.
  const raced = await submit({ who, number }, second)
  const late = await db.begin(async (tx) => {
    const first = { n: 0, connection, carrierId: 'six', handset: second, number }
    assert.equal((await adoptDoubtfulParts(tx, [first as never], 60))[0]?.message_id, raced)
    await tx.run`update sms_parts set status = 'delivered' where message_id = ${raced}`
    const late = adopt({ carrierId: 'six', handset: second })
    await until(
      async () =>
        db.maybe`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%update sms_parts%'`,
    )
    return { late }
  })
  assert.equal(await late.late, undefined)
  const { status } = await db.one<{ status: string }>`select status from sms_parts where message_id = ${raced}`
  assert.equal(status, 'delivered')
})

test(
  'a receipt that arrives before the submit response is queued until its part is known',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc)
    const { who, number } = await make()
    smsc.react = ({ id }) => {
      smsc.receipt(id, 'DELIVRD', contact, number)
      return 'take'
    }
    const { body } = await send(who, number, 'overtaken')
    await waitForStatus(who, body.message_uuid, 'delivered')
    assert.deepEqual(await eventsOf(who.id), ['sms.message.sent', 'sms.message.delivered'])
  }),
)

test(
  'a delivery wins over other final receipts of the same batch, and only the delivery is published',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { window: 100 })
    const { who, number } = await make()
    // The first receipt teaches the id form of the carrier; later ones take the hot path.
    const first = (await send(who, number, 'first')).body.message_uuid
    await waitForStatus(who, first, 'sent')
    smsc.receipt(smsc.submits.at(-1)?.id ?? '', 'DELIVRD', contact, number)
    await waitForStatus(who, first, 'delivered')
    const { connection } = await db.one<{ connection: string }>`
      select connection_id as connection from sms_parts where account_id = ${who.id}`
    for (const states of [
      ['undelivered', 'delivered'],
      ['delivered', 'undelivered'],
      ['expired', 'delivered', 'rejected'],
    ] as const) {
      const { who, number } = await make()
      const { body } = await send(who, number, states.join())
      await waitForStatus(who, body.message_uuid, 'sent')
      const carrierId: string = smsc.submits.at(-1)?.id ?? ''
      const known: boolean[] = await Promise.all(
        states.map((state) => parts.receipts.add({ connection, carrierId, state, error: null })),
      )
      assert.ok(known.every((one) => one))
      assert.equal((await messageOf(who, body.message_uuid)).status, 'delivered')
      assert.deepEqual(await eventsOf(who.id), ['sms.message.sent', 'sms.message.delivered'])
    }
  }),
)

test('an early receipt waits by the platform’s clock, wherever that was moved', async () => {
  await world.stop()
  await advance(3_600)
  const receipt = { connection: crypto.randomUUID(), carrierId: 'early', state: 'delivered', error: null } as const
  assert.equal(await parts.receipts.add(receipt), false)
  const { wait } = await db.one<{ wait: number }>`
    select extract(epoch from run_at - created_at)::float8 as wait from jobs where kind = 'sms.receipt'`
  assert.ok(wait > 0 && wait < 5, `${wait}`)
  await world.start()
})

test(
  'a receipt that an earlier version queued still counts',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    const connection = (await connect('only', smsc)).slice(3)
    for (const [state, status] of [
      ['DELIVERED', 'delivered'],
      ['UNDELIVERABLE', 'undelivered'],
      ['DELETED', 'undelivered'],
    ]) {
      const { who, number } = await make()
      const { body } = await send(who, number, state ?? '')
      await waitForStatus(who, body.message_uuid, 'sent')
      const carrierId = smsc.submits.at(-1)?.id
      await db.run`
        insert into jobs (id, kind, payload, run_at)
        values (${uuid()}, 'sms.receipt', ${{ connection, carrierId, state, error: null }}, app_now())`
      await waitForStatus(who, body.message_uuid, status ?? '')
    }
  }),
)

test(
  'a message without a receipt remains sent and is marked; a late receipt still counts',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { validity_seconds: 60 })
    const { who, number } = await make()
    const [silent, told] = [await send(who, number, 'silent'), await send(who, number, 'told')]
    for (const { body } of [silent, told]) await waitForStatus(who, body.message_uuid, 'sent')
    smsc.receipt(smsc.submits.find(({ text }) => text === 'told')?.id ?? '', 'DELIVRD', contact, number)
    await waitForStatus(who, told.body.message_uuid, 'delivered')
    const subStatus = async () => (await messageOf(who, silent.body.message_uuid)).sub_status
    await advance(3_600)
    assert.equal(await subStatus(), undefined)
    await advance(180)
    await until(async () => (await subStatus()) === 'no_receipt')
    assert.equal((await messageOf(who, silent.body.message_uuid)).status, 'sent')
    assert.equal((await messageOf(who, told.body.message_uuid)).sub_status, undefined)
    smsc.receipt(smsc.submits.find(({ text }) => text === 'silent')?.id ?? '', 'DELIVRD', contact, number)
    const late = await waitForStatus(who, silent.body.message_uuid, 'delivered')
    assert.equal(late.sub_status, undefined)
  }),
)

test(
  'every unsuccessful end is published once, with the state of the message',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc)
    for (const [stat, status] of [
      ['UNDELIV', 'undelivered'],
      ['undelivered', 'undelivered'],
      ['expired', 'expired'],
      ['REJECTD', 'rejected'],
    ]) {
      const { who, number } = await make()
      const { body } = await send(who, number, stat ?? '')
      await waitForStatus(who, body.message_uuid, 'sent')
      const id = smsc.submits.at(-1)?.id ?? ''
      for (let twice = 0; twice < 2; twice++) smsc.receipt(id, stat ?? '', contact, number)
      await waitForStatus(who, body.message_uuid, status ?? '')
      const { payload } = await db.one<{ payload: { uuid: string; status: string } }>`
        select payload from events where account_id = ${who.id} and name = 'sms.message.failed'`
      assert.deepEqual([payload.uuid, payload.status], [body.message_uuid, status])
    }
    assert.equal((await call('operator', 'GET', '/operator/connections')).status, 200)
  }),
)
