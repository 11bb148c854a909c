import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../../test/world.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { inbound, makeChatHarness } from './testing.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { call, db } = world
const them = '+447700900123'

const furnish = async () => {
  const tenant = await world.tenant()
  const chat = await makeChatHarness(world, tenant.id)
  return { tenant, chat, line: chat.line }
}

test('pages by cursor and by number contain every message once', async () => {
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

test('messages and conversations of the same moment are on one page each, wherever the boundary falls', async () => {
  const { tenant, chat, line } = await furnish()
  for (let i = 0; i < 7; i++) await chat.intake.inbound(line, inbound({ number: `+44770090030${i}`, text: `m${i}` }))
  for (let i = 0; i < 6; i++) await chat.intake.inbound(line, inbound({ number: '+447700900300', text: `n${i}` }))
  await db.run`update msgapp_messages set created_at = '2026-01-02T00:00:00Z' where account_id = ${tenant.id}`
  const walk = async (url: string, rows: string, key: string): Promise<string[]> => {
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const { status, body } = await call(tenant, 'GET', url + cursor)
      assert.equal(status, 200)
      seen.push(...body[rows].map((row: Record<string, string>) => row[key]))
      if (body.next_cursor === undefined) return seen
      cursor = `&cursor=${body.next_cursor}`
      assert.ok(seen.length <= 100, 'the pages do not end')
    }
  }
  for (const size of [1, 2, 3, 6]) {
    const messages = await walk(`/open/msgapp/messages/${line.number}?per_page=${size}`, 'messages', 'uuid')
    const thread = await walk(`/open/msgapp/messages/${line.number}/+447700900300?per_page=${size}`, 'messages', 'uuid')
    const url = `/open/msgapp/conversations/WPN${line.channel}?per_page=${size}`
    const conversations = await walk(url, 'sessions', 'session_key')
    for (const [seen, count] of [
      [messages, 13],
      [thread, 7],
      [conversations, 7],
    ] as const)
      assert.deepEqual([seen.length, new Set(seen).size], [count, count], `pages of ${size}`)
  }
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
      `explain (analyze, buffers, format json) select * from msgapp_visible_messages where account_id = '${tenant.id}'
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

test('the start of unread messages is found without walking the messages sent since', async () => {
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
