import assert from 'node:assert/strict'
import { test } from 'node:test'
import { member } from '../../../test/persons.ts'
import { makeWorld } from '../../../test/world.ts'
import { idAt, uuid } from '../../platform/lib/id.ts'
import { makeCountFeed } from './count-feed.ts'
import { makeEventFeed } from './event-feed.ts'
import type { LiveSession, Subscription } from './live-session.ts'

const world = await makeWorld()
const { db, call, tenant } = world

test('an event that becomes visible late is handed over once, by the next look or a second later', async () => {
  const { id: account } = await tenant()
  let time = Date.now()
  const feed = makeEventFeed(db, assert.ifError, () => time)
  /** Adds an event with the id of some milliseconds ago, as a transaction that commits late does. */
  const recordLate = (ms: number) => db.run`
    insert into events (account_id, id, name, payload, created_at)
    values (${account}, ${idAt(time - ms)}, 'contact.created', ${JSON.stringify({ late: ms })}::json, now())`
  await recordLate(500)
  const seen: number[] = []
  const end = await feed.watch(account, { receive: ({ payload }) => seen.push(JSON.parse(payload).late) })
  await feed.poll()
  assert.deepEqual(seen, [], 'what was there before the watch')
  await recordLate(900)
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
