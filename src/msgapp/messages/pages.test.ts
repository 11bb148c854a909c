import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../test/world.ts'
import { uuid } from '../../lib/id.ts'
import { inbound, makeChat } from './testing.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { call, db } = world
const them = '+447700900123'

const furnish = async () => {
  const tenant = await world.tenant()
  const chat = await makeChat(world, tenant.id)
  return { tenant, chat, line: chat.line }
}

test('pages are walked by cursor and by number, and hold every message once', async () => {
  const { tenant, chat, line } = await furnish()
  await Promise.all(Array.from({ length: 7 }, (_, i) => chat.intake.inbound(line, inbound({ text: `m${i}` }))))
  const base = `/open/msgapp/messages/${line.number}?per_page=3`
  const seen: string[] = []
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const { body } = await call(tenant, 'GET', `${base}${cursor && `&cursor=${cursor}`}`)
    seen.push(...body.messages.map((one: { uuid: string }) => one.uuid))
    cursor = body.next_cursor
  }
  const paged = await Promise.all([0, 1, 2, 3].map((page) => call(tenant, 'GET', `${base}&page=${page}`)))
  assert.deepEqual(
    paged.flatMap(({ body }) => body.messages.map((one: { uuid: string }) => one.uuid)),
    seen,
  )
  assert.deepEqual([seen.length, new Set(seen).size], [7, 7])
  assert.deepEqual(
    paged.map(({ body }) => body.count),
    [3, 3, 1, 0],
  )
  for (const n of [1, 2, 3]) await chat.intake.inbound(line, inbound({ number: `+44770090020${n}` }))
  const url = `/open/msgapp/conversations/WPN${line.channel}?per_page=2`
  const first = (await call(tenant, 'GET', url)).body
  const second = (await call(tenant, 'GET', `${url}&cursor=${first.next_cursor}`)).body
  const keys = [...first.sessions, ...second.sessions].map((one: { session_key: string }) => one.session_key)
  assert.deepEqual([new Set(keys).size, first.total, second.next_cursor], [4, 4, undefined])
})

test('a page costs the same in a conversation of any length', async () => {
  const { tenant, chat, line } = await furnish()
  await chat.intake.inbound(line, inbound())
  await db.run`
    insert into msgapp_messages (account_id, id, channel_id, peer, direction, sent_by, text, network_id, at, ack, created_at, updated_at)
    select ${tenant.id}, gen_random_uuid(), ${line.channel}, ${`${them.slice(1)}@c.us`}, 'inbound', 'user', 'x', 'many-' || n,
      now(), 2, now() - n * interval '1 second', now() from generate_series(1, 20000) n`
  await db.raw('analyze msgapp_messages')
  const touched = async (where: string) => {
    const [row] = await db.raw<{
      'QUERY PLAN': { Plan: { 'Shared Hit Blocks': number; 'Shared Read Blocks': number } }[]
    }>(
      `explain (analyze, buffers, format json) select * from msgapp_shown where account_id = '${tenant.id}'
        and channel_id = '${line.channel}' ${where} and (created_at, id) < (now() - interval '9000 seconds', '${uuid()}')
        order by created_at desc, id desc limit 51`,
    )
    const plan = row?.['QUERY PLAN'][0]?.Plan
    return (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0)
  }
  for (const where of ['', `and peer = '${them.slice(1)}@c.us'`]) {
    const blocks = await touched(where)
    assert.ok(blocks > 0 && blocks < 1_000, `${blocks} blocks`)
  }
})

test('where a line begins to read again is found without walking what went out since', async () => {
  const { tenant, chat, line } = await furnish()
  await chat.intake.inbound(line, inbound())
  await db.run`
    insert into msgapp_messages (account_id, id, channel_id, peer, direction, sent_by, text, network_id, at, ack, created_at, updated_at)
    select ${tenant.id}, gen_random_uuid(), ${line.channel}, ${`${them.slice(1)}@c.us`}, 'outbound', 'api', 'x', 'out-' || n,
      now(), 2, now() + n * interval '1 second', now() from generate_series(1, 20000) n`
  await db.raw('analyze msgapp_messages')
  const [row] = await db.raw<{
    'QUERY PLAN': { Plan: { 'Shared Hit Blocks': number; 'Shared Read Blocks': number } }[]
  }>(
    `explain (analyze, buffers, format json) select at from msgapp_messages where account_id = '${tenant.id}'
      and channel_id = '${line.channel}' and direction = 'inbound' order by created_at desc, id desc limit 1`,
  )
  const plan = row?.['QUERY PLAN'][0]?.Plan ?? assert.fail()
  const blocks = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
  assert.ok(blocks < 20, `${blocks} blocks are read`)
})
