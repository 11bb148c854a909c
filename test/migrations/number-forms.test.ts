import assert from 'node:assert/strict'
import { cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { canonicalNumber, currentNumber } from '@trunkline/phone/number-forms.ts'
import fc from 'fast-check'
import { quoteIdentifier } from '../../src/platform/db/identifier.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { connect, type Db } from '../../src/platform/db/sql.ts'
import { onEachPostgres } from '../database.ts'
import { temporaryFolder } from '../servers.ts'
import { describeSchema } from './catalogue.ts'

const folder = join(import.meta.dirname, '../../src/platform/db/migrations')
const file = '20261128T160000_number_forms.sql'

const account = '01a1fcca-93ab-7cbc-9f10-be702f775479'
const id = (n: number) => `01a1fcca-93ab-7cbc-9f10-${String(n).padStart(12, '0')}`
const [old, current] = ['+554191230001', '+5541991230001']
const [bare, mobile] = ['+541123456789', '+5491123456789']

/** Rows as the version before stored them: one person of Brazil and one of Argentina, in two forms each. */
const furnish = async (db: Db): Promise<void> => {
  await db.run`insert into accounts (id, name, requests_per_minute) values (${account}, 'ada', 60)`
  for (const [n, number] of [old, bare].entries()) {
    await db.run`
      insert into contacts (account_id, id, first_name, last_name, grams, numbers, created_at)
      values (${account}, ${id(n)}, ${['Lia', 'Ana'][n] ?? ''}, '', '{}', ${number.slice(1)}, now())`
    await db.run`
      insert into contact_details (account_id, contact_id, type, value, match_key, created_at)
      values (${account}, ${id(n)}, 'PH', ${number}, ${number}, now())`
  }
  await db.run`
    insert into msgapp_channels (account_id, id, connection_id, platform, phone_number, friendly_name, iso_country_code, timezone,
      created_at, updated_at)
    values (${account}, ${id(50)}, ${id(9)}, 'xmpp', '+447700900001', 'x', 'GB', 'UTC', now(), now()),
      (${account}, ${id(51)}, ${id(9)}, 'whatsapp-cloud', '+554191230009', 'works', 'BR', 'UTC', now(), now()),
      (${account}, ${id(52)}, ${id(9)}, 'whatsapp-cloud', '+5541991230009', 'failed', 'BR', 'UTC', now(), now())`
  await db.run`
    insert into msgapp_links (account_id, channel_id, phase, reason, since, proved_at)
    values (${account}, ${id(51)}, 'connected', 'x', now(), now()), (${account}, ${id(52)}, 'failed', 'x', now(), null)`
  let item = 100
  for (const [n, forms] of [
    [old, current],
    [bare, mobile],
  ].entries())
    for (const [i, number] of forms.entries()) {
      const [conversation, message, sms] = [id(10 + 2 * n + i), id(item++), id(item++)]
      const peer = `${number.slice(1)}@c.us`
      const at = new Date(Date.UTC(2026, 0, 1 + i))
      await db.run`
        insert into msgapp_messages (account_id, id, channel_id, peer, direction, sent_by, text, at, created_at, updated_at)
        values (${account}, ${message}, ${id(50)}, ${peer}, 'inbound', 'user', ${number}, ${at}, ${at}, ${at})`
      await db.run`
        insert into msgapp_chats (account_id, channel_id, peer, number, remote_id, last_at, last_message_id, last_inbound_at, unread)
        values (${account}, ${id(50)}, ${peer}, ${number}, ${peer}, ${at}, ${message}, ${at}, 1)`
      await db.run`
        insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, status,
          created_at, updated_at)
        values (${account}, ${sms}, ${id(60)}, 'inbound', ${number}, '+447700900001', ${number}, 'gsm7', 1, 'received', ${at}, ${at})`
      await db.run`
        insert into sms_opt_outs (account_id, id, number, contact, reason)
        values (${account}, ${id(item++)}, '', ${number}, ${i === 0 ? 'complaint' : 'keyword'})`
      await db.run`
        insert into conversations (account_id, id, counterpart, name, status, tags, last_at, last_item, last_kind,
          last_direction, last_text, last_inbound, waiting_since, closed_at, created_at)
        values (${account}, ${conversation}, ${number}, ${number}, ${i === 0 ? 'open' : 'closed'}, array[${id(70 + i)}]::uuid[],
          ${at}, ${message}, 'msgapp', 'inbound', ${number}, ${message}, ${i === 0 ? at : null}, ${i === 0 ? null : at}, ${at})`
      for (const [kind, one] of [
        ['msgapp', message],
        ['sms', sms],
      ] as const)
        await db.run`
          insert into conversation_items (account_id, conversation_id, id, kind, direction, at)
          values (${account}, ${conversation}, ${one}, ${kind}, 'inbound', ${at})`
      await db.run`
        insert into conversation_notes (account_id, id, conversation_id, text, created_at)
        values (${account}, ${id(item++)}, ${conversation}, ${number}, ${at})`
      await db.run`
        insert into conversation_words (account_id, id, conversation_id, kind, words)
        values (${account}, ${conversation}, ${conversation}, 'name', array[${i + 1}]::integer[])`
      await db.run`
        insert into conversation_drafts (account_id, user_id, conversation_id, kind, text, updated_at)
        values (${account}, ${id(80)}, ${conversation}, 'message', ${number}, ${at})`
      await db.run`
        insert into conversation_reads (account_id, user_id, conversation_id, read_until)
        values (${account}, ${id(80)}, ${conversation}, ${message})`
    }
}

onEachPostgres((database) => {
  test('rows of one person in two forms are joined, and nothing is lost', async () => {
    const before = join(temporaryFolder(), 'migrations')
    cpSync(folder, before, { recursive: true })
    for (const name of readdirSync(before)) if (name.endsWith('.sql') && name >= file) rmSync(join(before, name))
    const made = await database()
    const schema = await describeSchema(made)
    await made.raw('drop schema public cascade; create schema public')
    const db = connect({ url: made.url, connections: 2, unlimited: true })
    try {
      await migrate(db, { folder: before })
      await furnish(db)
      assert.ok((await migrate(db)) >= 2)
      const rows = async (text: string) => (await db.raw(text)).map((row) => Object.values(Object(row)))
      assert.deepEqual(await rows('select value, match_key from contact_details order by contact_id'), [
        [old, current],
        [bare, mobile],
      ])
      assert.deepEqual(
        await rows('select contact, reason from sms_opt_outs order by contact'),
        [mobile, current].map((number) => [number, 'complaint']),
      )
      const peers = [mobile, current].map((number) => `${number.slice(1)}@c.us`)
      assert.deepEqual(
        await rows('select peer, number, dialled, unread from msgapp_chats order by peer'),
        [mobile, current].map((number, i) => [peers[i], number, number, 2]),
      )
      assert.deepEqual(
        await rows('select peer, count(*)::integer from msgapp_messages group by peer order by peer'),
        peers.map((peer) => [peer, 2]),
      )
      assert.deepEqual(
        await rows('select peer, current_peer from msgapp_former_peers order by peer'),
        [bare, old].map((number, i) => [`${number.slice(1)}@c.us`, peers[i]]),
      )
      assert.deepEqual(
        await rows('select contact, count(*)::integer from sms_messages group by contact order by contact'),
        [
          [bare, 1],
          [mobile, 1],
          [current, 2],
        ],
      )
      assert.deepEqual(
        await rows(`
          select counterpart, number, name, status, waiting_since = '2026-01-01Z', last_text, cardinality(tags)
          from conversations order by counterpart`),
        [
          [mobile, null, 'Ana', 'open', true, mobile, 2],
          [current, null, 'Lia', 'open', true, current, 2],
        ],
      )
      const counts = (table: string) =>
        rows(
          `select count(*)::integer from ${quoteIdentifier(table)} t join conversations c on c.id = t.conversation_id group by c.id`,
        )
      assert.deepEqual(await counts('conversation_items'), [[4], [4]])
      assert.deepEqual(await counts('conversation_notes'), [[2], [2]])
      assert.deepEqual(await rows('select words from conversation_words'), [[[2, 1]], [[2, 1]]])
      assert.deepEqual(await rows('select text from conversation_drafts order by text'), [
        [`${mobile}\n${bare}`],
        [`${current}\n${old}`],
      ])
      assert.equal((await counts('conversation_reads')).length, 2)
      assert.deepEqual(
        await rows(`
        select kind, sum(n)::integer from conversation_counts where kind in ('open', 'closed', 'waiting')
        group by kind having sum(n) <> 0 order by kind`),
        [
          ['open', 2],
          ['waiting', 2],
        ],
      )
      // The channel that worked has the number in its current form; the one that failed is deleted.
      assert.deepEqual(
        await rows(`
          select friendly_name, phone_number, deleted_at is null from msgapp_channels
          where platform = 'whatsapp-cloud' order by friendly_name desc`),
        [
          ['works', '+5541991230009', true],
          ['failed', '+5541991230009', false],
        ],
      )
      assert.deepEqual(await describeSchema(db), schema)
    } finally {
      await db.end()
    }
  })

  test('the functions of the database know the same forms as the phone package', async () => {
    const db = await database()
    const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 7, maxLength: 11 })
    const numbers = fc
      .sample(
        fc.tuple(fc.constantFrom('55', '554', '52', '521', '54', '549', '229', '225', '84', '841', '44'), digits),
        {
          numRuns: 4_000,
          seed: 1,
        },
      )
      .map(([code, rest]) => `+${code}${rest}`)
    const known = ['+841207123456', '+841997123456', '+22507123456', '+22997123456', old, bare, '', 'INFO']
    const rows = await db.many<{ number: string; current: string; canonical: string }>`
      select number, current_number(number) as current, canonical_number(number) as canonical
      from unnest(${[...numbers, ...known]}::text[]) as given (number)`
    assert.ok(rows.filter(({ number, canonical }) => number !== canonical).length > 50)
    for (const { number, current: now, canonical } of rows)
      assert.deepEqual([now, canonical], [currentNumber(number), canonicalNumber(number)], number)
  })
})
