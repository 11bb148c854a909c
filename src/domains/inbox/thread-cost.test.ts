import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blocksRead, withoutAutovacuum } from '../../../test/blocks.ts'
import { makeWorld } from '../../../test/world.ts'
import type { Tx } from '../../platform/db/sql.ts'
import { uuid } from '../../platform/lib/id.ts'
import { lockByCounterpart } from './apply-store.ts'
import { makeInbox } from './inbox-testing.ts'
import { loadItems, refsOf } from './item-sources.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const inbox = makeInbox(world)
const { db, tenant } = world
await withoutAutovacuum(db)

/** Adds messages of a channel, of as many people as given. */
const fill = (account: string, channel: string, people: number, each: number) => db.run`
  insert into msgapp_messages (account_id, id, channel_id, peer, direction, sent_by, text, network_id, at, ack,
    created_at, updated_at)
  select ${account}, gen_random_uuid(), ${channel}, (447700000000 + n % ${people}::integer) || '@c.us', 'inbound', 'user',
    'x', ${channel} || n, now(), 3, now() - make_interval(secs => n), now()
  from generate_series(1, ${people}::integer * ${each}::integer) n`

const fillSms = (account: string, channel: string, people: number, each: number) => db.run`
  insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, status,
    created_at, updated_at)
  select ${account}, gen_random_uuid(), ${channel}, 'inbound', '+' || (447700000000 + n % ${people}::integer), '+447911130002', 'x',
    'gsm7', 1, 'received', now() - make_interval(secs => n), now()
  from generate_series(1, ${people}::integer * ${each}::integer) n`

/**
 * Blocks that an act, done ten times in one transaction, reads of tables and their indexes. From the sixth time on,
 * PostgreSQL plans a statement for any values.
 */
const blocksOfTen = (tables: string[], act: (tx: Tx) => Promise<unknown>) =>
  db.begin(async (tx) => {
    const read = async () => [...(await blocksRead(tx, tables)).values()].reduce((sum, count) => sum + count, 0)
    const before = await read()
    for (let n = 0; n < 10; n++) await act(tx)
    return (await read()) - before
  })

test('a thread of an account that the planner does not know yet is read alone, not with all messages of the account', async () => {
  for (let n = 0; n < 60; n++) {
    await fill(uuid(), uuid(), 10, 20)
    await fillSms(uuid(), uuid(), 10, 20)
  }
  await db.run`analyze`
  const who = await tenant()
  const channel = uuid()
  await db.run`
    insert into msgapp_channels (account_id, id, connection_id, platform, phone_number, friendly_name, iso_country_code,
      timezone, created_at, updated_at)
    values (${who.id}, ${channel}, ${uuid()}, 'sandbox', '+447911130002', 'n', 'GB', 'UTC', now(), now())`
  await fill(who.id, channel, 200, 10)
  await fillSms(who.id, (await inbox.giveNumber(who)).channel, 200, 10)
  const thread = { counterpart: '+447700000007', group: null }
  const blocks = await blocksOfTen(['msgapp_messages', 'sms_messages'], async (tx) =>
    assert.equal((await refsOf(tx, who.id, thread, null, 200)).length, 20),
  )
  assert.ok(blocks < 500, `${blocks} blocks for ten times 20 of 4,000 messages`)
})

const fillConversations = (account: string, count: number) => db.run`
  insert into conversations (account_id, id, counterpart, name, status, last_at, last_item, last_kind, last_text,
    created_at)
  select ${account}, gen_random_uuid(), '+' || (447700000000 + n), 'n', 'open', now() - make_interval(secs => n),
    gen_random_uuid(), 'sms', '', now()
  from generate_series(1, ${count}::integer) n`

test('conversations of an account that the planner does not know yet are locked without a walk of the account', async () => {
  for (let n = 0; n < 20; n++) await fillConversations((await tenant()).id, 300)
  await db.run`analyze`
  const who = await tenant()
  await fillConversations(who.id, 2_000)
  const numbers = Array.from({ length: 20 }, (_, n) => `+${447_700_000_001 + n * 50}`)
  const blocks = await blocksOfTen(['conversations'], async (tx) =>
    assert.equal((await lockByCounterpart(tx, who.id, numbers)).length, 20),
  )
  assert.ok(blocks < 4_000, `${blocks} blocks for ten times 20 of 2,000 conversations`)
})

test('messages of an account that the planner does not know yet are loaded with their chats alone', async () => {
  const who = await tenant()
  const channel = uuid()
  await fill(who.id, channel, 400, 5)
  await db.run`
    insert into msgapp_chats (account_id, channel_id, peer, number, last_at, last_message_id)
    select ${who.id}, ${channel}, (447700000000 + n) || '@c.us', '+' || (447700000000 + n), now(), gen_random_uuid()
    from generate_series(0, 399) n`
  const rows = await db.many<{ id: string }>`
    select id from msgapp_messages where account_id = ${who.id} and created_at > now() - make_interval(secs => 201)`
  const refs = rows.map(({ id }) => ({ kind: 'msgapp' as const, id }))
  const blocks = await blocksOfTen(['msgapp_messages', 'msgapp_chats'], async (tx) =>
    assert.equal((await loadItems(tx, who.id, refs)).length, refs.length),
  )
  assert.ok(blocks < refs.length * 10 * 8, `${blocks} blocks for ten times ${refs.length} of 2,000 messages`)
})
