import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import type { Tenant } from '../../../../test/world.ts'
import { uuid } from '../../../platform/lib/id.ts'
import type { SmsCarrier } from '../../../ports/sms.ts'
import type { Candidate } from '../route/route-table.ts'
import { contact, giveNumber, makeSmsWorld, type Smsc, withSmscs } from '../sms-testing.ts'
import { soleLeases } from './carrier-leases.ts'
import { makeConnectionHealth } from './connection-health.ts'
import { makeFailoverSubmitter } from './failover-submitter.ts'
import { makePendingCommits } from './pending-commits.ts'
import { makeSubmitProgress } from './submit-progress.ts'

const world = await makeSmsWorld()
const { db, tenant, send, messageOf, waitForStatus, inspect, connect, change } = world
after(world.stop)

const refused = 0x0b // ESME_RINVDSTADR
const throttled = 0x58 // ESME_RTHROTTLED

const make = async (balance = '10') => {
  const who = await tenant({ balance })
  const { number } = await giveNumber(world, who)
  return { who, number, balance: async () => (await world.call(who, 'GET', '/open/info')).body.balance.amount }
}
const eventsOf = async ({ id }: Tenant) =>
  (await db.many<{ name: string }>`select name from events where account_id = ${id} order by id`).map(
    ({ name }) => name,
  )
const textsOf = ({ submits }: Smsc) => submits.map(({ text }) => text)

test(
  'a message refused by one connection goes to the next, and its trace shows the reason',
  withSmscs(world, 2, async ([a, b]) => {
    assert.ok(a && b)
    a.react = () => refused
    const first = await connect('first', a, { prefixes: ['44'] })
    const second = await connect('second', b)
    const { who, number } = await make()
    const { body } = await send(who, number, 'goes the other way')
    await waitForStatus(who, body.message_uuid, 'sent')
    assert.deepEqual([textsOf(a), textsOf(b)], [['goes the other way'], ['goes the other way']])
    const { candidates, parts, attempts, account_uuid } = await inspect(body.message_uuid)
    assert.equal(account_uuid, who.uuid)
    assert.deepEqual(
      candidates.map(({ connection_uuid, prefix }: { connection_uuid: string; prefix: string }) => [
        connection_uuid,
        prefix,
      ]),
      [
        [first, '44'],
        [second, ''],
      ],
    )
    assert.deepEqual([parts.length, parts[0].connection_uuid, parts[0].carrier_id], [1, second, 'id1'])
    assert.deepEqual(
      [attempts.length, attempts[0].connection_uuid, attempts[0].outcome, attempts[0].reason],
      [1, first, 'refused', 'ESME_RINVDSTADR'],
    )
  }),
)

test(
  'a message refused by every connection fails and is refunded',
  withSmscs(world, 2, async ([a, b]) => {
    assert.ok(a && b)
    a.react = () => refused
    b.react = () => refused
    await connect('first', a)
    await connect('second', b)
    const { who, number, balance } = await make('1')
    const { body } = await send(who, number, 'nobody takes it')
    const message = await waitForStatus(who, body.message_uuid, 'failed')
    assert.deepEqual([message.error_code, message.price, await balance()], ['ESME_RINVDSTADR', 0.04, '1.00'])
  }),
)

test(
  'while the best connection is down the next one submits, and new messages use the best again when it returns',
  withSmscs(world, 2, async ([a, b]) => {
    assert.ok(a && b)
    const first = await connect('first', a, { prefixes: ['44'] })
    await connect('second', b)
    const { who, number } = await make()
    await change(first, { settings: { port: 1 } })
    await until(async () => world.parts.carriers.state(first.slice(3))?.state === 'down')
    const one = await send(who, number, 'one')
    await waitForStatus(who, one.body.message_uuid, 'sent')
    assert.deepEqual([textsOf(a), textsOf(b)], [[], ['one']])
    await change(first, { settings: { port: a.port } })
    await until(async () => world.parts.carriers.state(first.slice(3))?.state === 'up')
    const two = await send(who, number, 'two')
    await waitForStatus(who, two.body.message_uuid, 'sent')
    assert.deepEqual([textsOf(a), textsOf(b)], [['two'], ['one']])
  }),
)

test(
  'a submit whose response is lost is repeated at once, and a long message continues under the same reference',
  withSmscs(world, 1, async ([a]) => {
    assert.ok(a)
    await connect('only', a)
    a.react = (_, count) => (count === 2 ? 'cut' : 'take')
    const { who, number } = await make()
    const { body } = await send(who, number, 'x'.repeat(400))
    await waitForStatus(who, body.message_uuid, 'sent')
    assert.deepEqual(
      a.submits.map(({ concat }) => concat?.part),
      [1, 2, 2, 3],
    )
    assert.equal(new Set(a.submits.map(({ concat }) => concat?.reference)).size, 1)
    const { parts, attempts } = await inspect(body.message_uuid)
    assert.deepEqual([parts.length, attempts.length, attempts[0].outcome, attempts[0].part], [3, 1, 'unknown', 2])
  }),
)

test(
  'after a stop in the middle of a long message only its remaining parts are submitted',
  withSmscs(world, 1, async ([a]) => {
    assert.ok(a)
    await connect('only', a, { response_seconds: 300 })
    a.react = (_, count) => (count === 2 ? 'mute' : 'take')
    const { who, number } = await make()
    const { body } = await send(who, number, 'x'.repeat(400))
    await until(async () => a.submits.length === 2)
    assert.equal((await messageOf(who, body.message_uuid)).status, 'sending')
    await world.stop()
    await world.start()
    await waitForStatus(who, body.message_uuid, 'sent')
    assert.deepEqual(
      a.submits.map(({ concat }) => concat?.part),
      [1, 2, 2, 3],
    )
    assert.equal(new Set(a.submits.map(({ concat }) => concat?.reference)).size, 1)
  }),
)

test(
  'two long messages to one handset have different references',
  withSmscs(world, 1, async ([a]) => {
    assert.ok(a)
    await connect('only', a)
    const { who, number } = await make()
    for (let i = 0; i < 3; i++) {
      const { body } = await send(who, number, 'x'.repeat(200))
      await waitForStatus(who, body.message_uuid, 'sent')
    }
    assert.equal(new Set(a.submits.map(({ concat }) => concat?.reference)).size, 3)
  }),
)

test(
  'with policy at_most_once, a message whose response is lost ends unknown, without a resubmit or refund',
  withSmscs(world, 1, async ([a]) => {
    assert.ok(a)
    await connect('only', a, { policy: 'at_most_once' })
    a.react = (_, count) => (count === 1 ? 'cut' : 'take')
    const { who, number, balance } = await make('1')
    const { body } = await send(who, number, 'once')
    const message = await waitForStatus(who, body.message_uuid, 'unknown')
    assert.deepEqual([message.error_code, await balance()], ['outcome_unknown', '0.96'])
    const next = await send(who, number, 'next')
    await waitForStatus(who, next.body.message_uuid, 'sent')
    assert.deepEqual(textsOf(a), ['once', 'next'])
    // A receipt with an unknown id shows that the carrier accepted the message after all.
    a.receipt('never-told', 'ACCEPTD', contact, number)
    await world.retryReceipt('never-told')
    const told = await waitForStatus(who, body.message_uuid, 'sent')
    assert.equal(told.sub_status, 'accepted')
    a.receipt('never-told', 'DELIVRD', contact, number)
    await waitForStatus(who, body.message_uuid, 'delivered')
    assert.deepEqual(
      (await eventsOf(who)).map((name) => name.slice('sms.message.'.length)),
      ['failed', 'sent', 'sent', 'delivered'],
    )
  }),
)

test(
  'a message of unknown fate gets no receipt of the next message, and none long after its validity',
  withSmscs(world, 1, async ([a]) => {
    assert.ok(a)
    const only = await connect('only', a, { policy: 'at_most_once' })
    const { who, number } = await make()
    a.react = ({ id, text }) => {
      if (text === 'lost') return 'cut'
      a.receipt(id, 'DELIVRD', contact, number)
      return 'take'
    }
    const lost = await send(who, number, 'lost')
    await waitForStatus(who, lost.body.message_uuid, 'unknown')
    const next = await send(who, number, 'next')
    await waitForStatus(who, next.body.message_uuid, 'delivered')
    await world.advance(61)
    const receipt = { carrierId: 'x', state: 'delivered', error: null, handset: contact, number } as const
    const early = (seconds: number) =>
      world.parts.receipts.retryEarly({ ...receipt, connection: only.slice(3) }, seconds)
    assert.equal(await early(60), false)
    assert.equal((await messageOf(who, lost.body.message_uuid)).status, 'unknown')
    assert.equal(await early(3_600), true)
    await waitForStatus(who, lost.body.message_uuid, 'delivered')
  }),
)

test(
  'with policy hold, a receipt within a minute confirms the message as accepted',
  withSmscs(world, 1, async ([a]) => {
    assert.ok(a)
    await connect('only', a, { policy: 'hold' })
    a.react = (_, count) => (count === 1 ? 'cut' : 'take')
    const { who, number } = await make()
    const { body } = await send(who, number, 'held')
    await until(async () => (await inspect(body.message_uuid)).parts[0]?.status === 'doubtful')
    await until(async () => world.parts.carriers.availableWindow() > 0)
    a.receipt('told-by-the-receipt', 'DELIVRD', contact, number)
    await world.retryReceipt('told-by-the-receipt')
    await waitForStatus(who, body.message_uuid, 'delivered')
    assert.deepEqual(await eventsOf(who), ['sms.message.sent', 'sms.message.delivered'])
    await world.advance(61)
    const next = await send(who, number, 'next')
    await waitForStatus(who, next.body.message_uuid, 'sent')
    assert.deepEqual(textsOf(a), ['held', 'next'])
  }),
)

test(
  'with policy hold, a message without a receipt is resubmitted after a minute, before the next ones of its pair',
  withSmscs(world, 1, async ([a]) => {
    assert.ok(a)
    await connect('only', a, { policy: 'hold' })
    a.react = (_, count) => (count === 1 ? 'cut' : 'take')
    const { who, number } = await make()
    const held = await send(who, number, 'held')
    await until(async () => (await inspect(held.body.message_uuid)).parts[0]?.status === 'doubtful')
    const next = await send(who, number, 'next')
    assert.deepEqual(textsOf(a), ['held'])
    await world.advance(62)
    await waitForStatus(who, held.body.message_uuid, 'sent')
    await world.advance(62)
    await waitForStatus(who, next.body.message_uuid, 'sent')
    assert.deepEqual(textsOf(a), ['held', 'held', 'next'])
  }),
)

test(
  'a throttled message is retried, and the next messages to its number follow in order',
  withSmscs(world, 1, async ([a]) => {
    assert.ok(a)
    await connect('only', a)
    a.react = (_, count) => (count % 4 === 1 ? throttled : 'take')
    const { who, number } = await make()
    const sent = []
    for (let i = 0; i < 8; i++) sent.push((await send(who, number, `${i}`)).body.message_uuid)
    for (const one of sent) await waitForStatus(who, one, 'sent')
    const taken = a.submits.filter((_, i) => (i + 1) % 4 !== 1).map(({ text }) => text)
    assert.deepEqual(taken, ['0', '1', '2', '3', '4', '5', '6', '7'])
  }),
)

test(
  'a message that no carrier accepts within its validity expires and is refunded',
  withSmscs(world, 1, async ([a]) => {
    assert.ok(a)
    const only = await connect('only', a, { validity_seconds: 600 })
    await change(only, { settings: { port: 1 } })
    await until(async () => world.parts.carriers.state(only.slice(3))?.state === 'down')
    const { who, number, balance } = await make('1')
    const { body } = await send(who, number, 'too late')
    await world.advance(601)
    await change(only, { settings: { port: a.port } })
    const message = await waitForStatus(who, body.message_uuid, 'expired')
    assert.deepEqual([message.error_code, await balance(), textsOf(a)], ['validity', '1.00', []])
    const next = await send(who, number, 'in time')
    await waitForStatus(who, next.body.message_uuid, 'sent')
    assert.match(a.submits[0]?.validity ?? '', /\S/)
  }),
)

test('a message without any connection fails at once and is refunded', async () => {
  const { who, number, balance } = await make('1')
  const { body } = await send(who, number, 'nowhere')
  const message = await waitForStatus(who, body.message_uuid, 'failed')
  assert.deepEqual([message.error_code, await balance()], ['no_route', '1.00'])
})

test(
  'messages expire while no carrier is connected, too',
  withSmscs(world, 2, async ([a, b]) => {
    assert.ok(a && b)
    const only = await connect('only', a, { validity_seconds: 600 })
    await change(only, { settings: { port: 1 } })
    await until(async () => world.parts.carriers.state(only.slice(3))?.state === 'down')
    const { who, number, balance } = await make('1')
    // Many messages that are still valid precede this one: their connection allows two days.
    const long = await connect('patient', b, { prefixes: ['33'] })
    await change(long, { settings: { port: 1 } })
    await until(async () => world.parts.carriers.state(long.slice(3))?.state === 'down')
    await db.run`
      insert into jobs (id, account_id, kind, payload, run_at, created_at)
      select gen_random_uuid(), ${who.id}, 'sms.submit', ${{ from: number, to: '+33612345678', text: 'x' }}::jsonb,
        app_now() - interval '10 seconds', app_now() from generate_series(1, 2500)`
    const { body } = await send(who, number, 'waits in vain')
    await world.advance(661)
    await waitForStatus(who, body.message_uuid, 'expired')
    assert.equal(await balance(), '1.00')
    assert.equal(await db.run`delete from jobs where kind = 'sms.submit'`, 2_500)
  }),
)

test('of two processes that begin to submit a message, one records the part and the other does not submit it', async () => {
  const { who, number } = await make()
  const send_at = new Date(Date.now() + 3_600_000).toISOString()
  const message = (await send(who, number, 'once', { send_at })).body.message_uuid.slice(3)
  const processes = [1, 2].map(() => makeSubmitProgress(db, world.parts.carriers.pendingCommits, true))
  for (const { start } of processes)
    assert.notEqual(await start({ account: who.id, id: message, number, contact, isLong: false }), 'gone')
  const piece = { account: who.id, message, part: 1, parts: 1, connection: uuid(), carrierId: null }
  const reserved = await Promise.all(processes.map(({ reservePart }) => reservePart(piece)))
  assert.deepEqual(reserved.toSorted(), [false, true])
})

test('a message that a busy carrier keeps refusing goes on to a connection of another process', async () => {
  const candidate = (connection: string): Candidate => ({
    connection,
    name: connection,
    prefix: '',
    priority: 1,
    weight: 1,
    policy: 'resubmit',
    texts: 'parts',
    header: 'udh8',
    validSeconds: null,
  })
  const kind = 'sms.submit:there:0'
  let submits = 0
  const here: SmsCarrier = {
    submit: async () => {
      submits++
      return { outcome: 'retry', wasSent: true, reason: 'ESME_RTHROTTLED', seconds: 0 }
    },
    freeWindow: () => 1,
    isUp: () => true,
    state: () => ({
      state: 'up',
      since: 0,
      lastError: null,
      inFlight: 0,
      submitted: 0,
      links: [],
      fatal: false,
      window: 1,
    }),
    close: async () => {},
  }
  const submitter = makeFailoverSubmitter(
    {
      ...{ state: () => null, passAvailability: () => {}, pendingCommits: makePendingCommits(() => {}) },
      ...{ availableWindowOf: () => 1, whenAvailable: async () => true, reserve: () => () => {} },
      up: (id) => (id === 'here' ? here : null),
      leases: {
        ...soleLeases(),
        placeOf: (connection) => (connection === 'here' ? 'here' : { kind }),
        isUpElsewhere: (connection) => connection === 'there',
      },
    },
    makeConnectionHealth(),
  )
  const nothing = async () => {}
  const outcome = await submitter.submit(
    [candidate('here'), candidate('there')],
    { pair: '+447700100000+447911123456', wasPassed: false },
    () => ({
      ...{ message: uuid(), part: 1, parts: 1, source: '+447700100000', destination: '+447911123456', text: 'x' },
      ...{ encoding: 'gsm7', reference: 0 },
    }),
    { beforeSubmit: nothing, notAccepted: nothing, afterFailure: nothing },
    new AbortController().signal,
  )
  assert.deepEqual([outcome, submits], [{ outcome: 'elsewhere', kind, tried: ['here'] }, 5])
})
