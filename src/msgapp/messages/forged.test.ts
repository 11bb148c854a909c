import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../test/world.ts'
import { inbound, makeChat } from './testing.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { db } = world

const remoteOf = (number: string) => ({ number, remote: `${number.slice(1)}@localhost`, pushname: null })
const recipient = remoteOf('+447700900123')
const stranger = remoteOf('+447700900124')
const nameless = { number: null, remote: 'a@elsewhere.test', pushname: null }

test('a receipt, failure or reaction of a third party changes nothing, and that of the recipient counts', async () => {
  const { id: account } = await world.tenant()
  const { line, intake } = await makeChat(world, account)
  await intake.inbound(line, inbound({ id: 'm1', number: recipient.number, own: true }))
  const message = () => db.one<{ ack: number }>`
    select ack, failure_code, read_at is not null as read, reactions from msgapp_messages where account_id = ${account}`
  const events = () => db.many`select name from events where account_id = ${account} order by id`
  const [before, told] = [await message(), await events()]
  const at = Date.now()
  for (const from of [stranger, nameless]) {
    await intake.receipt(line, { id: 'm1', level: 3, at, by: null, from })
    await intake.failure(line, { id: 'm1', code: 'gone', reason: 'forged', at, from })
    await intake.reaction(line, { id: 'm1', by: from, emoji: 'x', at, from })
  }
  assert.deepEqual([await message(), await events()], [before, told])
  assert.deepEqual(await db.many`select from msgapp_early where channel_id = ${line.channel}`, [])

  await Promise.all(
    [stranger, recipient].map((from) =>
      intake.receipt(line, { id: 'm1', level: from === stranger ? 3 : 2, at, by: null, from }),
    ),
  )
  assert.deepEqual(await message(), { ...before, ack: 2 })
})
