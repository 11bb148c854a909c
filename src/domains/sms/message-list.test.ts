import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../test/world.ts'
import { uuid } from '../../platform/lib/id.ts'
import { makeInboundReceiver } from './inbound/inbound-receiver.ts'
import { contact, giveNumber, setPrices } from './sms-testing.ts'

const world = await makeWorld()
const { call, db, parts, tenant } = world
await setPrices(world)
const inbound = makeInboundReceiver(db, parts)
const connection = uuid()

test('a thread with an alphanumeric sender or a short code is found by its name', async () => {
  const who = await tenant()
  const { number, channel } = await giveNumber(world, who)
  for (const source of ['Acme & Co/1', '60123', contact])
    await inbound.add({ connection, source, destination: number, text: source, concat: null })
  for (const source of ['Acme & Co/1', '60123', contact]) {
    const { status, body } = await call(who, 'GET', `/open/sms/messages/${channel}/${encodeURIComponent(source)}`)
    assert.deepEqual([status, body.messages.map(({ text }: { text: string }) => text)], [200, [source]])
  }
  assert.equal((await call(who, 'GET', `/open/sms/messages/${channel}/+12`)).status, 422)
})

test('a channel id of any other form is an unknown channel', async () => {
  const who = await tenant()
  const { number } = await giveNumber(world, who)
  for (const id of [`DID${uuid()}`, `SMS${uuid()}`, 'SMS', uuid(), 'nonsense', number, 'x'.repeat(300)])
    for (const path of [`/open/sms/channel/${id}`, `/open/sms/messages/${id}/${contact}`]) {
      const { status, body } = await call(who, 'GET', path)
      assert.deepEqual([status, body.error_code], [404, 'not_found'], path)
    }
})

test('messages are listed by channel, direction, status and time, and each appears once over all pages', async () => {
  const [who, other] = [await tenant({ balance: '10' }), await tenant()]
  const [first, second, foreign] = [
    await giveNumber(world, who),
    await giveNumber(world, who),
    await giveNumber(world, other),
  ]
  for (const [i, { number }] of [first, first, second, foreign].entries())
    await inbound.add({ connection, source: contact, destination: number, text: `in ${i}`, concat: null })
  for (const text of ['out 0', 'out 1'])
    await call(who, 'POST', '/open/sms/send', { from_number: first.number, to_number: contact, text })
  // Several messages share one time across a page boundary.
  await db.run`update sms_messages set created_at = '2026-01-02T00:00:00Z' where account_id = ${who.id} and text <> 'in 0'`
  await db.run`update sms_messages set created_at = '2026-01-01T00:00:00Z' where account_id = ${who.id} and text = 'in 0'`
  const textsOf = async (query: string): Promise<string[]> => {
    const found: string[] = []
    for (let cursor = ''; ; ) {
      const { status, body } = await call(who, 'GET', `/open/sms/messages?${query}${cursor}`)
      assert.equal(status, 200)
      assert.equal(body.count, body.messages.length)
      found.push(...body.messages.map(({ text }: { text: string }) => text))
      if (body.next_cursor === undefined) return found
      cursor = `&cursor=${body.next_cursor}`
    }
  }
  const all = ['in 0', 'in 1', 'in 2', 'out 0', 'out 1']
  const paged = await textsOf('results_per_page=2')
  assert.deepEqual(paged.toSorted(), all)
  assert.equal(paged.at(-1), 'in 0')
  assert.deepEqual((await textsOf(`channel_uuid=${first.channel}&direction=inbound`)).toSorted(), ['in 0', 'in 1'])
  assert.deepEqual(await textsOf(`channel_uuid=${second.channel}`), ['in 2'])
  assert.deepEqual((await textsOf('status=received')).toSorted(), ['in 0', 'in 1', 'in 2'])
  assert.deepEqual(await textsOf('status=delivered'), [])
  assert.deepEqual(await textsOf('until=2026-01-02T00:00:00Z'), ['in 0'])
  assert.equal((await textsOf('since=2026-01-02T00:00:00Z')).length, 4)
  assert.equal((await call(who, 'GET', `/open/sms/messages?channel_uuid=${foreign.channel}`)).status, 404)
})

test('a filter without an index examines 10,000 messages a page, and the cursor reaches every match', async () => {
  const who = await tenant()
  const { number, channel } = await giveNumber(world, who)
  const id = channel.slice(3)
  await db.begin(async (tx) => {
    await tx.raw("set local session_replication_role = 'replica'")
    await tx.run`
      insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, price,
        status, error_code, created_at, updated_at)
      select ${who.id}, gen_random_uuid(), ${id}, 'outbound', ${contact}, ${number}, n::text, 'gsm7', 1, 0,
        case n when 1 then 'rejected' else 'delivered' end, case n when 1 then '069' end,
        timestamptz '2026-01-01' + make_interval(secs => n), timestamptz '2026-01-01'
      from generate_series(1, 10100) n`
  })
  const list = async (query: string) => (await call(who, 'GET', `/open/sms/messages?${query}`)).body
  const first = await list('status=rejected')
  assert.deepEqual([first.count, typeof first.next_cursor], [0, 'string'])
  const second = await list(`status=rejected&cursor=${first.next_cursor}`)
  assert.deepEqual([second.messages.map(({ text }: { text: string }) => text), second.next_cursor], [['1'], undefined])
  const numbered = await list('status=rejected&page_number=0')
  assert.deepEqual([numbered.total, numbered.total_capped], [0, true])
  // Error codes have an index, and so do contacts.
  for (const query of [
    'error_code=069',
    `contact_number=${encodeURIComponent(contact)}&status=rejected&since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:10Z`,
  ])
    assert.deepEqual(
      (await list(query)).messages.map(({ text }: { text: string }) => text),
      ['1'],
      query,
    )
})
