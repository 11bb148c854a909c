import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { until } from '../../test/platform.ts'
import { giveNumber, makeSmsWorld, withSmscs } from './testing.ts'

const world = await makeSmsWorld()
const { db, tenant, send, reaches, connect } = world
after(world.stop)

/** What an event of an account says, as it was written down. */
const told = (account: string, printed: string, event: string) =>
  until(async () => {
    const row = await db.maybe<{ payload: string }>`
      select payload::text from events
      where account_id = ${account} and name = ${event} and payload ->> 'uuid' = ${printed}`
    return row?.payload
  })

test(
  'events of texts say what the interface says of them, whatever the text',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc, { window: 100 })
    const who = await tenant()
    const { number, channel } = await giveNumber(world, who)
    const texts = [
      'plain',
      '"quoted" \\ back',
      'tab\tline\n\u0001\u007f',
      '\u2028 é 😀 </script>',
      `${'x'.repeat(459)}`,
    ]
    for (const [i, text] of texts.entries()) {
      const { body } = await send(who, number, text, { to: `+33612345${100 + i}` })
      const message = await reaches(who, body.message_uuid, 'sent')
      const expected = { ...message, created_at: message.created_at.slice(0, -1), channel_uuid: channel }
      const event = 'sms.message.sent'
      assert.deepEqual(JSON.parse(await told(who.id, body.message_uuid, event)), { ...expected, event })
    }
  }),
)
