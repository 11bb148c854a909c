import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { sqlState } from '../../platform/db/sql.ts'
import { applyFinalReceipts } from './completion-store.ts'
import { giveNumber, makeSmsWorld, withSmscs } from './sms-testing.ts'

const world = await makeSmsWorld()
const { db, tenant, send, waitForStatus, connect } = world
after(world.stop)

/** Returns the stored payload of an event. */
const told = (account: string, printed: string, event: string) =>
  until(async () => {
    const row = await db.maybe<{ payload: string }>`
      select payload::text from events
      where account_id = ${account} and name = ${event} and payload ->> 'uuid' = ${printed}`
    return row?.payload
  })

test(
  'events of messages match the API, for any text',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { window: 100 })
    const who = await tenant()
    const { number, channel } = await giveNumber(world, who)
    // The first receipt teaches the id form of the carrier; later ones take the hot path.
    const texts = [
      'first',
      'plain',
      '"quoted" \\ back',
      'tab\tline\n\u0001\u007f',
      '\u2028 é 😀 </script>',
      'not delivered',
    ]
    for (const [i, text] of texts.entries()) {
      const to = `+33612345${100 + i}`
      const { body } = await send(who, number, text, { to })
      const says = async (status: string, event: string) => {
        const message = await waitForStatus(who, body.message_uuid, status)
        const expected = { ...message, created_at: message.created_at.slice(0, -1), channel_uuid: channel, event }
        assert.deepEqual(JSON.parse(await told(who.id, body.message_uuid, event)), expected)
      }
      await says('sent', 'sms.message.sent')
      const isLast = i === texts.length - 1
      smsc.receipt(`id${i + 1}`, isLast ? 'UNDELIV' : 'DELIVRD', to, number)
      if (isLast) await says('undelivered', 'sms.message.failed')
      else await says('delivered', 'sms.message.delivered')
    }
  }),
)

test(
  'the sent event of a long message is published although all its receipts arrived before the submit was stored',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { window: 100 })
    const who = await tenant()
    const { number } = await giveNumber(world, who)
    const names = async () =>
      (await db.many<{ name: string }>`select name from events where account_id = ${who.id} order by id`).map(
        ({ name }) => name.slice(12),
      )
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let holding: Promise<void> | undefined
    smsc.react = () => {
      // The lock delays the end of the job, but not the storing of parts.
      holding ??= db.begin(async (tx) => {
        await tx.run`select 1 from jobs where account_id = ${who.id} for update`
        await held
      })
      return 'take'
    }
    const { body } = await send(who, number, 'x'.repeat(200))
    await until(async () => smsc.submits.length === 2)
    for (const { id } of smsc.submits) smsc.receipt(id, 'DELIVRD', undefined, number)
    await waitForStatus(who, body.message_uuid, 'delivered')
    assert.deepEqual(await names(), ['sent', 'delivered'])
    release()
    await holding
    await until(async () => (await db.maybe`select 1 from jobs where account_id = ${who.id}`) === null)
    assert.deepEqual(await names(), ['sent', 'delivered'])
  }),
)

test(
  'the sent event of a long message includes a receipt that arrived before the submit was stored',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { window: 100 })
    const who = await tenant()
    const { number, channel } = await giveNumber(world, who)
    const isTold = () =>
      until(async () =>
        (await db.maybe`select 1 from sms_messages where account_id = ${who.id} and sub_status = 'enroute'`)
          ? true
          : undefined,
      )
    // The second part is throttled until the receipt of the first is stored; the job ends after that.
    let isFull = true
    smsc.react = ({ concat }) => (concat?.part === 2 && isFull ? 88 : 'take')
    const { body } = await send(who, number, 'x'.repeat(200))
    await until(async () => smsc.submits.length >= 2 || undefined)
    smsc.receipt(smsc.submits[0]?.id ?? '', 'enroute', undefined, number)
    await isTold()
    isFull = false
    const message = await waitForStatus(who, body.message_uuid, 'sent')
    assert.equal(message.sub_status, 'enroute')
    const expected = { ...message, created_at: message.created_at.slice(0, -1), channel_uuid: channel }
    const event = 'sms.message.sent'
    assert.deepEqual(JSON.parse(await told(who.id, body.message_uuid, event)), { ...expected, event })
  }),
)

test(
  'a message with many webhooks is sent like any other, and its events wait for the webhooks',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { window: 100 })
    const who = await tenant()
    const { number } = await giveNumber(world, who)
    await db.run`
      insert into webhooks (account_id, id, event, event_name, hook_url, sealed_secret, created_at, updated_at)
      select ${who.id}, gen_random_uuid(), name, name, 'http://127.0.0.1:9000/' || n, '', now(), now()
      from unnest(array['sms.message.sent', 'sms.message.delivered']) name, generate_series(1, 17) n`
    const { body } = await send(who, number, 'Hello', { to: '+33612345678' })
    await waitForStatus(who, body.message_uuid, 'sent')
    smsc.receipt('id1', 'DELIVRD', '+33612345678', number)
    await waitForStatus(who, body.message_uuid, 'delivered')
    const rows = await db.many<{ name: string }>`
      select name from event_backlog where account_id = ${who.id} order by name desc`
    assert.deepEqual(
      rows.map(({ name }) => name),
      ['sms.message.sent', 'sms.message.delivered'],
    )
  }),
)

test(
  'a receipt whose message changes at the same moment is applied as a whole or not at all',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    const connection = (await connect('only', smsc, { window: 100 })).slice(3)
    const who = await tenant()
    const { number } = await giveNumber(world, who)
    const { body } = await send(who, number, 'contended')
    await waitForStatus(who, body.message_uuid, 'sent')
    const id = body.message_uuid.slice(3)
    const statuses = () => db.one`
      select m.status as message, p.status as part from sms_messages m
      join sms_parts p on p.account_id = m.account_id and p.message_id = m.id
      where m.account_id = ${who.id} and m.id = ${id}`
    const receipt = { connection, carrierId: 'id1', status: 'delivered', error: null, handsets: [null, null] } as const
    let applied: Promise<unknown> | undefined
    await db.begin(async (tx) => {
      await tx.run`update sms_messages set status = 'failed' where account_id = ${who.id} and id = ${id}`
      applied = applyFinalReceipts(db, [receipt]).catch((error: unknown) => error)
      await until(async () => {
        const { waiting } = await db.one<{ waiting: boolean }>`
          select exists (select from pg_stat_activity
            where wait_event_type = 'Lock' and query like '%sms_apply_receipts%' and datname = current_database()) as waiting`
        return waiting
      })
    })
    // SQLSTATE serialization_failure: the batcher repeats each receipt alone.
    assert.equal(sqlState(await applied), '40001')
    assert.deepEqual(await statuses(), { message: 'failed', part: 'sent' })
    assert.deepEqual(await applyFinalReceipts(db, [receipt]), new Set())
  }),
)
