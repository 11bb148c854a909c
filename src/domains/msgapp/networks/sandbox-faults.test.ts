import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startChat } from '../../../../test/chat-fixture.ts'
import { until } from '../../../../test/platform.ts'

// The sandbox network with faults: each message arrives exactly once, in both directions.

const chat = await startChat()
await chat.runConnections()
const { call, channel, control, waitForStatus } = chat

let lines = 0
const furnish = async () => {
  const ada = await chat.tenant()
  const number = `+44740014${++lines}008`
  const uuid = await channel(ada, number)
  await waitForStatus(ada, uuid, 'C')
  const handset = `+44740015${lines}008`
  const send = async (text: string): Promise<string> => {
    const { body } = await call(ada, 'POST', '/open/msgapp/send-message', {
      from_number: number,
      to_number: handset,
      text,
    })
    return body.message_uuid
  }
  const ack = async (message: string): Promise<number> => {
    const { body } = await call(ada, 'GET', `/open/msgapp/message/WW-${uuid}-${handset.slice(1)}@c.us/${message}`)
    return body.message.wa_msg_ack
  }
  const thread = async (): Promise<{ message: { text: string } }[]> =>
    (await call(ada, 'GET', `/open/msgapp/messages/${number}/${handset}`)).body.messages
  const write = (text: string) => call(ada, 'POST', `/sandbox/handsets/${handset}/msgapp`, { to: number, text })
  const seen = async (): Promise<{ text: string }[]> =>
    (await call(ada, 'GET', `/sandbox/handsets/${handset}`)).body.msgapp
  return { ada, uuid, send, ack, thread, write, seen }
}

const texts = ['one', 'two', 'three', 'four', 'five']

for (const kind of ['duplicates', 'reorder', 'late', 'slow'])
  test(`${kind}: everything arrives once, and is acknowledged`, async () => {
    const { send, ack, thread, write } = await furnish()
    await control('POST', '/chat/faults', { kind, ms: 700 })
    try {
      const sent = await Promise.all(texts.map(send))
      for (const text of texts) await write(`back ${text}`)
      await until(async () => (await Promise.all(sent.map(ack))).every((level) => level === 2))
      const all = await until(async () => {
        const messages = await thread()
        return messages.length >= 10 && messages
      })
      assert.deepEqual(
        all.map(({ message }) => message.text).sort(),
        [...texts, ...texts.map((text) => `back ${text}`)].sort(),
      )
    } finally {
      await control('DELETE', '/chat/faults')
    }
  })

test('a message whose response is lost with the connection is sent again, and reaches the handset once', async () => {
  const { send, ack, seen } = await furnish()
  await control('POST', '/chat/faults', { kind: 'cut' })
  const message = await send('Only once')
  await until(async () => (await ack(message)) === 2)
  assert.deepEqual(
    (await seen()).map(({ text }) => text),
    ['Only once'],
  )
})

test('messages written while the channel was down arrive when it is back', async () => {
  const { ada, uuid, thread, write, send, ack } = await furnish()
  await control('POST', '/chat/faults', { kind: 'refuse' })
  await control('POST', '/chat/faults', { kind: 'disconnect' })
  await waitForStatus(ada, uuid, 'D')
  await write('While you were away')
  const message = await send('While I was away')
  await control('DELETE', '/chat/faults')
  await waitForStatus(ada, uuid, 'C')
  await until(async () => (await thread()).some((one) => one.message.text === 'While you were away'))
  await until(async () => (await ack(message)) === 2)
})

test('an event that can never be stored becomes a dead letter for the operator, and all later ones continue', async () => {
  const { ada, uuid, thread, write } = await furnish()
  await chat.db.raw(`
    create function refuse_poison() returns trigger language plpgsql as
      $$ begin raise exception 'this is poison'; end $$;
    create trigger poison before insert on msgapp_messages for each row when (new.text = 'poison')
      execute function refuse_poison()`)
  for (const text of ['before', 'poison', 'after']) await write(text)
  await until(async () => (await thread()).length === 2)
  const [deadLetter, ...others] = await until(async () => {
    const rows = await chat.db.many<{ what: string; content: string; reason: string }>`
      select what, content, reason from msgapp_dead_letters where channel_id = ${uuid.slice(3)}`
    return rows.length > 0 && rows
  })
  assert.ok(deadLetter)
  assert.deepEqual([deadLetter.what, deadLetter.reason, others.length], ['inbound', 'P0001 this is poison', 0])
  assert.equal(JSON.parse(deadLetter.content)[0].text, 'poison')
  const { connection_status, events } = await chat.statusOf(ada, uuid)
  assert.deepEqual([connection_status, events[0].event], ['C', 'set-aside'])
  const figures = (await call(null, 'GET', '/metrics')).body
  assert.match(figures, /^trunkline_msgapp_set_aside\{platform="sandbox"\} 1$/m)
  // The network got an acknowledgement, and does not redeliver.
  await until(async () => (await chat.letters()) === 0)

  const listed = async () => (await call('operator', 'GET', '/operator/set-aside')).body.set_aside
  const [shown] = await listed()
  assert.deepEqual([shown.channel_uuid, shown.what, shown.reason], [uuid, 'inbound', deadLetter.reason])
  const retry = () => call('operator', 'POST', `/operator/set-aside/${shown.uuid}/retry`)
  const refused = await retry()
  assert.deepEqual([refused.status, refused.body.error_code], [409, 'still_refused'])
  await chat.db.raw('drop trigger poison on msgapp_messages')
  assert.equal((await retry()).status, 200)
  assert.deepEqual((await thread())[0]?.message.text, 'poison')
  assert.deepEqual([await listed(), (await retry()).status], [[], 404])
})

test('a number of the platform can write to another', async () => {
  const ada = await chat.tenant()
  const [one, two] = ['+447400160018', '+447400160028']
  for (const number of [one, two]) await waitForStatus(ada, await channel(ada, number), 'C')
  await call(ada, 'POST', '/open/msgapp/send-message', { from_number: one, to_number: two, text: 'Hello, self' })
  const at = async (number: string, other: string) =>
    (await call(ada, 'GET', `/open/msgapp/messages/${number}/${other}`)).body.messages
  await until(async () => (await at(two, one)).length === 1)
  await until(async () => (await at(one, two))[0].wa_msg_ack === 2)
  assert.deepEqual([(await at(one, two))[0].sent_by, (await at(two, one))[0].sent_by], ['api', 'user'])
})
