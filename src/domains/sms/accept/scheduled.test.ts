import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import type { Tenant } from '../../../../test/world.ts'
import { contact, giveNumber, makeSmsWorld, withSmscs } from '../sms-testing.ts'

const world = await makeSmsWorld()
const { call, db, parts, tenant, send, messageOf, waitForStatus, connect, change, advance } = world
after(world.stop)

const make = async () => {
  const who = await tenant({ balance: '1' })
  const { number, channel } = await giveNumber(world, who)
  return { who, number, channel, balance: async () => (await call(who, 'GET', '/open/info')).body.balance.amount }
}
const inSeconds = (seconds: number) => new Date(parts.clock.now() + seconds * 1_000).toISOString()

test(
  'a scheduled message is charged at once and submitted at its time, not before',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc)
    const { who, number, balance } = await make()
    const later = await send(who, number, 'later', { send_at: inSeconds(3_600) })
    assert.equal(later.status, 202)
    const message = await messageOf(who, later.body.message_uuid)
    assert.deepEqual([message.status, await balance()], ['scheduled', '0.96'])
    assert.match(message.send_at, /Z$/)
    const now = await send(who, number, 'now')
    await waitForStatus(who, now.body.message_uuid, 'sent')
    assert.deepEqual(
      smsc.submits.map(({ text }) => text),
      ['now'],
    )
    await advance(3_601)
    await waitForStatus(who, later.body.message_uuid, 'sent')
    assert.equal(await balance(), '0.92')
  }),
)

test('a message with a past send time is sent at once; one over a year ahead is refused', async () => {
  const { who, number } = await make()
  const past = await send(who, number, 'x', { send_at: '2020-01-01T00:00:00Z' })
  assert.equal((await messageOf(who, past.body.message_uuid)).status === 'scheduled', false)
  assert.equal((await send(who, number, 'x', { send_at: inSeconds(400 * 86_400) })).status, 400)
  assert.equal((await send(who, number, 'x', { send_at: 'tomorrow' })).status, 400)
})

test('a scheduled message is canceled once, refunded at the same moment and never sent', async () => {
  const { who, number, channel, balance } = await make()
  const { body } = await send(who, number, 'never', { send_at: inSeconds(600) })
  const cancel = () => call(who, 'DELETE', `/open/sms/message/${body.message_uuid}`)
  const answers = await Promise.all([cancel(), cancel(), cancel()])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409])
  assert.equal(answers.find(({ status }) => status === 200)?.body.message.status, 'canceled')
  assert.equal(await balance(), '1.00')
  const { count } = await db.one<{
    count: number
  }>`select count(*) as count from jobs where id = ${body.message_uuid.slice(3)}`
  assert.equal(count, 0)
  const { messages } = (await call(who, 'GET', `/open/sms/messages/${channel}/${contact}`)).body
  assert.deepEqual([messages[0].status, messages[0].price], ['canceled', 0.04])
  const refused = await cancel()
  assert.deepEqual([refused.status, refused.body.error_code], [409, 'not_scheduled'])
})

test(
  'a scheduled message whose time has come cannot be canceled, even while it waits for a carrier',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    const only = await connect('only', smsc)
    await change(only, { settings: { port: 1 } })
    await until(async () => parts.carriers.state(only.slice(3))?.state === 'down')
    const { who, number } = await make()
    const { body } = await send(who, number, 'too late', { send_at: inSeconds(600) })
    await advance(601)
    const refused = await call(who, 'DELETE', `/open/sms/message/${body.message_uuid}`)
    assert.deepEqual([refused.status, refused.body.error_code], [409, 'not_scheduled'])
    await change(only, { settings: { port: smsc.port } })
    await waitForStatus(who, body.message_uuid, 'sent')
  }),
)

const endings: readonly [string, (who: Tenant, number: string) => Promise<unknown>][] = [
  [
    'who sent STOP meanwhile',
    ({ id }, number) => db.run`
      insert into sms_opt_outs (account_id, number, contact) values (${id}, ${number}, ${contact})`,
  ],
  [
    'that the account opted out meanwhile',
    (who) => call(who, 'POST', '/open/sms/opt-outs', { contact_number: contact }),
  ],
]

for (const [ending, optOut] of endings)
  test(`a scheduled message to a contact ${ending} is not sent and is refunded`, async (t) => {
    const { who, number, balance } = await make()
    const { body } = await send(who, number, 'unwanted', { send_at: inSeconds(600) })
    await optOut(who, number)
    await withSmscs(world, 1, async ([smsc]) => {
      assert.ok(smsc)
      await connect('only', smsc)
      await advance(601)
      const message = await waitForStatus(who, body.message_uuid, 'failed')
      assert.deepEqual([message.error_code, await balance(), smsc.submits], ['opted_out', '1.00', []])
    })(t)
  })
