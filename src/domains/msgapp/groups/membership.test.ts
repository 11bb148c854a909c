import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { makeWorld } from '../../../../test/world.ts'
import { uuid } from '../../../platform/lib/id.ts'
import type { ChatGroup, ChatGroupEvent, ChatNetwork, ChatParticipant } from '../../../ports/chat.ts'
import type { ChatParty } from '../../../ports/chat-message.ts'
import { eventsOf, makeChatHarness } from '../messages/testing.ts'
import { requestSync } from './group-operations.ts'

// An in-process network whose reports the test controls; everything else is the platform's own.

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { db, call, tenant } = world

const [ada, bob, eve] = ['+447700900501', '+447700900502', '+447700900503']
const remoteOf = (number: string): ChatParty => ({ number, remote: `${number.slice(1)}@c.us`, pushname: null })
const added = (number: string): ChatParticipant => ({ number, code: 200, message: 'added', invited: false })

/** A connected number of a new account, and its network's groups. */
const makeStage = async () => {
  const owner = await tenant()
  const chat = await makeChatHarness(world, owner.id)
  const { line, intake } = chat
  const groups = new Map<string, readonly ChatParty[]>()
  /** Network status codes by requested number. Default: 200. */
  const codes = new Map<string, number>()
  /** Hooks that run between the network's snapshot of its groups and its answer. */
  const during: (() => Promise<void>)[] = []
  const shown = (id: string, members: readonly ChatParty[]): ChatGroup => ({
    ...{ id, name: 'Chess', description: null, readOnly: false },
    members: members.map((one) => ({ ...one, admin: false, creator: false })),
  })
  const able: Pick<Required<ChatNetwork>, 'groups' | 'createGroup' | 'changeGroup'> = {
    groups: async () => {
      const value = [...groups].map(([id, members]) => shown(id, members))
      await during.pop()?.()
      return { outcome: 'done', value }
    },
    createGroup: async (_channel, { participants }) => {
      const id = `${uuid()}@g.us`
      groups.set(id, [line.number, ...participants].map(remoteOf))
      await during.pop()?.()
      return { outcome: 'done', value: { id, participants: participants.map(added) } }
    },
    changeGroup: async (_channel, _group, change) => {
      await during.pop()?.()
      return { outcome: 'done', value: 'numbers' in change ? change.numbers.map(answerOf) : [] }
    },
  }
  Object.assign(chat.network, able)
  const answerOf = (number: string) => ({ ...added(number), code: codes.get(number) ?? 200 })
  const sync = async () => {
    const id = await db.begin((tx) => requestSync(tx, line))
    await until(async () => !(await db.maybe`select 1 from jobs where id = ${id}`))
  }
  const hear = (group: string, what: ChatGroupEvent['what'], who: readonly ChatParty[], id = uuid()) =>
    intake.group(line, { id, group, name: 'Chess', what, who, at: Date.now() })
  const events = async () =>
    (await eventsOf(world, owner.id, 'msgapp.group.%')).map(({ name, payload }) => [
      name.replace('msgapp.group.', ''),
      payload.participants,
    ])
  const create = async (participants: readonly string[]) => {
    const body = { from_number: line.number, group: { name: 'Chess', participants } }
    const answer = await call(owner, 'POST', '/open/msgapp/group/create', body)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body.group
  }
  const change = async (uuid: string, what: 'add' | 'remove', number: string) => {
    const url = `/open/msgapp/group/${uuid}/${what}-participant`
    assert.equal((await call(owner, 'POST', url, { participants: [number] })).status, 200)
  }
  return { ...chat, owner, groups, codes, during, sync, hear, events, create, change }
}

/** A stage with a synced channel and one group, whose members are the number and Ada. */
const inGroup = async () => {
  const stage = await makeStage()
  const id = `${uuid()}@g.us`
  stage.groups.set(id, [remoteOf(stage.line.number), remoteOf(ada)])
  await stage.sync()
  return { ...stage, id }
}

test('a group created by the API is one join of all its members, and its echo and syncs add none', async () => {
  const { create, hear, sync, events, line } = await makeStage()
  const group = await create([ada])
  const joined = [['join', [line.number, ada].sort()]]
  const sorted = async () =>
    (await events()).map(([name, list]) => [name, [...(Array.isArray(list) ? list : [])].sort()])
  assert.deepEqual(await sorted(), joined)
  await hear(group.wa_group_id, 'join', [remoteOf(line.number), remoteOf(ada)])
  await sync()
  assert.deepEqual(await sorted(), joined)
})

test('a member added or removed by the API is one event, whether the echo comes before the answer or after it', async () => {
  for (const first of ['answer', 'echo'] as const) {
    const { create, change, hear, sync, events, during } = await makeStage()
    const { uuid: group, wa_group_id: id } = await create([ada])
    for (const [what, event] of [
      ['add', 'join'],
      ['remove', 'remove'],
    ] as const) {
      if (first === 'echo') during.push(() => hear(id, event, [remoteOf(bob)]))
      await change(group, what, bob)
      if (first === 'answer') await hear(id, event, [remoteOf(bob)])
    }
    assert.deepEqual(
      (await events()).slice(1),
      [
        ['join', [bob]],
        ['remove', [bob]],
      ],
      first,
    )
    await sync()
    assert.equal((await events()).length, 3)
  }
})

test('a number that the network rejects or only invites does not join, and a rejection removes no member', async () => {
  const { create, change, events, codes, owner } = await makeStage()
  const { uuid } = await create([ada])
  for (const [number, code] of [
    [ada, 403],
    [bob, 403],
    [eve, 404],
  ] as const)
    codes.set(number, code)
  for (const number of [ada, bob, eve]) await change(uuid, 'add', number)
  assert.equal((await events()).length, 1)
  const { participants } = (await call(owner, 'GET', `/open/msgapp/group/${uuid}`)).body.group
  assert.deepEqual(
    [ada, bob, eve].map((number) => participants[number].statusCode),
    [200, 403, 404],
  )
})

test('the first sync of a channel’s groups publishes no event, and a later difference publishes one', async () => {
  const { groups, sync, events, id, line } = await inGroup()
  assert.deepEqual(await events(), [])
  groups.set(id, [remoteOf(line.number), remoteOf(bob), remoteOf(eve)])
  await sync()
  await sync()
  assert.deepEqual(await events(), [
    ['leave', [ada]],
    ['join', [bob, eve]],
  ])
})

test('a group that appears or disappears is one join or leave of the number itself, from the first report', async () => {
  const { groups, sync, hear, events, owner, line } = await inGroup()
  const [seen, heard] = [`${uuid()}@g.us`, `${uuid()}@g.us`]
  for (const one of [seen, heard]) groups.set(one, [remoteOf(line.number), remoteOf(eve)])
  await hear(heard, 'join', [remoteOf(line.number)])
  await sync()
  await hear(seen, 'join', [remoteOf(line.number)])
  assert.deepEqual(await events(), [
    ['join', [line.number]],
    ['join', [line.number]],
  ])
  // The joins requested a sync: one that still runs would see the groups disappear before the report does.
  await until(async () => !(await db.maybe`select 1 from jobs where account_id = ${owner.id}`))
  groups.delete(seen)
  groups.delete(heard)
  await hear(heard, 'remove', [remoteOf(line.number)])
  await sync()
  await hear(seen, 'remove', [remoteOf(line.number)])
  assert.deepEqual((await events()).slice(2), [
    ['remove', [line.number]],
    ['leave', [line.number]],
  ])
})

test('a snapshot older than a change reverts nothing, and the group is synced again', async () => {
  const { groups, during, sync, hear, events, id, owner, line } = await inGroup()
  during.push(async () => {
    groups.set(id, [remoteOf(line.number), remoteOf(bob)])
    await hear(id, 'join', [remoteOf(bob)])
    await hear(id, 'leave', [remoteOf(ada)])
  })
  await sync()
  const members = async () => {
    const { data } = (await call(owner, 'GET', `/open/msgapp/groups/${line.number}`)).body
    return Object.keys(data[0].participants).sort()
  }
  const now = [bob, line.number].sort()
  assert.deepEqual(await members(), now)
  await until(async () => !(await db.maybe`select 1 from jobs where account_id = ${owner.id}`))
  assert.deepEqual(await members(), now)
  assert.deepEqual(await events(), [
    ['join', [bob]],
    ['leave', [ada]],
  ])
})

test('a member whose number becomes known neither joins nor leaves', async () => {
  const { groups, sync, hear, events, intake, id, line } = await inGroup()
  const hidden = (name: string) => ({ number: null, remote: `${name}@lid`, pushname: null })
  await hear(id, 'join', [hidden('1'), hidden('2')])
  await intake.mapped(line, '1@lid', bob)
  groups.set(id, [remoteOf(line.number), remoteOf(ada), remoteOf(bob), { ...hidden('2'), number: eve }])
  await sync()
  await intake.renamed(line, bob, '+447700900504')
  groups.set(id, [line.number, ada, '+447700900504', eve].map(remoteOf))
  await sync()
  assert.deepEqual(await events(), [['join', ['1@lid', '2@lid']]])
})

test('a repeated group event counts once, and a leave before the first sync is published', async () => {
  const { hear, events } = await makeStage()
  const [group, id] = [`${uuid()}@g.us`, uuid()]
  for (let i = 0; i < 2; i++) await hear(group, 'leave', [remoteOf(ada)], id)
  // The first sync does not find the group, and so reports that the number of the account has left it.
  const ofAda = (await events()).filter((one) => JSON.stringify(one).includes(ada))
  assert.deepEqual(ofAda, [['leave', [ada]]])
})

test('a join and a leave reported together are stored in the order of the reports', async () => {
  const { hear, events, id, owner, line } = await inGroup()
  const reports = Array.from({ length: 20 }, (_, i) => (i % 2 ? 'leave' : 'join') satisfies ChatGroupEvent['what'])
  await Promise.all(reports.map((what) => hear(id, what, [remoteOf(bob)])))
  assert.deepEqual(
    await events(),
    reports.map((what) => [what, [bob]]),
  )
  const { data } = (await call(owner, 'GET', `/open/msgapp/groups/${line.number}`)).body
  assert.equal(data[0].participants[bob], undefined)
})
