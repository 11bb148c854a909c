import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../../../test/world.ts'
import { inbound, makeChatHarness } from '../testing.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { db } = world

const remoteOf = (number: string) => ({ number, remote: `${number.slice(1)}@localhost`, pushname: null })
const recipient = remoteOf('+447700900123')
const stranger = remoteOf('+447700900124')
const nameless = { number: null, remote: 'a@elsewhere.test', pushname: null }

test('a third party’s receipt, failure or reaction changes nothing, and the recipient’s counts', async () => {
  const { id: account } = await world.tenant()
  const { line, intake } = await makeChatHarness(world, account)
  await intake.inbound(line, inbound({ id: 'm1', number: recipient.number, own: true }))
  const message = () => db.one<{ ack: number }>`
    select ack, failure_code, read_at is not null as read, reactions from msgapp_messages where account_id = ${account}`
  const events = () => db.many`select name from events where account_id = ${account} order by id`
  const [before, published] = [await message(), await events()]
  const at = Date.now()
  for (const from of [stranger, nameless]) {
    await intake.receipt(line, { id: 'm1', level: 3, at, by: null, from })
    await intake.failure(line, { id: 'm1', code: 'gone', reason: 'forged', at, from })
    await intake.reaction(line, { id: 'm1', by: from, emoji: 'x', at, from })
  }
  assert.deepEqual([await message(), await events()], [before, published])
  assert.deepEqual(await db.many`select from msgapp_early_receipts where channel_id = ${line.channel}`, [])

  await Promise.all(
    [stranger, recipient].map((from) =>
      intake.receipt(line, { id: 'm1', level: from === stranger ? 3 : 2, at, by: null, from }),
    ),
  )
  assert.deepEqual(await message(), { ...before, ack: 2 })
})

test('a receipt that arrives before its message is known counts only if the recipient sent it', async () => {
  const { id: account } = await world.tenant()
  const { line, intake } = await makeChatHarness(world, account)
  const at = Date.now()
  const cameFrom = async (id: string, froms: readonly (typeof recipient | typeof nameless)[], level: 2 | 3) => {
    for (const from of froms) await intake.receipt(line, { id, level, at, by: null, from })
  }
  await cameFrom('forged', [stranger, nameless], 3)
  await cameFrom('both', [stranger], 3)
  await cameFrom('both', [recipient], 2)
  for (const id of ['forged', 'both']) await intake.inbound(line, inbound({ id, number: recipient.number, own: true }))
  const messages = await db.many`
    select network_id, ack, read_at from msgapp_messages where account_id = ${account} order by network_id desc`
  assert.deepEqual(messages, [
    { network_id: 'forged', ack: 1, read_at: null },
    { network_id: 'both', ack: 2, read_at: null },
  ])
  assert.deepEqual(await db.many`select from msgapp_early_receipts where channel_id = ${line.channel}`, [])
})
