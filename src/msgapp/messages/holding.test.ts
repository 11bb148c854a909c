import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { makeWorld } from '../../../test/world.ts'
import type { Tx } from '../../db/sql.ts'
import { forget } from './removing.ts'
import * as store from './store.ts'
import { inbound, makeChat } from './testing.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { db } = world

type Row = { id: string; peer: string; network_id: string }

/** A message from each of two people, in the order in which their conversations are held. */
const furnish = async () => {
  const { id: account } = await world.tenant()
  const { line, intake } = await makeChat(world, account)
  for (const number of ['+447700900123', '+447700900124'])
    await intake.inbound(line, inbound({ number, own: true, text: number }))
  const [first, second] = await db.many<Row>`
    select id, peer, network_id from msgapp_messages where account_id = ${account} order by peer`
  assert.ok(first && second)
  const hold = (tx: Tx, { peer }: Row) => tx.run`
    select from msgapp_chats where account_id = ${account} and channel_id = ${line.channel} and peer = ${peer} for update nowait`
  return { account, channel: line.channel, first, second, hold }
}

/** Waits until a statement waits for a row that another transaction holds. */
const waiting = (like: string) =>
  until(
    () => db.maybe`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like ${like} limit 1`,
  )

test('messages that are forgotten hold their conversations first, in one order', async () => {
  const { account, first, second, hold } = await furnish()
  let forgotten: Promise<number> | undefined
  await db.begin(async (tx) => {
    await hold(tx, first)
    const wishes = [second, first].map(({ id }) => ({ account, id, reach: 'us' as const }))
    forgotten = db.begin((other) => forget(other, wishes))
    await waiting('%msgapp_chats%for update')
    await hold(tx, second)
  })
  assert.equal(await forgotten, 2)
})

test('an echo that is dropped is taken after its conversation, as by who deletes it', async () => {
  const { account, channel, first, hold } = await furnish()
  const id = '01890000-0000-7000-8000-000000000000'
  const sent = [{ account, id, channel, networkId: first.network_id, failure: null }]
  let dropped: Promise<number> | undefined
  await db.begin(async (tx) => {
    await hold(tx, first)
    dropped = db.begin((other) => store.dropEchoes(other, sent))
    await waiting('%dropped%')
    await tx.run`select from msgapp_messages where account_id = ${account} and id = ${first.id} for update nowait`
  })
  await dropped
  assert.equal(await db.maybe`select from msgapp_messages where account_id = ${account} and id = ${first.id}`, null)
})
