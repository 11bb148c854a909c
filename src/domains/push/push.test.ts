import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { member } from '../../../test/persons.ts'
import { until } from '../../../test/platform.ts'
import { startPushService } from '../../../test/push-receiver.ts'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { startWorker } from '../../platform/jobs/consume/worker.ts'
import { uuid } from '../../platform/lib/id.ts'
import { weekdays } from '../accounts/working-hours.ts'
import { beginCall, callAnswered } from '../calls/ops.ts'
import { makeInbox } from '../inbox/inbox-testing.ts'
import { purgePush, pushJobs } from './jobs.ts'

// Real messages through the projector, real jobs, and a push service over a socket that decrypts what it gets.

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_PUSH_CONTACT: 'mailto:ops@example.com' })
const { db, parts, call } = world
const inbox = makeInbox(world)
const worker = startWorker({ db, log: parts.log, kinds: pushJobs(parts), schedules: [] })
after(() => worker.stop(5_000))
const service = await startPushService()

let browsers = 0
let handsets = 0

const account = async () => {
  const who = await world.tenant()
  return { who, line: await inbox.giveNumber(who), handset: `+4479111${String(10_000 + handsets++)}` }
}

const path = '/open/me/push-subscriptions'

/** A member with a browser that gets notifications. */
const agent = async (who: Tenant) => {
  const person = await member(world, who, 'agent')
  const name = `browser-${++browsers}`
  const body = service.subscribe(name)
  const created = await person.call('POST', path, body)
  assert.equal(created.status, 201, JSON.stringify(created.body))
  const of = () => service.messages.filter(({ browser }) => browser === name)
  const kinds = () => of().map(({ message }) => message.kind)
  return { ...person, name, body, subscription: String(created.body.subscription.uuid), of, kinds }
}

/** Decides now what would be decided in 5 s. @returns once all jobs of an account have ended */
const settle = async ({ id }: Tenant) => {
  await until(async () => {
    await db.run`update jobs set run_at = (select app_now()) where account_id = ${id} and leased_until is null`
    return (await db.many`select from jobs where account_id = ${id} and kind like 'push.%' limit 1`).length === 0
  })
}

const conversationOf = (who: Tenant, handset: string) =>
  until(async () => (await inbox.conversations(who)).find(({ counterpart }) => counterpart === handset))

/** A handset writes, and the text is in its conversation. */
const write = async ({ who, line, handset }: Awaited<ReturnType<typeof account>>, text: string) => {
  await inbox.write(handset, line.number, text)
  return until(async () => {
    const found = await conversationOf(who, handset)
    return Object(found.last).text === text && found
  })
}

test('a message notifies all who answer, later the assignee alone, by a count unless the account allows names', async () => {
  const place = await account()
  const [mia, max] = [await agent(place.who), await agent(place.who)]
  const developer = await member(world, place.who, 'developer')
  assert.equal((await developer.call('GET', path)).status, 403)
  const { uuid: conversation } = await write(place, 'Hello')
  await settle(place.who)
  const expected = { kind: 'message', tag: conversation.slice(3), account: place.who.uuid, conversation, count: 1 }
  assert.deepEqual(
    [mia, max].map((one) => one.of().map(({ message }) => message)),
    [[expected], [expected]],
  )
  assert.equal((await call(place.who, 'PATCH', '/open/account', { notification_names: true })).status, 200)
  await call(place.who, 'PATCH', `/open/conversations/${conversation}`, { assignee_uuid: mia.user })
  await db.run`update push_shown set shown_at = shown_at - interval '1 minute'`
  await write(place, 'Are you there?')
  await settle(place.who)
  assert.deepEqual([mia.of().length, max.of().length], [2, 1])
  assert.deepEqual(mia.of()[1]?.message, { ...expected, name: place.handset })
})

test('a message is signed for its push service by the one key of the installation, and replaces an earlier one', async () => {
  const place = await account()
  const mia = await agent(place.who)
  await write(place, 'Hello')
  await settle(place.who)
  const [{ headers, sender, claims } = assert.fail()] = mia.of()
  const { public_key: known } = (await mia.call('GET', path)).body
  assert.equal(sender, known)
  assert.deepEqual([...new Set(service.messages.map((one) => one.sender))], [known])
  assert.equal(claims.sub, 'mailto:ops@example.com')
  assert.ok((claims.exp ?? 0) - Date.now() / 1_000 <= 86_400, 'RFC 8292, 2: at most a day')
  assert.match(headers.topic ?? '', /^[A-Za-z0-9_-]{1,32}$/)
  assert.deepEqual([headers['content-encoding'], headers.urgency], ['aes128gcm', 'normal'])
  assert.ok(Number(headers.ttl) > 43_000)
  const [row] = await db.many<{ sealed: Buffer }>`select sealed_target as sealed from push_subscriptions limit 1`
  assert.ok(!row?.sealed.includes('push/'))
})

test('no notification goes to a person with a visible page, in quiet hours, or who switched it off', async () => {
  const place = await account()
  const [seeing, gone, quiet, off, on] = [
    ...(await Promise.all([agent(place.who), agent(place.who), agent(place.who), agent(place.who), agent(place.who)])),
  ]
  const page = (user: string, ago: number) => db.run`
    insert into presences (account_id, socket_id, user_id, person_id, visible_at, updated_at)
    select account_id, ${uuid()}, id, person_id, clock_timestamp() - make_interval(secs => ${ago}), clock_timestamp()
    from users where id = ${user.slice(3)}`
  await page(seeing.user, 20)
  await page(gone.user, 31)
  const prefer = (notifications: object) => ({ preferences: { theme: 'dark', notifications } })
  // Two hours before until two hours after now, in a zone without UTC.
  const clock = (hours: number) => new Date(parts.clock.now() + (hours + 9) * 3_600_000).toISOString().slice(11, 16)
  await quiet.call('PATCH', '/console/me', {
    ...prefer({ quiet: { on: true, from: clock(-2), until: clock(2) } }),
    timezone: 'Asia/Tokyo',
  })
  await off.call('PATCH', '/console/me', prefer({ messages: false }))
  await write(place, 'Hello')
  await settle(place.who)
  assert.deepEqual(
    [seeing, gone, quiet, off, on].map((one) => one.of().length),
    [0, 1, 0, 0, 1],
  )
})

test('no notification is sent outside the working hours of the account', async () => {
  const place = await account()
  const mia = await agent(place.who)
  const hours = (days: readonly object[], timezone = 'Asia/Tokyo') =>
    call(place.who, 'PATCH', '/open/account', { working_hours: { timezone, days } })
  const day = new Date(parts.clock.now() + 9 * 3_600_000)
    .toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' })
    .toLowerCase()
  const others = weekdays.filter((one) => one !== day)
  const allDay = { from: '00:00', until: '24:00' }
  const { status, body } = await hours(others.map((one) => ({ day: one, ...allDay })))
  assert.deepEqual([status, body.account?.working_hours.days.length], [200, 6], JSON.stringify(body))
  await write(place, 'Hello')
  await settle(place.who)
  assert.deepEqual(mia.kinds(), [])
  await hours(weekdays.map((one) => ({ day: one, ...allDay })))
  await write(place, 'Are you there?')
  await settle(place.who)
  assert.deepEqual(mia.kinds(), ['message'])
  const refusals = [
    await hours([{ day: 'monday', from: '17:00', until: '09:00' }]),
    await hours([{ day: 'monday', ...allDay }], 'Mars/Olympus'),
    await hours([]),
  ]
  assert.deepEqual(
    refusals.map((one) => [one.status, one.body.field]),
    [
      [400, '/working_hours'],
      [400, '/working_hours'],
      [400, '/working_hours/days'],
    ],
  )
})

test('a message read or answered within five seconds notifies no person, and a burst notifies once', async () => {
  const place = await account()
  const [mia, max] = [await agent(place.who), await agent(place.who)]
  const { uuid: conversation, last } = await write(place, 'Hello')
  const [{ delay } = assert.fail()] = await db.many<{ delay: number }>`
    select extract(epoch from run_at - created_at)::float8 as delay from jobs where account_id = ${place.who.id}`
  assert.ok(delay > 4 && delay <= 5, String(delay))
  const read = await mia.call('POST', `/open/conversations/${conversation}/read`, { until: Object(last).item_uuid })
  assert.equal(read.status, 200)
  for (const text of ['One', 'Two', 'Three']) await write(place, text)
  await mia.call('POST', `/open/conversations/${conversation}/read`, {
    until: Object((await conversationOf(place.who, place.handset)).last).item_uuid,
  })
  await settle(place.who)
  assert.deepEqual([mia.of().length, max.of().length], [0, 1])
  await db.run`update push_shown set shown_at = shown_at - interval '1 minute'`
  await write(place, 'Four')
  await db.run`update conversations set waiting_since = null where account_id = ${place.who.id}`
  await settle(place.who)
  assert.equal(max.of().length, 1)
  const five = await write(place, 'Five')
  await mia.call('POST', `/open/conversations/${conversation}/read`, { until: Object(five.last).item_uuid })
  await write(place, 'Six')
  await settle(place.who)
  assert.equal(mia.of().length, 1, 'who read the first of two was not notified of the second before')
})

test('a notification is withdrawn for a person who read it elsewhere, and for all once the conversation is closed', async () => {
  const place = await account()
  const [mia, max] = [await agent(place.who), await agent(place.who)]
  const { uuid: conversation, last } = await write(place, 'Hello')
  await settle(place.who)
  await mia.call('POST', `/open/conversations/${conversation}/read`, { until: Object(last).item_uuid })
  await settle(place.who)
  assert.deepEqual([mia.kinds(), max.kinds()], [['message', 'close'], ['message']])
  await call(place.who, 'PATCH', `/open/conversations/${conversation}`, { status: 'closed' })
  await settle(place.who)
  assert.deepEqual(
    [mia.kinds(), max.kinds()],
    [
      ['message', 'close'],
      ['message', 'close'],
    ],
  )
  const [shown, closed] = max.of()
  assert.deepEqual(closed?.message, { kind: 'close', tag: shown?.message.tag, account: place.who.uuid })
  // A browser that was offline gets the withdrawal in the place of the notification.
  assert.equal(closed?.headers.topic, shown?.headers.topic)
})

test('a note notifies the users it mentions, but not its author, also of a closed conversation', async () => {
  const place = await account()
  const [mia, max] = [await agent(place.who), await agent(place.who)]
  const { uuid: conversation } = await write(place, 'Hello')
  await call(place.who, 'PATCH', `/open/conversations/${conversation}`, { status: 'closed' })
  const note = { text: 'Please look', mentions: [mia.user, max.user] }
  assert.equal((await mia.call('POST', `/open/conversations/${conversation}/notes`, note)).status, 201)
  await settle(place.who)
  assert.deepEqual([mia.kinds(), max.kinds()], [[], ['mention']])
  await call(place.who, 'PATCH', '/open/account', { agents_see_all: false })
  await call(place.who, 'PATCH', `/open/conversations/${conversation}`, { assignee_uuid: mia.user })
  await db.run`delete from push_shown where account_id = ${place.who.id}`
  await call(place.who, 'POST', `/open/conversations/${conversation}/notes`, note)
  await settle(place.who)
  const mentions = [mia, max].map(({ kinds }) => kinds().filter((kind) => kind === 'mention').length)
  assert.deepEqual(mentions, [1, 1], 'Max may not see it any more')
})

test('an incoming call notifies the user of the number at once, and the notification goes with the answer', async () => {
  const { who, line, handset } = await account()
  const [mia, max] = [await agent(who), await agent(who)]
  await db.run`update virtual_numbers set inbound_user_id = ${mia.user.slice(3)} where id = ${line.did}`
  const id = uuid()
  await db.begin((tx) =>
    beginCall(tx, {
      ...{ account_id: who.id, id, callid: id, direction: 'I', user_id: null, from_number: handset },
      ...{ to_number: line.number, iso_country_code: 'GB', is_msgapp: false, is_trunk: true, caller_id: null },
      ...{ caller_id_used: handset, virtual_number_id: line.did, toll_free: false, rate: '0' },
    }),
  )
  await until(async () => mia.of().length === 1)
  await settle(who)
  const [{ message, headers } = assert.fail()] = mia.of()
  assert.deepEqual([message.kind, message.call, headers.urgency], ['call', `CDR${id}`, 'high'])
  assert.ok(Number(headers.ttl) <= 30)
  await db.begin((tx) => callAnswered(tx, who.id, id, max.user.slice(3)))
  await until(async () => mia.kinds().join() === 'call,close')
  assert.deepEqual(max.kinds(), [])
})

test('a push service that is down is retried, one that refuses is shown, and a browser that is gone is forgotten', async () => {
  const place = await account()
  const mia = await agent(place.who)
  const listed = async () => (await mia.call('GET', path)).body.subscriptions[0]
  const send = async () => {
    assert.equal((await mia.call('POST', `${path}/${mia.subscription}/test`)).status, 202)
    await settle(place.who)
  }
  service.refuse(mia.name, 503, '20')
  assert.equal((await mia.call('POST', `${path}/${mia.subscription}/test`)).status, 202)
  const [{ wait } = assert.fail()] = await until(async () => {
    const rows = await db.many<{ wait: number }>`
      select extract(epoch from run_at - (select app_now()))::float8 as wait from jobs
      where account_id = ${place.who.id} and kind = 'push.deliver' and attempts = 1 and leased_until is null`
    return rows.length > 0 && rows
  })
  assert.ok(wait > 15 && wait <= 20, `waits ${wait} s, as Retry-After says`)
  service.refuse(mia.name, 201)
  await settle(place.who)
  assert.deepEqual([mia.kinds(), (await listed()).failure], [['test'], undefined])
  service.refuse(mia.name, 413)
  await send()
  assert.equal((await listed()).failure, 'the push service replied 413')
  service.forget(mia.name)
  await send()
  assert.equal(await listed(), undefined)
})

test('subscriptions belong to one person, end with the session, and a key has none', async () => {
  const place = await account()
  const { who } = place
  const [mia, max] = [await agent(who), await agent(who)]
  assert.deepEqual((await call(who, 'GET', path)).body.error_code, 'no_person')
  for (const id of [max.subscription, `PSH${uuid()}`])
    assert.equal((await mia.call('DELETE', `${path}/${id}`)).status, 404)
  // The browser of Max signs in as Mia.
  assert.equal((await mia.call('POST', path, max.body)).status, 201)
  assert.deepEqual((await max.call('GET', path)).body.subscriptions, [])
  const mine = (await mia.call('GET', path)).body.subscriptions
  assert.equal(mine.length, 2)
  assert.equal((await mia.call('DELETE', `${path}/${mine[0].uuid}`)).status, 200)
  const { uuid: tested } = mine[1]
  const { session_id: session } = await db.one<{ session_id: string }>`
    select session_id from push_subscriptions where id = ${tested.slice(3)}`
  await write(place, 'Before')
  await settle(who)
  assert.equal(mia.kinds().length + max.kinds().length, 1)
  await db.run`update sessions set expires_at = now() where id = ${session}`
  await db.run`delete from push_shown where account_id = ${who.id}`
  await write(place, 'After')
  await settle(who)
  assert.equal(mia.kinds().length + max.kinds().length, 1, 'nothing goes to an expired session')
  await db.begin((tx) => purgePush.run(tx, new Date()))
  assert.deepEqual(await db.many`select from push_subscriptions where id = ${tested.slice(3)}`, [])
})

test('an address that webhooks may not call, and keys of no browser, are refused', async () => {
  const { who } = await account()
  const mia = await member(world, who, 'agent')
  const { endpoint, keys } = service.subscribe('strict')
  const refusal = async (body: object, of = mia) => (await of.call('POST', path, body)).body.error_code
  assert.equal(await refusal({ endpoint: 'ftp://push.example.com/1', keys }), 'endpoint_refused')
  assert.equal(await refusal({ endpoint, keys: { ...keys, auth: 'AAAA' } }), 'invalid_push_keys')
  const strict = await makeWorld({ TRUNKLINE_ALLOW_PRIVATE_HOOKS: 'false', TRUNKLINE_ALLOW_HTTP_HOOKS: 'false' })
  const other = await member(strict, await strict.tenant(), 'agent')
  assert.equal(await refusal({ endpoint, keys }, other), 'endpoint_refused')
  assert.equal(await refusal({ endpoint: 'https://169.254.169.254/push', keys }, other), 'endpoint_refused')
})
