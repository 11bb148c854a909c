import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../test/world.ts'
import { uuid } from '../../platform/lib/id.ts'
import { record } from './ops.ts'
import { insert } from './store.ts'

const { db, tenant } = await makeWorld()

test('events are ordered by the time of recording, independent of process clocks', async () => {
  const { id: account } = await tenant()
  const later = `f${uuid().slice(1)}`
  const earlier = `0${uuid().slice(1)}`
  // The first id is ahead of the clock, the second one is old.
  for (const [name, id] of [
    ['sms.message.sent', later],
    ['sms.message.delivered', earlier],
  ] as const) {
    const event = { account, name, channel: null, conversation: 'c', group: null, previousAt: null, webhook: null }
    await db.begin((tx) => insert(tx, [{ ...event, id, payload: JSON.stringify({ uuid: id, event: name }) }], false))
  }
  const rows = await db.many<{ id: string; name: string; uuid: string; at: number }>`
    select id, name, payload ->> 'uuid' as uuid, extract(epoch from created_at)::double precision as at
    from events where account_id = ${account} order by id`
  assert.deepEqual(
    rows.map(({ name }) => name),
    ['sms.message.sent', 'sms.message.delivered'],
  )
  for (const row of rows) {
    assert.equal(row.uuid, row.id, 'the uuid of an event without its own uuid is its id')
    assert.match(row.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  }
})

test('events that one call records keep their order', async () => {
  const { id: account } = await tenant()
  const drafts = Array.from({ length: 3_000 }, (_, n) => ({
    account,
    name: 'contact.created' as const,
    channel: null,
    conversation: null,
    payload: { n },
  }))
  for (let n = 0; n < drafts.length; n += 1_000) await db.begin((tx) => record(tx, drafts.slice(n, n + 1_000)))
  const rows = await db.many<{ n: number }>`
    select (payload ->> 'n')::integer as n from events where account_id = ${account} order by id`
  assert.deepEqual(
    rows.map(({ n }) => n),
    drafts.map((_, n) => n),
  )
})
