import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blocksRead, withoutAutovacuum } from '../../../../test/blocks.ts'
import { testDatabase } from '../../../../test/database.ts'
import type { Tx } from '../../../platform/db/sql.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { byId } from './message-query-store.ts'
import { applyReceipts, storeSent } from './store.ts'

const db = await testDatabase()
await withoutAutovacuum(db)
const [account, channel] = [uuid(), uuid()]
const tables = ['msgapp_messages', 'msgapp_chats']

/** Adds messages to one conversation, and conversations of the same account. */
const add = async (tx: Tx, count: number): Promise<string[]> => {
  const ids = Array.from({ length: count }, uuid)
  await tx.run`
    insert into msgapp_messages (account_id, id, channel_id, peer, direction, sent_by, text, at, created_at, updated_at)
    select ${account}, i, ${channel}, 'peer', 'outbound', 'api', 'hi', now(), now(), now() from unnest(${ids}::uuid[]) i`
  await tx.run`
    insert into msgapp_chats (account_id, channel_id, peer, last_at, last_message_id)
    select ${account}, ${channel}, 'peer' || i, now(), i from unnest(${ids}::uuid[]) i`
  return ids
}

/** Runs the life of sent messages: the network's answer, a receipt, the event. */
const live = async (tx: Tx, ids: readonly string[]): Promise<void> => {
  const sent = ids.map((id) => ({ account, id, channel, networkId: `n${id}`, failure: null }))
  assert.equal((await storeSent(tx, sent)).length, ids.length)
  const receipt = { account, channel, ours: null, level: 2, at: Date.now(), failure: null, peer: null }
  const acknowledged = await applyReceipts(
    tx,
    ids.map((id) => ({ ...receipt, networkId: `n${id}` })),
  )
  assert.deepEqual(new Set(acknowledged.map(({ ack }) => ack)), new Set([2]))
  const keys = ids.map((id) => ({ account, id }))
  assert.equal((await byId(tx, keys)).length, ids.length)
}

test('a sent message costs the same for large and small tables, in a new database without statistics', async () => {
  await db.run`
    insert into accounts (id, name, requests_per_minute) values (${account}, 'cost', 1)`
  await db.run`
    insert into msgapp_channels (account_id, id, connection_id, platform, phone_number, friendly_name, iso_country_code,
      timezone, created_at, updated_at)
    values (${account}, ${channel}, ${uuid()}, 'xmpp', '+447700900001', 'n', 'GB', 'UTC', now(), now())`
  await db.begin(async (tx) => {
    await tx.run`
      insert into msgapp_chats (account_id, channel_id, peer, last_at, last_message_id)
      values (${account}, ${channel}, 'peer', now(), gen_random_uuid())`
    // Makes the plans of this session.
    await live(tx, await add(tx, 1))
    await add(tx, 10_000)
    const ids = await add(tx, 20)
    const before = await blocksRead(tx, tables)
    await live(tx, ids)
    for (const [name, count] of await blocksRead(tx, tables)) {
      const read = count - (before.get(name) ?? 0)
      assert.ok(read <= 600, `${read} blocks of ${name} were read for 20 messages`)
    }
  })
})
