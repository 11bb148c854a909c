import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../../test/platform.ts'
import { makeWorld } from '../../../../../test/world.ts'
import { inbound, makeChatHarness } from '../testing.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { call } = world

test('a person with a hidden number is answered by network id, and by number once it is known', async () => {
  const tenant = await world.tenant()
  const chat = await makeChatHarness(world, tenant.id)
  const { line } = chat
  const say = (to: string, text: string) =>
    call(tenant, 'POST', '/open/msgapp/send-message', { from_number: line.number, to_remote_id: to, text })
  assert.deepEqual((await say('77@lid', 'Too early')).status, 404)

  await chat.intake.inbound(line, inbound({ number: null, text: 'Who am I' }))
  const [came] = (await call(tenant, 'GET', `/open/msgapp/messages/${line.number}`)).body.messages
  assert.deepEqual([came.remote_id, came.remote_phone_number], ['77@lid', undefined])
  assert.equal((await say(came.remote_id, 'Somebody')).status, 202)
  await until(async () => chat.sent.length === 1)
  assert.deepEqual(chat.sent[0]?.to, { number: '', remote: '77@lid' })
  const thread = async (who: string) =>
    (await call(tenant, 'GET', `/open/msgapp/messages/${line.number}/${who}`)).body.messages.map(
      ({ message }: { message: { text: string } }) => message.text,
    )
  assert.deepEqual(await thread('77@lid'), ['Somebody', 'Who am I'])

  await chat.intake.mapped(line, '77@lid', '+447400123456')
  assert.equal((await say('77@lid', 'Ada')).status, 202)
  await until(async () => chat.sent.length === 2)
  assert.deepEqual(chat.sent[1]?.to, { number: '+447400123456', remote: '77@lid' })
  assert.deepEqual(await thread('+447400123456'), ['Ada', 'Somebody', 'Who am I'])
  assert.equal((await call(tenant, 'GET', `/open/msgapp/conversations/WPN${line.channel}`)).body.total, 1)
})

test('a person first written to by number is reached by the id that the network reports later', async () => {
  const tenant = await world.tenant()
  const chat = await makeChatHarness(world, tenant.id)
  const [number, remote] = ['+447400123457', '79@lid']
  const say = (to: { to_number: string } | { to_remote_id: string }) =>
    call(tenant, 'POST', '/open/msgapp/send-message', { from_number: chat.line.number, text: 'Hello', ...to })
  assert.equal((await say({ to_number: number })).status, 202)
  await until(async () => chat.sent.length === 1)
  await chat.intake.mapped(chat.line, remote, number)
  assert.equal((await say({ to_remote_id: remote })).status, 202)
  await until(async () => chat.sent.length === 2)
  assert.deepEqual(chat.sent[1]?.to, { number, remote })
})

test('unread messages of a hidden number are marked with the conversation that they moved to', async () => {
  const tenant = await world.tenant()
  const { line, intake } = await makeChatHarness(world, tenant.id)
  const session = async () =>
    (await call(tenant, 'GET', `/open/msgapp/conversations/WPN${line.channel}`)).body.sessions[0]
  const read = async () => {
    const key = encodeURIComponent((await session()).session_key)
    assert.equal((await call(tenant, 'POST', `/open/msgapp/conversation/${key}/read`)).status, 200)
  }
  await intake.inbound(line, inbound({ number: null, text: 'Before' }))
  await world.db.run`
    update msgapp_messages set created_at = created_at - interval '1 hour' where channel_id = ${line.channel}`
  await world.db.run`update msgapp_chats set last_at = last_at - interval '1 hour' where channel_id = ${line.channel}`
  await intake.inbound(line, inbound({ text: 'After' }))
  await read()
  await intake.mapped(line, '77@lid', '+447700900123')
  assert.equal((await session()).unread_count, 1)
  await read()
  const { messages } = (await call(tenant, 'GET', `/open/msgapp/messages/${line.number}`)).body
  assert.deepEqual(
    messages.map((one: { read: boolean; message: { text: string } }) => [one.message.text, one.read]),
    [
      ['After', true],
      ['Before', true],
    ],
  )
})

test('a person whose number changes continues in one conversation with all messages, and back', async () => {
  const tenant = await world.tenant()
  const { line, intake } = await makeChatHarness(world, tenant.id)
  const [written, requested] = ['+447400650002', '+447400650012']
  const shown = async () => {
    const { sessions } = (await call(tenant, 'GET', `/open/msgapp/conversations/WPN${line.channel}`)).body
    const texts = (await call(tenant, 'GET', `/open/msgapp/messages/${line.number}`)).body.messages
    return [
      ...sessions.map((one: { remote_phone_number: string; unread_count: number }) => [
        one.remote_phone_number,
        one.unread_count,
      ]),
      ...texts.map((one: { remote_phone_number: string; message: { text: string } }) => [
        one.remote_phone_number,
        one.message.text,
      ]),
    ]
  }
  await intake.inbound(line, inbound({ number: written, text: 'Before' }))
  await intake.renamed(line, written, requested)
  assert.deepEqual(await shown(), [
    [requested, 1],
    [requested, 'Before'],
  ])
  await intake.inbound(line, inbound({ number: written, text: 'Between' }))
  await intake.renamed(line, requested, written)
  assert.deepEqual(await shown(), [
    [written, 2],
    [written, 'Between'],
    [written, 'Before'],
  ])
})

test('a person whose number changed is also found by the former one: messages, thread and read mark', async () => {
  const tenant = await world.tenant()
  const { line, intake } = await makeChatHarness(world, tenant.id)
  const [written, requested, third] = ['+447400650003', '+447400650013', '+447400650004']
  await intake.inbound(line, inbound({ number: written, text: 'Before' }))
  const [{ uuid, session_key }] = (await call(tenant, 'GET', `/open/msgapp/messages/${line.number}`)).body.messages
  const message = async () => (await call(tenant, 'GET', `/open/msgapp/message/${session_key}/${uuid}`)).body.message
  const texts = async (number: string) =>
    (await call(tenant, 'GET', `/open/msgapp/messages/${line.number}/${number}`)).body.messages.map(
      (one: { message: { text: string } }) => one.message.text,
    )
  await intake.renamed(line, written, requested)
  await intake.renamed(line, requested, third)
  assert.deepEqual([(await message()).uuid, (await message()).remote_phone_number], [uuid, third])
  assert.deepEqual(
    [await texts(written), await texts(requested), await texts(third)],
    [['Before'], ['Before'], ['Before']],
  )
  const read = await call(tenant, 'POST', `/open/msgapp/conversation/${session_key}/read`)
  assert.deepEqual([read.status, (await message()).read], [200, true])
  // A later conversation under the former number is separate, and earlier references still resolve.
  await intake.inbound(
    line,
    inbound({ number: written, from: { number: written, remote: 'x', pushname: null }, text: 'After' }),
  )
  assert.deepEqual([await texts(written), (await message()).uuid], [['After'], uuid])
  await intake.renamed(line, third, written)
  assert.deepEqual([await texts(third), (await message()).uuid], [['After', 'Before'], uuid])
})

test('the later of two conversations of a person who changed numbers continues, even when the network reports no number', async () => {
  const tenant = await world.tenant()
  const { line, intake } = await makeChatHarness(world, tenant.id)
  const from = (number: string | null) => ({ from: { number, remote: '78@lid', pushname: null } })
  const [old, young] = ['+447700900201', '+447700900202']
  for (const [hours, number] of [2, 1].map((hours, i) => [hours, [old, young][i] ?? ''] as const)) {
    await intake.inbound(line, inbound({ ...from(number), text: number }))
    await world.db.run`
      update msgapp_chats set last_at = last_at - make_interval(hours => ${hours})
      where channel_id = ${line.channel} and number = ${number}`
  }
  // Independent of the rows' physical order.
  await world.db.run`update msgapp_chats set unread = unread where channel_id = ${line.channel} and number = ${old}`
  await intake.inbound(line, inbound({ ...from(null), text: 'Which one?' }))
  const { messages } = (await call(tenant, 'GET', `/open/msgapp/messages/${line.number}/78@lid`)).body
  assert.deepEqual(
    messages.map((one: { message: { text: string } }) => one.message.text),
    ['Which one?', young],
  )
})

test('no person is listed twice, and an id known only to another account is unknown', async () => {
  const [tenant, other] = [await world.tenant(), await world.tenant()]
  const [chat, theirs] = [await makeChatHarness(world, tenant.id), await makeChatHarness(world, other.id)]
  await theirs.intake.inbound(theirs.line, inbound({ number: null }))
  const send = async (more: object) => {
    const body = { from_number: chat.line.number, text: 'x', ...more }
    const answer = await call(tenant, 'POST', '/open/msgapp/send-message', body)
    return [answer.status, answer.body.error_code]
  }
  assert.deepEqual(await send({ to_remote_id: '77@lid' }), [404, 'not_found'])
  assert.deepEqual(await send({ to_remote_id: '77@lid', to_number: '+447400123456' }), [400, 'invalid_request'])
  assert.equal(chat.sent.length, 0)
})

test('events that can never be stored become dead letters up to a limit, and a retry keeps their time of receipt', async () => {
  const tenant = await world.tenant()
  const { line, intake } = await makeChatHarness(world, tenant.id)
  await intake.inbound(line, inbound({ at: Number.NaN, text: `When? ${'x'.repeat(5_000)}` }))
  const [deadLetter] = (await call('operator', 'GET', '/operator/set-aside')).body.set_aside
  assert.deepEqual([deadLetter.what, deadLetter.content.length], ['inbound', 4_000])
  await world.db.run`
    insert into msgapp_dead_letters (account_id, id, channel_id, what, content, digest, reason, created_at)
    select ${tenant.id}, gen_random_uuid(), ${line.channel}, 'inbound', '[]', sha256(n::text::bytea), 'x', app_now()
    from generate_series(2, 1000) n`
  await assert.rejects(intake.inbound(line, inbound({ at: Number.NaN, text: 'One more' })))
  await intake.inbound(line, inbound({ text: 'The next one' }))

  assert.equal((await call('operator', 'POST', `/operator/set-aside/${deadLetter.uuid}/retry`)).status, 200)
  const { messages } = (await call(tenant, 'GET', `/open/msgapp/messages/${line.number}`)).body
  const [late, next] = messages as { message: { text: string } }[]
  assert.deepEqual([late?.message.text.slice(0, 5), next?.message.text], ['When?', 'The next one'])
  const [stored] = await world.db.many<{ at: Date }>`
    select at from msgapp_messages where account_id = ${tenant.id} and text like 'When?%'`
  assert.ok(stored && stored.at.getFullYear() > 2000)
})
