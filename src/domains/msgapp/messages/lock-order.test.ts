import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { makeWorld } from '../../../../test/world.ts'
import type { Tx } from '../../../platform/db/sql.ts'
import { uuid } from '../../../platform/lib/id.ts'
import * as arrivals from './inbound/inbound-store.ts'
import { deleteMessages } from './outbound/delete-operation.ts'
import * as store from './store.ts'
import { inbound, makeChatHarness } from './testing.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { db } = world

// Two transactions deadlock only if they lock the same rows in different orders. Here one of them holds the first
// row, and the other must not hold the second one then.

type Row = { id: string; peer: string; network_id: string }

/** A message from each of two people, in the lock order of their conversations. */
const furnish = async () => {
  const { id: account } = await world.tenant()
  const { line, intake } = await makeChatHarness(world, account)
  for (const number of ['+447700900123', '+447700900124'])
    await intake.inbound(line, inbound({ number, own: true, text: number }))
  const [first, second] = await db.many<Row>`
    select id, peer, network_id from msgapp_messages where account_id = ${account} order by peer`
  assert.ok(first && second)
  const hold = (tx: Tx, { peer }: Row) => tx.run`
    select from msgapp_chats where account_id = ${account} and channel_id = ${line.channel} and peer = ${peer} for update nowait`
  return { account, channel: line.channel, first, second, hold }
}

/** Waits until a statement blocks on a row lock of another transaction. */
const waiting = (like: string) =>
  until(
    () => db.maybe`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like ${like} limit 1`,
  )

test('deleting messages locks their conversations first, in one order', async () => {
  const { account, first, second, hold } = await furnish()
  let forgotten: Promise<number> | undefined
  await db.begin(async (tx) => {
    await hold(tx, first)
    const wishes = [second, first].map(({ id }) => ({ account, id, reach: 'us' as const }))
    forgotten = db.begin((other) => deleteMessages(other, wishes))
    await waiting('%msgapp_chats%for update')
    await hold(tx, second)
  })
  assert.equal(await forgotten, 2)
})

test('dropping an echo locks its conversation first, as deleting does', async () => {
  const { account, channel, first, hold } = await furnish()
  const id = '01890000-0000-7000-8000-000000000000'
  const sent = [{ account, id, channel, networkId: first.network_id, failure: null }]
  let dropped: Promise<unknown> | undefined
  await db.begin(async (tx) => {
    await hold(tx, first)
    dropped = db.begin((other) => store.storeSent(other, sent))
    await waiting('%msgapp_store_sent%')
    await tx.run`select from msgapp_messages where account_id = ${account} and id = ${first.id} for update nowait`
  })
  await dropped
  assert.equal(await db.maybe`select from msgapp_messages where account_id = ${account} and id = ${first.id}`, null)
})

test('an echo in another conversation than its message leaves that one as it was, or deletes it', async () => {
  const { account, channel, first, second } = await furnish()
  const said = '01890000-0000-7000-8000-000000000001'
  await db.run`
    insert into msgapp_messages (account_id, id, channel_id, peer, direction, sent_by, text, at, created_at, updated_at)
    values (${account}, ${said}, ${channel}, ${first.peer}, 'outbound', 'api', 'before', app_now(), app_now(), app_now())`
  await db.run`update msgapp_messages set created_at = created_at - interval '1 hour' where id = ${said}`
  const remaining = '01890000-0000-7000-8000-000000000002'
  await db.run`
    insert into msgapp_messages (account_id, id, channel_id, peer, direction, sent_by, text, at, created_at, updated_at)
    values (${account}, ${remaining}, ${channel}, 'elsewhere', 'outbound', 'api', 'kept', app_now(), app_now(), app_now())`
  const sent = [first, second].map((one) => ({
    account,
    id: remaining,
    channel,
    networkId: one.network_id,
    failure: null,
  }))
  await db.begin((tx) => store.storeSent(tx, sent))
  const chats = await db.many<{ peer: string; last: string }>`
    select peer, last_message_id as last from msgapp_chats where account_id = ${account}`
  assert.deepEqual(
    chats.map(({ peer, last }) => [peer, last]),
    [[first.peer, said]],
  )
})

/** A number with inbound messages, and a check whether one of them is locked. */
const furnishLine = async () => {
  const { id: account } = await world.tenant()
  const chat = await makeChatHarness(world, account)
  const holdMessage = (tx: Tx, id: string) => tx.run`
    select from msgapp_messages where account_id = ${account} and id = ${id} for update nowait`
  return { account, channel: chat.line.channel, holdMessage, ...chat }
}

test('events delivered to two processes at once in different orders are stored once, without a deadlock', async () => {
  const { account, channel } = await furnishLine()
  const arrival = (networkId: string): arrivals.InboundRow => ({
    account,
    id: uuid(),
    channel,
    peer: 'x@c.us',
    networkId,
    isOwn: false,
    number: null,
    dialled: null,
    remote: 'x@c.us',
    pushname: null,
    group: null,
    author: null,
    text: networkId,
    pin: null,
    content: null,
    media: null,
    at: Date.now(),
    isBlocked: false,
  })
  const add = (tx: Tx, ...ids: string[]) => arrivals.insertNew(tx, ids.map(arrival))
  let other: Promise<{ id: string }[]> | undefined
  await db.begin(async (tx) => {
    assert.equal((await add(tx, 'a')).length, 1)
    other = db.begin((second) => add(second, 'b', 'a'))
    await waiting('%insert into msgapp_messages%')
    assert.equal((await add(tx, 'b')).length, 1)
  })
  assert.equal((await other)?.length, 0)
})

test('numbers that become known with messages are stored one by one', async () => {
  const { account, channel, line, intake } = await furnishLine()
  const say = (remote: string, number: string | null) =>
    intake.inbound(line, inbound({ from: { number, remote, pushname: null } }))
  await say('1@lid', null)
  await say('2@lid', null)
  let came: Promise<unknown> | undefined
  await db.begin(async (tx) => {
    const hold = (peer: string) => tx.run`
      select from msgapp_chats where account_id = ${account} and channel_id = ${channel} and peer = ${peer} for update nowait`
    await hold('1@lid')
    came = Promise.all([say('2@lid', '+447400000002'), say('1@lid', '+447400000001')])
    await waiting('%msgapp_chats%for update%')
    await hold('2@lid')
  })
  await came
  const chats = await db.many<{
    peer: string
  }>`select peer from msgapp_chats where channel_id = ${channel} order by peer`
  assert.deepEqual(
    chats.map(({ peer }) => peer),
    ['447400000001@c.us', '447400000002@c.us'],
  )
})

test('sent messages are stored in the order of acknowledgement', async () => {
  const { account, channel, line, intake, holdMessage } = await furnishLine()
  for (const number of ['+447700900123', '+447700900124']) await intake.inbound(line, inbound({ number, own: true }))
  const [first, second] = await db.many<{ id: string }>`
    select id from msgapp_messages where account_id = ${account} order by id`
  assert.ok(first && second)
  const rows = [second, first].map(({ id }) => ({ account, id, channel, networkId: uuid(), failure: null }))
  let written: Promise<unknown[]> | undefined
  await db.begin(async (tx) => {
    await holdMessage(tx, first.id)
    written = db.begin((other) => store.storeSent(other, rows))
    await waiting('%msgapp_store_sent%')
    await holdMessage(tx, second.id)
  })
  assert.equal((await written)?.length, 2)
})

test('a receipt that waits for the answer to a send locks no message meanwhile', async () => {
  const { account, channel, line, intake, holdMessage } = await furnishLine()
  await intake.inbound(line, inbound({ id: 'known', own: true }))
  const message = await db.one<{ id: string }>`select id from msgapp_messages where account_id = ${account}`
  const tell = (id: string) => intake.receipt(line, { id, level: 2, at: Date.now(), by: null })
  let publishing: Promise<unknown> | undefined
  await db.begin(async (tx) => {
    await store.lockChannelsShared(tx, [channel])
    publishing = Promise.all([tell('known'), tell('unknown')])
    await waiting('%pg_advisory_xact_lock(%')
    await holdMessage(tx, message.id)
  })
  await publishing
})

test('a sender whose number becomes known meanwhile is in one conversation', async () => {
  const { account, line, intake } = await furnishLine()
  await intake.inbound(line, inbound({ number: null, text: 'Before' }))
  const [number, peer] = ['+447700900123', '447700900123@c.us']
  let written: Promise<void> | undefined
  await db.begin(async (tx) => {
    await arrivals.moveToNumber(tx, line, { remote: '77@lid', number, peer })
    written = intake.inbound(line, inbound({ number: null, text: 'After' }))
    await until(
      () => db.maybe`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%msgapp%' limit 1`,
    )
  })
  await written
  const chats = await db.many<{ peer: string }>`select peer from msgapp_chats where account_id = ${account}`
  assert.deepEqual(chats, [{ peer }])
})
