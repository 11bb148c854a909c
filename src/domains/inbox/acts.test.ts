import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { randomInputs } from '../../../test/needs.ts'
import { type Browser, member } from '../../../test/persons.ts'
import { until } from '../../../test/platform.ts'
import { setPrices } from '../../../test/recipes/scene.ts'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { connect, type Sql } from '../../platform/db/sql.ts'
import { startWorker } from '../../platform/jobs/consume/worker.ts'
import { uuid } from '../../platform/lib/id.ts'
import { deleteOldUploads } from '../msgapp/media/uploads.ts'
import { makeChatHarness } from '../msgapp/messages/testing.ts'
import { closeIdle } from './closing/jobs.ts'
import { makeInbox } from './inbox-testing.ts'
import { endSnoozes } from './snooze/jobs.ts'
import { untagJob } from './tags/jobs.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { db, call, tenant, parts } = world
await setPrices(world)
const inbox = makeInbox(world)
const worker = startWorker({
  db,
  log: parts.log,
  kinds: [untagJob({ db })],
  schedules: [endSnoozes, closeIdle],
})
after(() => worker.stop(1_000))

const noChannel = '00000000-0000-0000-0000-000000000000'

let handsets = 0
const handset = () => `+4479111${String(20_000 + handsets++)}`

type Line = Awaited<ReturnType<typeof inbox.giveNumber>>

/** A conversation that a handset began. */
const written = async (who: Tenant, line: Line, text = 'Hello') => {
  const from = handset()
  await inbox.write(from, line.number, text)
  return await until(
    async () => (await inbox.conversations(who)).find(({ counterpart }) => counterpart === from) ?? null,
  )
}

const begin = async (who: Tenant): Promise<string> =>
  (await call(who, 'POST', '/open/conversations', { number: handset() })).body.conversation.uuid

/** An account with a number, two agents and a conversation that waits for an answer. */
const stage = async () => {
  const who = await tenant()
  const line = await inbox.giveNumber(who)
  const found = await written(who, line)
  const path = `/open/conversations/${found.uuid}`
  const channel_uuid = `SMS${line.channel}`
  const shown = async (by: Browser | null = null) =>
    (by ? await by.call('GET', path) : await call(who, 'GET', path)).body.conversation
  return { who, line, path, uuid: found.uuid, channel_uuid, shown, seen: (await shown()).last.item_uuid }
}

const agents = async (who: Tenant) => [await member(world, who, 'agent'), await member(world, who, 'agent')] as const

const balanceOf = async (who: Tenant) => (await call(who, 'GET', '/open/info')).body.balance.amount

test('an answer ends the wait, is charged once, and names its author', async () => {
  const { who, path, channel_uuid, shown, seen } = await stage()
  const [ada] = await agents(who)
  const answer = await ada.call('POST', `${path}/messages`, { channel_uuid, text: 'Hi', seen, assign_me: true })
  assert.equal(answer.status, 202, JSON.stringify(answer.body))
  const { item } = answer.body
  assert.deepEqual([item.kind, item.direction, item.user_uuid, item.sms.text], ['sms', 'outbound', ada.user, 'Hi'])
  const after = await shown()
  assert.deepEqual(
    [after.waiting_since, after.last.item_uuid, after.assignee_uuid, after.status],
    [undefined, item.uuid, ada.user, 'open'],
  )
  assert.equal(await balanceOf(who), '99.95')
  const closed = await ada.call('POST', `${path}/messages`, { channel_uuid, text: 'Bye', close: true })
  assert.equal(closed.status, 202)
  assert.equal((await shown()).status, 'closed')
})

test('messages are listed by the user who sent them in the inbox', async () => {
  const { who, line, path, channel_uuid } = await stage()
  const [ada, bob] = await agents(who)
  const send = async (by: Browser, text: string) => {
    const sent = await by.call('POST', `${path}/messages`, { channel_uuid, text, anyway: true })
    assert.equal(sent.status, 202, JSON.stringify(sent.body))
  }
  await send(ada, 'of Ada')
  await send(bob, 'of Bob')
  await send(ada, 'of Ada again')
  await inbox.apiSends(who, line, handset(), 'of a key')
  const list = (query: string) => call(who, 'GET', `/open/sms/messages?${query}`)
  const texts = async (query: string) =>
    (await list(query)).body.messages.map(({ text }: { text: string }) => text).toSorted()
  assert.deepEqual(await texts(`user_uuid=${ada.user}`), ['of Ada', 'of Ada again'])
  assert.deepEqual(await texts(`user_uuid=${bob.user}&channel_uuid=${channel_uuid}`), ['of Bob'])
  assert.deepEqual(await texts(`user_uuid=${bob.user}&direction=inbound`), [])
  const first = (await list(`user_uuid=${ada.user}&results_per_page=1&page_number=0`)).body
  assert.equal(first.total, 2)
  const second = (await list(`user_uuid=${ada.user}&results_per_page=1&cursor=${first.next_cursor}`)).body
  assert.deepEqual(
    [first, second].flatMap(({ messages }) => messages.map(({ text }: { text: string }) => text)).toSorted(),
    ['of Ada', 'of Ada again'],
  )
  const other = await tenant()
  const [stranger] = await agents(other)
  for (const user of [stranger.user, `USR${uuid()}`]) {
    const { status, body } = await list(`user_uuid=${user}`)
    assert.deepEqual([status, body.error_message], [404, `No user ${user}`])
  }
})

/** Each time costs two requests: the usual form has fewer. */
const collisions = process.env.TRUNKLINE_TEST_LONG === '1' ? 100 : randomInputs(20)

test('when two agents answer at once, one is shown the answer of the other, each time', async () => {
  const { who, path, channel_uuid, shown } = await stage()
  const [ada, bob] = await agents(who)
  for (let i = 0; i < collisions; i++) {
    const seen = (await shown()).last.item_uuid
    const body = { channel_uuid, text: `Answer ${i}`, seen }
    const answers = await Promise.all([ada, bob].map((agent) => agent.call('POST', `${path}/messages`, body)))
    const [sent, refused] = answers.toSorted((one, other) => one.status - other.status)
    assert.deepEqual([sent?.status, refused?.status], [202, 409], JSON.stringify(refused?.body))
    assert.equal(refused?.body.error_code, 'conversation_moved')
    assert.deepEqual(
      refused?.body.items.map((item: { uuid: string }) => item.uuid),
      [sent?.body.item.uuid],
    )
  }
})

test('a send stops for what came in since, not for the sender’s own words, and goes anyway on request', async () => {
  const { who, line, path, channel_uuid, shown, seen } = await stage()
  const [ada] = await agents(who)
  const send = (more: object) => ada.call('POST', `${path}/messages`, { channel_uuid, text: 'Hi', seen, ...more })
  assert.equal((await send({})).status, 202)
  assert.equal((await send({})).status, 202, 'her own answer is newer than seen')
  const { counterpart } = await shown()
  await inbox.write(counterpart, line.number, 'Wait')
  await until(async () => (await shown()).last.text === 'Wait')
  const refused = await send({})
  assert.deepEqual([refused.status, refused.body.items[0].sms.text], [409, 'Wait'])
  assert.equal((await send({ anyway: true })).status, 202)
})

test('a message to a person who sent STOP, or whom the account opted out, is refused and costs nothing', async () => {
  const { who, line, path, channel_uuid, shown } = await stage()
  const { counterpart } = await shown()
  await db.run`insert into sms_opt_outs (account_id, number, contact) values (${who.id}, ${line.number}, ${counterpart})`
  const refused = await call(who, 'POST', `${path}/messages`, { channel_uuid, text: 'Hi' })
  assert.deepEqual([refused.status, refused.body.error_code], [403, 'opted_out'])
  assert.equal(await balanceOf(who), '100.00')
  assert.equal((await inbox.items(who, path.slice(20))).count, 1)
  assert.equal((await shown()).channels[0].reason, 'opted_out')
  await db.run`update sms_opt_outs set number = '' where account_id = ${who.id}`
  assert.equal((await call(who, 'POST', `${path}/messages`, { channel_uuid, text: 'Hi' })).body.error_code, 'opted_out')
  assert.equal((await shown()).channels[0].reason, 'opted_out')
})

test('a send whose response was lost is repeated with its key, and charged once', async () => {
  const { who, path, channel_uuid, seen } = await stage()
  const [ada] = await agents(who)
  const key = { 'idempotency-key': 'the message that the page composed' }
  const send = () => ada.call('POST', `${path}/messages`, { channel_uuid, text: 'Hi', seen }, key)
  const [first, second] = [await send(), await send()]
  assert.deepEqual([first.status, second.status], [202, 202])
  assert.deepEqual(second.body, first.body)
  assert.equal(await balanceOf(who), '99.95')
})

test('a note with a mention is published with the mentioned user, and found until it is deleted', async () => {
  const { who, path } = await stage()
  const [ada, bob] = await agents(who)
  const created = await ada.call('POST', `${path}/notes`, { text: 'Ask Bob about zebras', mentions: [bob.user] })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  const { uuid } = created.body.item
  const event = await db.one<{ payload: { item: { note: { mentions: string[] } } } }>`
    select payload from events where account_id = ${who.id} and name = 'conversation.note.created'`
  assert.deepEqual(event.payload.item.note.mentions, [bob.user])
  const find = async () => (await inbox.conversations(who, '?q=zebras')).length
  assert.equal(await find(), 1)
  assert.equal((await bob.call('DELETE', `/open/notes/${uuid}`)).body.error_code, 'role')
  assert.equal((await ada.call('PATCH', `/open/notes/${uuid}`, { text: 'Ask Bob about lions' })).status, 200)
  assert.equal(await find(), 0)
  const lions = async () => (await inbox.conversations(who, '?q=lions')).length
  const mentioned = async () => (await bob.call('GET', '/open/conversations?mentioned=me')).body.count
  const counted = async (one: typeof bob) =>
    (await one.call('GET', '/open/conversations/counts?views=mentions')).body.counts.mentions.n
  assert.deepEqual([await lions(), await mentioned()], [1, 1])
  assert.deepEqual([await counted(bob), await counted(ada)], [1, 0])
  assert.equal((await ada.call('DELETE', `/open/notes/${uuid}`)).status, 200)
  assert.deepEqual([await lions(), await mentioned(), await counted(bob)], [0, 0, 0])
  assert.equal((await ada.call('DELETE', `/open/notes/${uuid}`)).status, 404)
  const { items } = await inbox.items(who, path.slice(20))
  assert.deepEqual([items[0].kind, items[0].note.text, typeof items[0].note.removed_at], ['note', '', 'string'])
})

test('a canned reply with a variable twice in one text is filled twice, each with its own fallback', async () => {
  const { who, path, uuid } = await stage()
  const [ada, bob] = await agents(who)
  const text = 'Hello {{first_name|there}}, {{ first_name | dear friend }}! {{agent}}, {{number}}'
  const body = { shortcut: 'Hello', title: 'Hello', text }
  assert.equal((await ada.call('POST', '/open/replies', { ...body, shared: true })).body.error_code, 'role')
  assert.equal((await ada.call('POST', '/open/replies', body)).status, 201)
  const filled = async (agent: Browser) =>
    (await agent.call('GET', `/open/replies?conversation_uuid=${uuid}`)).body.replies.map(
      (one: { filled: string }) => one.filled,
    )
  const [{ phone_number }] = (await call(who, 'GET', path)).body.conversation.channels
  assert.deepEqual(await filled(ada), [`Hello there, dear friend! Mia, ${phone_number}`])
  assert.deepEqual(await filled(bob), [], 'it is her own')
})

test('a draft is never seen by a colleague', async () => {
  const { who, path } = await stage()
  const [ada, bob] = await agents(who)
  await ada.call('PUT', `${path}/draft`, { text: 'Half a sen' })
  await bob.call('PUT', `${path}/draft`, { text: 'Mine' })
  const texts = async () =>
    Promise.all([ada, bob].map(async (agent) => (await agent.call('GET', `${path}/draft`)).body.draft?.text))
  assert.deepEqual(await texts(), ['Half a sen', 'Mine'])
  await bob.call('DELETE', `${path}/draft`)
  assert.deepEqual(await texts(), ['Half a sen', undefined])
  assert.equal((await call(who, 'GET', `${path}/draft`)).body.draft, undefined)
})

test('views have an order, and a view of the inbox filters its list', async () => {
  const { who, uuid } = await stage()
  const make = async (name: string, query: object) =>
    (await call(who, 'POST', '/open/views', { name, page: 'inbox', query })).body.view.uuid
  const [first, second] = [
    await make('waiting', { waiting: 'true', priority: '0' }),
    await make('urgent', { priority: '2' }),
  ]
  const list = async (view: string) => (await inbox.conversations(who, `?view=${view}`)).map((one) => one.uuid)
  assert.deepEqual([await list(first), await list(second)], [[uuid], []])
  const ordered = await call(who, 'PUT', '/open/views/order', { uuids: [second] })
  assert.deepEqual(
    ordered.body.views.map((one: { uuid: string }) => one.uuid),
    [second, first],
  )
  const { uuid: tag } = (await call(who, 'POST', '/open/tags', { name: 'gone' })).body.tag
  const third = await make('tagged', { tag })
  assert.equal((await call(who, 'DELETE', `/open/tags/${tag}`)).status, 200)
  assert.equal((await call(who, 'GET', '/open/conversations/counts?views=valueOf')).status, 400)
  const counted = await call(who, 'GET', `/open/conversations/counts?views=open,${third}`)
  assert.deepEqual([counted.status, counted.body.counts?.open.n, counted.body.counts?.[third].n], [200, 1, 0])
  const calls = { name: 'calls', page: 'calls', query: { since: 'yesterday', status: 'MISSED' } }
  const { uuid: fourth } = (await call(who, 'POST', '/open/views', calls)).body.view
  assert.equal((await call(who, 'GET', `/open/conversations?view=${fourth}`)).status, 404, 'a view of another page')
})

test('a view of a person is of no use to a colleague, and a shared one to all', async () => {
  const { who, uuid } = await stage()
  const [ada, bob] = await agents(who)
  const make = async (by: Browser | null, name: string, shared: boolean) => {
    const body = { name, page: 'inbox', query: { status: 'open' }, shared }
    const made = by ? await by.call('POST', '/open/views', body) : await call(who, 'POST', '/open/views', body)
    return made.body.view.uuid as string
  }
  const [own, ofKey, shared] = [
    await make(ada, 'own', false),
    await make(null, 'key', false),
    await make(null, 'all', true),
  ]
  const seen = async (by: Browser) =>
    (await by.call('GET', '/open/views')).body.views.map((one: { uuid: string }) => one.uuid)
  assert.deepEqual([await seen(ada), await seen(bob)], [[shared, own], [shared]])
  for (const view of [own, ofKey]) {
    const tries = [
      await bob.call('GET', `/open/conversations?view=${view}`),
      await bob.call('GET', `/open/conversations/counts?views=${view}`),
      await bob.call('PATCH', `/open/views/${view}`, { name: 'mine' }),
      await bob.call('PUT', '/open/views/order', { uuids: [view] }),
      await bob.call('DELETE', `/open/views/${view}`),
    ]
    assert.deepEqual(
      tries.map(({ status }) => status),
      [404, 404, 404, 404, 404],
      view,
    )
  }
  for (const view of [own, shared]) {
    const { conversations } = (await ada.call('GET', `/open/conversations?view=${view}`)).body
    assert.deepEqual(
      conversations.map((one: { uuid: string }) => one.uuid),
      [uuid],
    )
  }
})

test('a change of a closed conversation leaves when it was closed, and publishes no second closing', async () => {
  const { who, path, uuid } = await stage()
  const closedAt = async () =>
    (await db.one<{ at: Date | null }>`select closed_at as at from conversations where id = ${uuid.slice(3)}`).at
  await call(who, 'PATCH', path, { status: 'closed' })
  const first = await closedAt()
  await call(who, 'POST', '/sandbox/clock', { advance_seconds: 60 })
  for (const body of [{ priority: 2 }, { status: 'closed' }, { assignee_uuid: null }])
    assert.equal((await call(who, 'PATCH', path, body)).status, 200)
  assert.deepEqual(await closedAt(), first)
  await call(who, 'PATCH', path, { status: 'open' })
  assert.equal(await closedAt(), null)
  await call(who, 'PATCH', path, { status: 'closed' })
  assert.ok(((await closedAt()) ?? 0) > (first ?? 0))
  const closings = (await inbox.events(who)).filter((name) => name === 'conversation.closed')
  assert.equal(closings.length, 2)
})

test('two changes of several conversations never wait for the counters of each other', async () => {
  const who = await tenant()
  const [one, other] = [(await begin(who)).slice(3), (await begin(who)).slice(3)]
  const [first, second] = [uuid(), uuid()]
  const tag = (tx: Sql, conversation: string, tags: string[]) => tx.run`
    update conversations set tags = ${tags}::uuid[] where account_id = ${who.id} and id = ${conversation}`
  const slotOf = async (sql: Sql) => (await sql.one<{ slot: number }>`select pg_backend_pid() % 32 as slot`).slot
  const open = () => connect({ url: db.url, connections: 1, unlimited: true })
  const mine = open()
  const slot = await slotOf(mine)
  // Sessions of the same slot: before, these blocked each other.
  let theirs = open()
  for (; (await slotOf(theirs)) !== slot; theirs = open()) await theirs.end()
  try {
    await mine.begin((tx) =>
      theirs.begin(async (their) => {
        await tag(tx, one, [first])
        await tag(their, other, [second])
        await Promise.all([tag(tx, one, [first, second]), tag(their, other, [second, first])])
      }),
    )
  } finally {
    await mine.end()
    await theirs.end()
  }
  const counted = await db.many<{ n: number }>`
    select sum(n)::integer as n from conversation_counts
    where account_id = ${who.id} and kind = 'tagged' and subject = any (${[first, second]}::uuid[]) group by subject`
  assert.deepEqual(counted, [{ n: 2 }, { n: 2 }])
})

test('a snoozed conversation comes back at its time, and earlier when its person writes', async () => {
  const { who, line, path, shown } = await stage()
  const until_ = (seconds: number) => new Date(parts.clock.now() + seconds * 1_000).toISOString()
  await call(who, 'PATCH', path, { snoozed_until: until_(3_600) })
  assert.equal((await shown()).status, 'snoozed')
  await call(who, 'POST', '/sandbox/clock', { advance_seconds: 3_601 })
  await until(async () => (await shown()).status === 'open')
  const { counterpart } = await shown()
  await call(who, 'PATCH', path, { snoozed_till_reply: true })
  await inbox.write(counterpart, line.number, 'Here I am')
  await until(async () => (await shown()).status === 'open')
})

test('a deleted tag leaves its conversations', async () => {
  const { who, path, shown } = await stage()
  const { tag } = (await call(who, 'POST', '/open/tags', { name: 'Parcels' })).body
  const tagged = await call(who, 'PUT', `${path}/tags/${tag.uuid}`)
  assert.deepEqual(tagged.body.conversation.tags, [tag.uuid])
  assert.equal((await call(who, 'POST', '/open/tags', { name: 'parcels' })).body.error_code, 'tag_exists')
  await call(who, 'DELETE', `/open/tags/${tag.uuid}`)
  await until(async () => (await shown()).tags.length === 0)
})

test('the team shows who is there and what waits; agents set only their own state', async () => {
  const { who, path, channel_uuid, seen } = await stage()
  const [ada, bob] = await agents(who)
  assert.equal((await ada.call('PUT', '/open/me/availability', { state: 'away' })).status, 200)
  const other = { state: 'away', user_uuid: bob.user }
  assert.equal((await ada.call('PUT', '/open/me/availability', other)).body.error_code, 'role')
  await ada.call('PATCH', path, { assignee_uuid: ada.user })
  const team = async () => (await ada.call('GET', '/open/team')).body
  const before = await team()
  const own = before.members.find((one: { user_uuid: string }) => one.user_uuid === ada.user)
  assert.deepEqual([own.availability, own.open, own.waiting, before.waiting.n], ['away', 1, 1, 1])
  await ada.call('POST', `${path}/messages`, { channel_uuid, text: 'Hi', seen, close: true })
  const after = await team()
  assert.deepEqual([after.waiting.n, after.today.closed, typeof after.today.first_reply_p50_seconds], [0, 1, 'number'])
})

test('answered conversations without an item for as many days as the account wants are closed, others are not', async () => {
  const { who, line, path, uuid: waiting, shown } = await stage()
  const [answered, recent, snoozed] = [await begin(who), await begin(who), await begin(who)]
  await call(who, 'PATCH', `/open/conversations/${snoozed}`, { status: 'snoozed', snoozed_till_reply: true })
  const foreign = await stage()
  await call(foreign.who, 'PATCH', foreign.path, { status: 'closed' })
  await call(foreign.who, 'PATCH', foreign.path, { status: 'open' })
  const age = (days: number, ...uuids: string[]) => db.run`
    update conversations set last_at = app_now() - make_interval(days => ${days})
    where id = any (${uuids.map((one) => one.slice(3))}::uuid[])`
  await age(8, waiting, answered, snoozed, foreign.uuid)
  await age(6, recent)
  const refused = await call(who, 'PATCH', '/open/account', { close_after_days: 0 })
  assert.deepEqual([refused.status, refused.body.field], [400, '/close_after_days'])
  const { body } = await call(who, 'PATCH', '/open/account', { close_after_days: 7 })
  assert.equal(body.account.close_after_days, 7)
  await db.run`update schedules set next_at = app_now() where name = ${closeIdle.name}`
  const statusOf = async (uuid: string) =>
    (await call(who, 'GET', `/open/conversations/${uuid}`)).body.conversation.status
  await until(async () => (await statusOf(answered)) === 'closed')
  assert.deepEqual(
    [await statusOf(waiting), await statusOf(recent), await statusOf(snoozed), (await foreign.shown()).status],
    ['open', 'open', 'snoozed', 'open'],
  )
  assert.ok((await inbox.events(who)).includes('conversation.closed'))
  const [change] = (await inbox.items(who, answered)).items
  assert.deepEqual([change.kind, change.change.to, change.user_uuid], ['change', 'closed', undefined])
  // What was closed is opened by its person, and stays open for another seven days.
  await call(who, 'PATCH', '/open/account', { close_after_days: null })
  assert.equal((await call(who, 'GET', '/open/info')).body.account.close_after_days, undefined)
  assert.ok(line.number && path && (await shown()).waiting_since)
})

test('an agent finds conversations, texts and notes by words, and only those that may be seen', async () => {
  const { who, line, path, uuid, shown } = await stage()
  const [ada] = await agents(who)
  const { counterpart } = await shown()
  await inbox.write(counterpart, line.number, `${'Long ago and far away. '.repeat(9)}The café owes us an Invoice`)
  await until(async () => (await shown()).last.text.startsWith('Long'))
  await ada.call('POST', `${path}/notes`, { text: 'Their invoices are late' })
  const search = async (q: string, kinds = 'conversations,texts,notes') =>
    (await ada.call('GET', `/open/search?q=${encodeURIComponent(q)}&in=${kinds}`)).body.groups
  const [texts, notes] = await search('cafe invoi')
  assert.equal(notes, undefined)
  const [found] = texts.results
  assert.deepEqual([texts.in, texts.count, found.conversation_uuid], ['texts', 1, uuid])
  assert.deepEqual(
    found.text_marks.map(([from, to]: [number, number]) => found.text.slice(from, to)),
    ['café', 'Invoice'],
  )
  const around = await ada.call('GET', found.href)
  assert.ok(around.body.items.some((item: { uuid: string }) => item.uuid === found.uuid))
  assert.deepEqual(
    (await search('invoice')).map((group: { in: string; count: number }) => [group.in, group.count]),
    [
      ['texts', 1],
      ['notes', 1],
    ],
  )
  const [byNumber] = await search(counterpart, 'conversations')
  assert.equal(byNumber.results[0].uuid, uuid)
  assert.deepEqual(await search(line.number, 'numbers'), [], 'numbers need read_only')
  await db.run`update accounts set agents_see_all = false where id = ${who.id}`
  await call(who, 'PATCH', path, { assignee_uuid: (await member(world, who, 'agent')).user })
  assert.deepEqual(await search('invoice'), [])
  assert.deepEqual(await search(counterpart), [], 'nor by number')
})

test('an uploaded file has a link, is refused by SMS, and is sent on the messaging app as often as one likes', async () => {
  const { who, path, channel_uuid } = await stage()
  const upload = async (type: string, payload: string | Buffer, name = 'parcel%20é.png') =>
    await world.app.inject({
      method: 'POST',
      url: '/open/media',
      headers: { 'x-user-api-key': who.key, 'content-type': type, 'x-file-name': name },
      payload,
    })
  const large = await upload('image/png', Buffer.alloc(6 * 1024 * 1024, 7))
  assert.equal(large.statusCode, 201, large.body)
  const { media } = large.json()
  assert.deepEqual([media.type, media.mime_type, media.size], ['document', 'image/png', 6 * 1024 * 1024])
  const small = (await upload('image/png', 'small', '../parcel.png')).json().media
  assert.deepEqual([small.type, small.name], ['image', 'parcel.png'])
  const { pathname, search } = new URL(small.url)
  assert.equal((await world.app.inject({ method: 'GET', url: pathname + search })).body, 'small')
  assert.equal((await upload('text/html', '<script>')).statusCode, 415)
  const refused = await call(who, 'POST', `${path}/messages`, { channel_uuid, media_uuid: small.uuid })
  assert.deepEqual([refused.status, refused.body.error_code], [406, 'not_supported'])
  const app = await makeChatHarness(world, who.id)
  const onApp = { channel_uuid: `WPN${app.line.channel}`, media_uuid: small.uuid, text: 'Here it is' }
  for (const count of [1, 2]) {
    const sent = await call(who, 'POST', `${path}/messages`, onApp)
    assert.equal(sent.status, 202, JSON.stringify(sent.body))
    assert.equal(sent.body.item.message.message.media.name, 'parcel.png')
    await until(async () => app.sent.length === count)
  }
  const bytes = await Array.fromAsync(app.sent[1]?.file?.open() ?? [])
  assert.deepEqual([app.sent[1]?.file?.type, String(Buffer.concat(bytes))], ['image', 'small'])
  await db.run`update msgapp_media set created_at = now() - interval '2 days' where channel_id = ${noChannel}`
  await db.begin((tx) => deleteOldUploads.run(tx, new Date()))
  assert.equal((await call(who, 'POST', `${path}/messages`, onApp)).status, 404)
})
