import assert from 'node:assert/strict'
import { test } from 'node:test'
import { member } from '../../../test/persons.ts'
import { until } from '../../../test/platform.ts'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { print, uuid } from '../../platform/lib/id.ts'
import { rebuildAccount } from './history/rebuild.ts'
import { takeInHistory } from './history/take-in-history.ts'
import { makeInbox } from './inbox-testing.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { db, call, tenant } = world
const inbox = makeInbox(world)

const numberOf = (n: number) => `+4479112${String(10_000 + n)}`

/** An account with conversations, of which the last one is the newest. */
const account = async (count: number) => {
  const who = await tenant()
  const line = await inbox.giveNumber(who)
  for (let n = 0; n < count; n++) await inbox.write(numberOf(n), line.number, `Text of ${n}`)
  const list = await until(async () => {
    const found = await inbox.conversations(who)
    return found.length === count ? found.toReversed() : null
  })
  const uuids = list.map((one) => one.uuid)
  const change = (n: number, body: object) => call(who, 'PATCH', `/open/conversations/${uuids[n]}`, body)
  return { who, line, uuids, change }
}

const counterparts = async (who: Tenant, query: string) =>
  (await inbox.conversations(who, query)).map(({ counterpart }) => counterpart)

test('pages by cursor return each conversation once, in both orders', async () => {
  const { who } = await account(7)
  for (const sort of ['-last_at', 'waiting_since']) {
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await call(who, 'GET', `/open/conversations?sort=${sort}&results_per_page=2${cursor}`)
      seen.push(...body.conversations.map(({ counterpart }: { counterpart: string }) => counterpart))
      if (body.next_cursor === undefined) break
      cursor = `&cursor=${body.next_cursor}`
    }
    const expected = Array.from({ length: 7 }, (_, n) => numberOf(n))
    assert.deepEqual(seen, sort === '-last_at' ? expected.toReversed() : expected, sort)
  }
})

test('each filter keeps the conversations that match', async () => {
  const { who, change, uuids, line } = await account(4)
  const { user } = await member(world, who, 'agent')
  await change(0, { status: 'closed' })
  await change(1, { assignee_uuid: user, priority: 2 })
  await call(who, 'POST', `/open/conversations/${uuids[2]}/read`, {
    until: (await inbox.items(who, uuids[2] ?? '')).items[0].uuid,
  })
  const tag = uuid()
  await db.run`
    insert into inbox_tags (account_id, id, name, name_key, color, created_at)
    values (${who.id}, ${tag}, 'VIP', 'vip', 'red', now())`
  await db.run`
    update conversations set tags = array[${tag}::uuid] where account_id = ${who.id} and counterpart = ${numberOf(3)}`
  const filters: [query: string, found: number[]][] = [
    ['status=closed', [0]],
    [`assignee=${user}`, [1]],
    ['assignee=none', [3, 2, 0]],
    ['priority=2', [1]],
    ['priority=0', [3, 2, 0]],
    ['unread=false', [2]],
    ['waiting=true', [3, 2, 1]],
    ['waiting=false', [0]],
    [`tag=TAG${tag}`, [3]],
    ['kind=sms', [3, 2, 1, 0]],
    ['kind=call', []],
    [`channel_uuid=SMS${line.channel}`, [3, 2, 1, 0]],
    ['since=2036-01-01T00:00:00Z', []],
    ['until=2036-01-01T00:00:00Z&status=open', [3, 2, 1]],
    [`q=${encodeURIComponent(numberOf(1))}`, [1]],
    ['q=0791121000', [3, 2, 1, 0]],
    ['q=te', []],
    ['q=text%20of', [3, 2, 1, 0]],
  ]
  for (const [query, found] of filters)
    assert.deepEqual(await counterparts(who, `?${query}`), found.map(numberOf), query)
})

test('a change with an old version is refused, and changes nothing', async () => {
  const { who, change, uuids } = await account(1)
  const { version } = (await change(0, { priority: 1 })).body.conversation
  const refused = await change(0, { priority: 2, version: version - 1 })
  assert.deepEqual([refused.status, refused.body.error_code], [409, 'version_conflict'])
  const { conversation } = (await call(who, 'GET', `/open/conversations/${uuids[0]}`)).body
  assert.deepEqual([conversation.priority, conversation.version], [1, version])
  assert.equal((await change(0, { priority: 2, version })).status, 200)
  const { items } = await inbox.items(who, uuids[0] ?? '', '?kinds=change')
  assert.deepEqual(
    items.map((item: { change: object }) => item.change),
    [
      { field: 'priority', from: '1', to: '2' },
      { field: 'priority', from: '0', to: '1' },
    ],
  )
})

test('an agent of an account that narrows its agents sees own and unassigned conversations alone', async () => {
  const { who, change, uuids } = await account(3)
  const [agent, other] = [await member(world, who, 'agent'), await member(world, who, 'agent')]
  await change(0, { assignee_uuid: agent.user })
  await change(1, { assignee_uuid: other.user })
  const seen = async () =>
    (await agent.call('GET', '/open/conversations')).body.conversations.map((one: { uuid: string }) => one.uuid)
  assert.deepEqual(await seen(), uuids.toReversed())
  await call(who, 'PATCH', '/open/account', { agents_see_all: false })
  assert.deepEqual(await seen(), [uuids[2], uuids[0]])
  const own = await agent.call('GET', '/open/conversations?assignee=me')
  assert.deepEqual([own.body.count, own.body.conversations[0].uuid], [1, uuids[0]])
  assert.equal((await agent.call('GET', `/open/conversations?assignee=${other.user}`)).body.count, 0)
  const path = `/open/conversations/${uuids[1]}`
  for (const [method, url, body] of [
    ['GET', path],
    ['PATCH', path, { priority: 1 }],
    ['GET', `${path}/items`],
    ['POST', `${path}/read`, { unread: true }],
  ] as const)
    assert.equal((await agent.call(method, url, body)).status, 404, `${method} ${url}`)
  const bulk = { uuids: [uuids[0], uuids[1]], change: { priority: 1 } }
  assert.equal((await agent.call('POST', '/open/conversations/bulk', bulk)).status, 404)
  const contact_details = [0, 1].map((n) => ({ type: 'PH', value: numberOf(n) }))
  const { contact } = (await call(who, 'POST', '/open/contacts', { first_name: 'Two numbers', contact_details })).body
  const ofContact = async (one: { call: typeof agent.call }) =>
    (await one.call('GET', `/open/contacts/${contact.uuid}/conversations`)).body.conversations.map(
      (found: { uuid: string }) => found.uuid,
    )
  const byKey = { call: ((method, url) => call(who, method ?? 'GET', url)) satisfies typeof agent.call }
  await until(async () => (await ofContact(byKey)).length === 2)
  assert.deepEqual([await ofContact(agent), await ofContact(other)], [[uuids[0]], [uuids[1]]])
  const { counts } = (await agent.call('GET', '/open/conversations/counts')).body
  assert.deepEqual([counts.open.n, counts.mine.n, counts.unassigned.n, counts.unread.n], [2, 1, 1, 0])
})

test('each number of the inbox is that of the list which it counts, for every reader', async () => {
  const { who, line, change } = await account(9)
  const [agent, other] = [await member(world, who, 'agent'), await member(world, who, 'agent')]
  // Open, answered, snoozed and closed ones of the agent, of the other one, and of none; one is unread.
  for (const [n, assignee_uuid] of [
    [0, agent.user],
    [1, other.user],
    [3, agent.user],
    [4, other.user],
  ] as const)
    await change(n, { assignee_uuid })
  for (const n of [3, 4, 5]) await change(n, { status: 'closed' })
  for (const n of [6, 7]) await change(n, { snoozed_till_reply: true })
  for (const [n, user] of [
    [6, agent.user],
    [7, other.user],
  ] as const)
    await change(n, { assignee_uuid: user })
  await db.run`
    update conversations set waiting_since = null where account_id = ${who.id} and counterpart = ${numberOf(8)}`
  await inbox.write(numberOf(2), line.number, 'Unread')
  const lists = {
    ...{ open: 'status=open', mine: 'status=open&assignee=me', unassigned: 'status=open&assignee=none' },
    ...{ waiting: 'waiting=true', mine_waiting: 'waiting=true&assignee=me', unread: 'status=open&unread=true' },
    ...{ snoozed: 'status=snoozed', closed: 'status=closed' },
  }
  const { view } = (await call(who, 'POST', '/open/views', { name: 'all', page: 'inbox', query: {}, shared: true }))
    .body
  for (const narrowed of [false, true]) {
    await call(who, 'PATCH', '/open/account', { agents_see_all: !narrowed })
    for (const reader of [agent, other, null]) {
      const ask = (url: string) => (reader ? reader.call('GET', url) : call(who, 'GET', url))
      await until(async () => (await ask('/open/conversations?unread=true')).body.count > 0)
      const views = [...Object.keys(lists), view.uuid].join()
      const { counts } = (await ask(`/open/conversations/counts?views=${views}`)).body
      for (const [name, query] of Object.entries({ ...lists, [view.uuid]: '' })) {
        const { count } = (await ask(`/open/conversations?${query}`)).body
        assert.equal(counts[name].n, count, `${name}, ${reader?.user ?? 'key'}, ${narrowed ? 'narrowed' : 'all'}`)
      }
    }
  }
})

test('an item that a page has by its event can be marked as read and quoted before the inbox took it in', async () => {
  const { who, line, uuids } = await account(2)
  const [path, other] = uuids.map((uuid) => `/open/conversations/${uuid}`)
  await inbox.stop()
  await inbox.write(numberOf(0), line.number, 'Not taken in yet')
  const { id } = await db.one<{ id: string }>`
    select id from sms_messages where account_id = ${who.id} and text = 'Not taken in yet'`
  const shown = print('SMI', id)
  assert.equal((await call(who, 'POST', `${path}/read`, { until: shown })).status, 200)
  assert.equal((await call(who, 'PUT', `${path}/draft`, { text: 'Yes', reply_to: shown })).status, 200)
  const foreign = await call(who, 'POST', `${other}/read`, { until: shown })
  assert.deepEqual([foreign.status, foreign.body.field], [404, '/until'])
  assert.equal((await call(await tenant(), 'POST', `${path}/read`, { until: shown })).status, 404)
  inbox.start()
  await until(async () => (await inbox.items(who, uuids[0] ?? '')).items[0].sms?.text === 'Not taken in yet')
  assert.equal((await call(who, 'GET', path ?? '')).body.conversation.unread, 0)
})

test('items before a member joined are read; later ones are unread until the mark, for that member alone', async () => {
  const { who, uuids, line } = await account(1)
  const [agent, other] = [await member(world, who, 'agent'), await member(world, who, 'agent')]
  const path = `/open/conversations/${uuids[0]}`
  const unread = async (one: typeof agent) => (await one.call('GET', path)).body.conversation.unread
  assert.equal(await unread(agent), 0)
  await inbox.write(numberOf(0), line.number, 'One', 'Two')
  await until(async () => (await unread(agent)) === 2)
  const { items } = (await agent.call('GET', `${path}/items`)).body
  const marked = await agent.call('POST', `${path}/read`, { until: items[1].uuid })
  assert.deepEqual([marked.status, marked.body.unread], [200, 1])
  await agent.call('POST', `${path}/read`, { until: items[0].uuid })
  assert.deepEqual([await unread(agent), await unread(other)], [0, 2])
  assert.equal(
    (await agent.call('POST', `${path}/read`, { until: items[2].uuid })).body.unread,
    0,
    'a mark does not go back',
  )
  assert.equal((await agent.call('POST', `${path}/read`, { unread: true })).body.unread, 1)
})

test('a page around an item leads to older and to newer ones', async () => {
  const { who, uuids, line } = await account(1)
  await inbox.write(numberOf(0), line.number, ...Array.from({ length: 19 }, (_, n) => `Text ${n}`))
  await until(async () => (await inbox.items(who, uuids[0] ?? '', '?results_per_page=200')).count === 20)
  const all = (await inbox.items(who, uuids[0] ?? '', '?results_per_page=200')).items.map(
    (item: { uuid: string }) => item.uuid,
  )
  const page = async (query: string) => {
    const { items, next_cursor, previous_cursor } = await inbox.items(
      who,
      uuids[0] ?? '',
      `?results_per_page=4&${query}`,
    )
    return { found: items.map((item: { uuid: string }) => all.indexOf(item.uuid)), next_cursor, previous_cursor }
  }
  const around = await page(`around=${all[10]}`)
  assert.deepEqual(around.found, [8, 9, 10, 11])
  const newer = await page(`cursor=${around.previous_cursor}`)
  assert.deepEqual(newer.found, [4, 5, 6, 7])
  const newest = await page(`cursor=${newer.previous_cursor}`)
  assert.deepEqual([newest.found, newest.previous_cursor], [[0, 1, 2, 3], undefined])
  assert.deepEqual((await page(`cursor=${around.next_cursor}`)).found, [12, 13, 14, 15])
})

test('history is taken in whole, from the newest backwards, closed and without events', async () => {
  const who = await tenant()
  const line = await inbox.giveNumber(who)
  await db.run`
    insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, status,
      created_at, updated_at)
    select ${who.id}, (lpad(to_hex((extract(epoch from t.at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n), 3, '0')
        || '8' || lpad(to_hex(n), 15, '0'))::uuid,
      ${line.channel}, case when n % 10 = 0 then 'inbound' else 'outbound' end,
      case when n <= 1500 then '+447911200001' else '+4479113' || lpad((n % 40)::text, 5, '0') end,
      ${line.number}, 'Text ' || n, 'gsm7', 1, 'sent', t.at, t.at
    from generate_series(1, 2000) n cross join lateral (select now() - interval '90 days' + n * interval '1 minute' as at) t`
  const events = (await inbox.events(who)).length
  const conversations = await rebuildAccount(db, who.id, { signal: new AbortController().signal, report: () => {} })
  const { items, messages } = await db.one<{ items: number; messages: number }>`
    select (select count(*)::integer from conversation_items where account_id = ${who.id}) as items,
      (select count(*)::integer from sms_messages m where account_id = ${who.id} and exists (
        select from sms_messages i where i.account_id = m.account_id and i.contact = m.contact and i.direction = 'inbound')) as messages`
  assert.equal(items, messages, 'items = messages of those who wrote')
  assert.ok(items > 1_500)
  assert.equal((await inbox.events(who)).length, events)
  const { counts } = (await call(who, 'GET', '/open/conversations/counts')).body
  assert.deepEqual([counts.open.n, counts.closed.n], [0, conversations])
  assert.equal(await takeInHistory(db, who.id), false, 'nothing is left')
})

test('history has every sender, also of hundreds within one millisecond', async () => {
  const who = await tenant()
  const line = await inbox.giveNumber(who)
  await db.run`
    insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, status,
      created_at, updated_at)
    select ${who.id}, ('01900000-0000-7' || lpad(to_hex(n), 3, '0') || '-8000-000000000000')::uuid, ${line.channel}, 'inbound',
      '+4479114' || lpad(n::text, 5, '0'), ${line.number}, 'Text', 'gsm7', 1, 'received', t.at, t.at
    from generate_series(1, 400) n cross join lateral (
      select date_trunc('milliseconds', now() - interval '90 days') + n * interval '2 microseconds' as at) t`
  const run = { signal: new AbortController().signal, report: () => {} }
  assert.equal(await rebuildAccount(db, who.id, run), 400)
})

test('a conversation that lacks older items gets them when it is read that far', async () => {
  const { who, uuids, line } = await account(1)
  await db.run`
    insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, status,
      created_at, updated_at)
    select ${who.id}, ('01900000-0000-7' || lpad(to_hex(n), 3, '0') || '-8000-000000000000')::uuid, ${line.channel}, 'outbound',
      ${numberOf(0)}, ${line.number}, 'Old ' || n, 'gsm7', 1, 'sent', timestamptz '2025-01-01' + n * interval '1 second',
      timestamptz '2025-01-01' from generate_series(1, 30) n`
  await db.run`
    update conversations set items_before = last_item where account_id = ${who.id}`
  assert.equal((await inbox.items(who, uuids[0] ?? '', '?results_per_page=200')).count, 31)
})

test('a contact gives its name to the conversation, and lists it', async () => {
  const { who, uuids } = await account(1)
  const contact_details = [{ type: 'PH', value: numberOf(0) }]
  const { contact } = (
    await call(who, 'POST', '/open/contacts', { first_name: 'Grace', last_name: 'Hopper', contact_details })
  ).body
  const named = await until(async () => {
    const { conversation } = (await call(who, 'GET', `/open/conversations/${uuids[0]}`)).body
    return conversation.contact ? conversation : null
  })
  assert.deepEqual([named.name, named.contact.uuid], ['Grace Hopper', contact.uuid])
  assert.deepEqual(await counterparts(who, '?q=hopp'), [numberOf(0)])
  assert.deepEqual(await counterparts(who, `?contact_uuid=${contact.uuid}`), [numberOf(0)])
  const { conversations } = (await call(who, 'GET', `/open/contacts/${contact.uuid}/conversations`)).body
  assert.deepEqual([conversations.length, conversations[0].uuid], [1, uuids[0]])
})
