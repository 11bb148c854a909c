import assert from 'node:assert/strict'
import { test } from 'node:test'
import { member } from '../../../../test/persons.ts'
import { until } from '../../../../test/platform.ts'
import { setPrices } from '../../../../test/recipes/scene.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { print, uuid } from '../../../platform/lib/id.ts'
import { makeInbox } from '../../inbox/inbox-testing.ts'
import { record } from '../ops.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { db, call, tenant } = world
await setPrices(world)
const inbox = makeInbox(world)

const [person, another] = ['+447911130001', '+447911130002']

const conversationWith = (who: Tenant, number: string) =>
  until(async () => (await inbox.conversations(who)).find(({ counterpart }) => counterpart === number)?.uuid ?? null)

/** A call with a number, and its event. */
const endCall = async ({ id: account }: Tenant, direction: 'O' | 'I', number: string) => {
  const id = uuid()
  const [from, to] = direction === 'O' ? ['+447700900001', number] : [number, '+447700900001']
  await db.run`
    insert into calls (account_id, id, callid, direction, from_number, to_number, iso_country_code, status, is_msgapp,
      is_trunk, caller_id_used, ended_at, created_at)
    values (${account}, ${id}, ${id}, ${direction}, ${from}, ${to}, 'GB', 'COMPLETED', false, true, '', app_now(), app_now())`
  const name = direction === 'O' ? 'call.outbound.completed' : 'call.incoming.completed'
  await db.begin((tx) =>
    record(tx, [{ account, name, channel: null, conversation: `call ${id}`, payload: { uuid: print('CDR', id) } }]),
  )
}

/** A message of the messaging app with a number or a group, and its event. */
const chat = ({ id: account }: Tenant, channel: string, peer: string) =>
  db.begin((tx) =>
    record(tx, [
      { account, name: 'msgapp.message.sent', channel, conversation: `${channel} ${peer}`, payload: { uuid: peer } },
    ]),
  )

test('the events of a conversation are those of its messages and calls, and no others', async () => {
  const [who, other] = [await tenant(), await tenant()]
  const [line, foreign] = [await inbox.giveNumber(who), await inbox.giveNumber(other)]
  await inbox.write(another, line.number, 'of another person')
  await inbox.write(person, line.number, 'Hello', 'again')
  await inbox.write(person, foreign.number, 'of another account')
  const [own, theirs, strange] = [
    await conversationWith(who, person),
    await conversationWith(who, another),
    await conversationWith(other, person),
  ]
  await endCall(who, 'O', person)
  await endCall(who, 'I', person)
  await endCall(who, 'I', another)
  const channel = uuid()
  await chat(who, channel, `${person.slice(1)}@c.us`)
  await chat(who, channel, `${another.slice(1)}@c.us`)
  // The missed call is the last item to come; it publishes another event, so the list is read afterwards.
  await until(async () => (await inbox.items(who, own)).items.length === 3 || null)
  await call(who, 'PATCH', `/open/conversations/${own}`, { status: 'closed' })

  const list = (query: string) => call(who, 'GET', `/open/events?${query}`)
  const names = async (query: string): Promise<string[]> =>
    (await list(query)).body.events.map(({ name }: { name: string }) => name)
  const all = await names(`conversation=${own}`)
  for (const [name, count] of [
    ['sms.message.received', 2],
    ['call.outbound.completed', 1],
    ['call.incoming.completed', 1],
    ['msgapp.message.sent', 1],
    ['conversation.closed', 1],
  ] as const)
    assert.equal(all.filter((one) => one === name).length, count, `${name} of ${all}`)
  const ofAnother = await names(`conversation=${theirs}`)
  assert.equal(ofAnother.filter((name) => name === 'sms.message.received').length, 1, `${ofAnother}`)
  assert.ok(!ofAnother.includes('conversation.closed'), `${ofAnother}`)
  assert.deepEqual(await names(`conversation=${own}&name=call.outbound.completed`), ['call.outbound.completed'])
  const seen: string[] = []
  for (let cursor = ''; ; ) {
    const { body } = await list(`conversation=${own}&results_per_page=2${cursor}`)
    seen.push(...body.events.map(({ name }: { name: string }) => name))
    if (body.next_cursor === undefined) break
    cursor = `&cursor=${body.next_cursor}`
  }
  assert.deepEqual(seen, all)

  for (const missing of [strange, `CNV${uuid()}`]) {
    const { status, body } = await list(`conversation=${missing}`)
    assert.deepEqual(
      [status, body.field, body.error_message],
      [404, '/query/conversation', `No conversation ${missing}`],
    )
  }
})

test('the events of a person with a hidden number and of a group are found by their peers', async () => {
  const who = await tenant()
  const [channel, group, hidden, joint] = [uuid(), uuid(), uuid(), uuid()]
  await db.begin(async (tx) => {
    await tx.raw("set local session_replication_role = 'replica'")
    for (const [id, counterpart, of] of [
      [hidden, `remote:${channel}:77@lid`, null],
      [joint, `WAG${group}`, group],
    ] as const)
      await tx.run`
        insert into conversations (account_id, id, counterpart, group_id, name, status, last_at, last_item, last_kind,
          last_text, created_at)
        values (${who.id}, ${id}, ${counterpart}, ${of}, 'n', 'open', app_now(), ${id}, 'msgapp', '', app_now())`
    await tx.run`
      insert into msgapp_groups (account_id, id, channel_id, name, created_at, updated_at)
      values (${who.id}, ${group}, ${channel}, 'n', app_now(), app_now())`
    await tx.run`
      insert into msgapp_chats (account_id, channel_id, peer, group_id, last_at, last_message_id)
      values (${who.id}, ${channel}, '88@g.us', ${group}, app_now(), ${uuid()})`
  })
  await chat(who, channel, '77@lid')
  await chat(who, uuid(), '77@lid')
  await chat(who, channel, '88@g.us')
  const peers = async (id: string) =>
    (await call(who, 'GET', `/open/events?conversation=CNV${id}`)).body.events.map(
      ({ payload }: { payload: { uuid: string } }) => payload.uuid,
    )
  assert.deepEqual([await peers(hidden), await peers(joint)], [['77@lid'], ['88@g.us']])
})

test('an agent who sees only some conversations is refused the event log', async () => {
  const who = await tenant()
  const line = await inbox.giveNumber(who)
  await inbox.write(person, line.number, 'Hello')
  const own = await conversationWith(who, person)
  const [owner, ada] = [await member(world, who, 'owner'), await member(world, who, 'agent')]
  const statusWith = async (seesAll: boolean) => {
    const changed = await owner.call('PATCH', '/open/account', { agents_see_log: true, agents_see_all: seesAll })
    assert.equal(changed.status, 200, JSON.stringify(changed.body))
    return (await ada.call('GET', `/open/events?conversation=${own}`)).status
  }
  assert.deepEqual([await statusWith(false), await statusWith(true)], [403, 200])
})
