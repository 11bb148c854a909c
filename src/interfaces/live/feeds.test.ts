import assert from 'node:assert/strict'
import { test } from 'node:test'
import { member } from '../../../test/persons.ts'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { record } from '../../domains/events/ops.ts'
import { idAt, uuid } from '../../platform/lib/id.ts'
import type { LiveTopic } from './contract.ts'
import { makeCountFeed } from './count-feed.ts'
import { makeEventFeed } from './event-feed.ts'
import { maxReadWebhooks } from './limits.ts'
import type { LiveSession, Subscription } from './live-session.ts'
import { narrowEvents } from './narrowed-events.ts'
import * as presence from './presence-store.ts'
import { makeStateFeed } from './state-feed.ts'

const world = await makeWorld()
const { db, call, tenant } = world

test('an event that becomes visible late is handed over once, by the next look or a second later', async () => {
  const { id: account } = await tenant()
  let time = Date.now()
  const feed = makeEventFeed(db, assert.ifError, () => time)
  /** Adds an event with the id of some milliseconds ago, as a transaction that commits late does. */
  const recordLate = (ms: number, webhook: string | null = null) => db.run`
    insert into events (account_id, id, name, payload, webhook_id, created_at)
    values (${account}, ${idAt(time - ms)}, 'contact.created', ${JSON.stringify({ late: ms })}::json, ${webhook}, now())`
  await recordLate(500)
  const seen: number[] = []
  const end = await feed.watch(account, { receive: ({ payload }) => seen.push(JSON.parse(payload).late) })
  await feed.poll()
  assert.deepEqual(seen, [], 'what was there before the watch')
  await recordLate(900)
  // One that was made to test a webhook.
  await recordLate(600, uuid())
  await recordLate(8_500)
  time += 50
  await feed.poll()
  assert.deepEqual(seen, [900])
  time += 950
  await feed.poll()
  assert.deepEqual(seen, [900, 8_500])
  for (const ms of [0, 500, 1_000, 8_000, 12_000, 30_000]) {
    time += ms
    await feed.poll()
  }
  assert.deepEqual(seen, [900, 8_500])
  end()
  await recordLate(0)
  await feed.poll()
  assert.deepEqual([seen.length, feed.size()], [2, 0])
})

test('the numbers that pages get are those of the interface, for members who see all or only their own', async () => {
  const who = await tenant()
  const [own, other] = [await member(world, who, 'agent'), await member(world, who, 'agent')]
  const add = (status: string, assignee: string | null, isWaiting: boolean) => db.run`
    insert into conversations (account_id, id, counterpart, name, status, assignee_id, last_at, last_item, last_kind,
      last_text, waiting_since, created_at)
    values (${who.id}, ${uuid()}, ${uuid()}, 'Ada', ${status}, ${assignee?.slice(3) ?? null}, now(), ${uuid()}, 'sms', '',
      ${isWaiting ? new Date() : null}, now())`
  const counts = [
    [own.user, 1, 2],
    [other.user, 3, 4],
    [null, 5, 6],
  ] as const
  for (const [assignee, waiting, answered] of counts) {
    for (let n = 0; n < waiting; n++) await add('open', assignee, true)
    for (let n = 0; n < answered; n++) await add('open', assignee, false)
    for (const status of ['snoozed', 'closed']) await add(status, assignee, false)
  }
  for (const isNarrowed of [false, true]) {
    await call(who, 'PATCH', '/open/account', { agents_see_all: !isNarrowed })
    const readers = [own, ...(isNarrowed ? [] : [null])]
    const sent = new Map<LiveSession, object>()
    const pages = readers.map((reader): LiveSession => {
      const subscription: Subscription = {
        ...{ account: who.id, topics: new Set(['inbox'] as const), isNarrowed },
        contents: { messages: true, recordings: true },
        member: reader && { user: reader.user.slice(3), person: reader.boot.person.uuid.slice(3) },
      }
      const page: Partial<LiveSession> = {
        subscription: () => subscription,
        send: (frame) => void (frame.type === 'counts' && sent.set(page as LiveSession, frame.views)),
      }
      return page as LiveSession // the feed uses these two alone
    })
    await makeCountFeed(db, () => pages).look()
    for (const [n, reader] of readers.entries()) {
      const ask = (url: string) => (reader ? reader.call('GET', url) : call(who, 'GET', url))
      const expected = (await ask('/open/conversations/counts')).body.counts
      const views = sent.get(pages[n] ?? assert.fail()) ?? assert.fail('no frame')
      assert.ok('open' in views && 'waiting' in views, Object.keys(views).join())
      for (const [name, value] of Object.entries(views))
        assert.deepEqual(value, expected[name], `${name}, ${reader ? 'member' : 'key'}, ${isNarrowed}`)
    }
  }
})

test('a change of the balance or the team is reported once, to the pages that follow it, and not what was there before', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const heard: string[] = []
  /** A page that follows topics of an account. */
  const pageOf = (name: string, who: Tenant, topics: readonly LiveTopic[]): LiveSession => {
    const page: Partial<LiveSession> = {
      subscription: () => ({
        ...{ account: who.id, topics: new Set(topics), member: null, isNarrowed: false },
        contents: { messages: true, recordings: true },
      }),
      notify: (event) => void heard.push(`${name} ${event}`),
    }
    return page as LiveSession // the feed uses these two alone
  }
  let pages = [pageOf('money', ada, ['money']), pageOf('team', ada, ['team']), pageOf('bob', bob, ['money', 'team'])]
  const feed = makeStateFeed(db, () => pages)
  const look = async () => {
    heard.length = 0
    await feed.poll()
    await feed.compareTeams()
    return [...heard]
  }
  assert.deepEqual(await look(), [])
  assert.deepEqual(await look(), [])
  const credit = () => call('operator', 'POST', `/operator/accounts/${ada.uuid}/credit`, { amount: '1', note: 'x' })
  await credit()
  const user = await member(world, ada, 'agent')
  assert.deepEqual(await look(), ['money balance.changed', 'team member.changed'])
  assert.deepEqual(await look(), [])
  await call(ada, 'PATCH', `/open/members/${user.user}`, { role: 'billing' })
  assert.deepEqual(await look(), ['team member.changed'])
  // A page that comes back reads the state itself.
  const all = pages
  pages = all.slice(2)
  assert.deepEqual(await look(), [])
  await credit()
  pages = all
  assert.deepEqual(await look(), [])
  await credit()
  assert.deepEqual(await look(), ['money balance.changed'])
})

test('webhooks that change all the time keep no other one waiting, of their account or of another', async () => {
  const [busy, quiet] = [await tenant(), await tenant()]
  const heard: string[] = []
  const pageOf = ({ id }: Tenant): LiveSession => {
    const page: Partial<LiveSession> = {
      subscription: () => ({
        ...{ account: id, topics: new Set(['webhooks'] as const), member: null, isNarrowed: false },
        contents: { messages: true, recordings: true },
      }),
      notify: (_event, _topics, _id, data) => void heard.push(`${'webhook_uuid' in data && data.webhook_uuid}`),
    }
    return page as LiveSession // the feed uses these two alone
  }
  // An event with many webhooks is delivered later.
  const names = ['contact.created', 'contact.updated'] as const
  const subscribe = async (who: Tenant, count: number) => {
    const hooks: string[] = []
    for (let n = 0; n < count; n++) {
      const url = `/open/webhooks/subscribe/${names[n % names.length]}`
      hooks.push((await call(who, 'POST', url, { hook_url: `http://127.0.0.1:1024/${n}` })).body.data.uuid)
    }
    return hooks
  }
  const all = [...(await subscribe(busy, 2 * maxReadWebhooks + 1)), ...(await subscribe(quiet, 1))]
  const pages = [pageOf(busy), pageOf(quiet)]
  const feed = makeStateFeed(db, () => pages)
  const speak = (who: Tenant) =>
    db.begin((tx) =>
      record(
        tx,
        names.map((name) => ({ account: who.id, name, channel: null, conversation: null, payload: {} })),
      ),
    )
  // The first look shows what was there before, of most webhooks without their deliveries.
  await feed.poll()
  await speak(quiet)
  for (let looks = 0; looks < 3; looks++) {
    await speak(busy)
    await feed.poll()
    if (looks === 0) assert.ok(heard.includes(all.at(-1) ?? ''), 'the account with one webhook waits')
  }
  assert.deepEqual(new Set(heard), new Set(all))
})

test('people are in a conversation until their time ends, and in that of their account alone', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const [mia, max] = [await member(world, ada, 'agent'), await member(world, ada, 'agent')]
  const conversation = uuid()
  const report = (account: string, by: typeof mia, state: 'viewing' | 'typing') => ({
    ...{ account, socket: uuid(), user: by.user.slice(3), person: by.boot.person.uuid.slice(3) },
    ...{ conversation, state, wasVisible: true },
  })
  await presence.write(db, [
    report(ada.id, mia, 'viewing'),
    report(ada.id, mia, 'typing'),
    report(ada.id, max, 'viewing'),
  ])
  const seen = async (account: string) =>
    (await presence.peopleOf(db, [account], [conversation], 10)).map(({ user_id, state }) => `USR${user_id} ${state}`)
  assert.deepEqual(await seen(ada.id), [`${mia.user} typing`, `${max.user} viewing`])
  assert.deepEqual(await seen(bob.id), [])
  await db.run`update presences set until = clock_timestamp() where user_id = ${mia.user.slice(3)}`
  assert.deepEqual(await seen(ada.id), [`${max.user} viewing`])
})

test('a member who sees only own conversations gets own calls with anyone, and nothing of others', async () => {
  const who = await tenant()
  const [own, other] = [await member(world, who, 'agent'), await member(world, who, 'agent')]
  const [hers, his, free] = ['+447911000001', '+447911000002', '+447911000003']
  for (const [counterpart, { user }] of [
    [hers, own],
    [his, other],
  ] as const)
    await db.run`
      insert into conversations (account_id, id, counterpart, name, status, assignee_id, last_at, last_item, last_kind,
        last_text, created_at)
      values (${who.id}, ${uuid()}, ${counterpart}, 'x', 'open', ${user.slice(3)}, now(), ${uuid()}, 'sms', '', now())`
  const event = (name: string, payload: object) => ({ id: uuid(), name, payload: JSON.stringify(payload) })
  const events = [
    event('sms.message.received', { from_number: hers, n: 1 }),
    event('sms.message.received', { from_number: his, n: 2 }),
    event('sms.message.received', { from_number: free, n: 3 }),
    event('call.outbound.completed', { to: his, agent_id: own.user, n: 4 }),
    event('call.outbound.completed', { to: his, agent_id: other.user, n: 5 }),
    event('call.incoming.completed', { from: his, n: 6 }),
    event('sms.message.received', { from_number: 'INFO', to_number: his, n: 7 }),
    event('conversation.updated', { uuid: 'CNV1', assignee_uuid: other.user, name: 'secret', n: 8 }),
    event('conversation.updated', { uuid: 'CNV2', assignee_uuid: own.user, name: 'own', n: 9 }),
    event('conversation.updated', { uuid: 'CNV3', name: 'free', n: 10 }),
    event('number.purchased', { number: his, n: 11 }),
  ]
  const seenBy = async (user: string | null) =>
    (await narrowEvents(db, { account: who.id, user }, events)).map(({ payload }) => {
      const { n, name, uuid: id } = JSON.parse(payload)
      return n ?? `${id} ${name}`
    })
  assert.deepEqual(await seenBy(own.user.slice(3)), [1, 3, 4, 'CNV1 undefined', 9, 10, 11])
  assert.deepEqual(await seenBy(null), [3, 'CNV1 undefined', 'CNV2 undefined', 10, 11])
})
