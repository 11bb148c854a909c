import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { makeWorld } from '../../../../test/world.ts'
import type { ChatMember } from '../../../ports/chat.ts'
import { makeChatHarness } from '../messages/testing.ts'
import { requestSync } from './group-operations.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { call, db, tenant } = world

const member = (number: string, more: Partial<ChatMember> = {}): ChatMember => ({
  ...{ number, remote: `${number.slice(1)}@c.us`, pushname: null, admin: false, creator: false },
  ...more,
})

test('participants who were only invited, or are not on the network, stay listed after a sync', async () => {
  const who = await tenant()
  const chat = await makeChatHarness(world, who.id)
  const { line } = chat
  const [joined, invited, absent, leaves] = ['+447700900101', '+447700900102', '+447700900103', '+447700900104']
  chat.network.createGroup = async () => ({
    outcome: 'done',
    value: {
      id: 'g1@g.us',
      participants: [
        { number: joined, code: 200, message: 'added', invited: false },
        { number: invited, code: 403, message: 'allows only contacts to add them', invited: true },
        { number: absent, code: 404, message: 'not on the network', invited: false },
        { number: leaves, code: 200, message: 'added', invited: false },
      ],
    },
  })
  const group = { name: 'Friends', participants: [joined, invited, absent, leaves] }
  const created = await call(who, 'POST', '/open/msgapp/group/create', { from_number: line.number, group })
  assert.equal(created.status, 200, JSON.stringify(created.body))
  const url = `/open/msgapp/group/${created.body.group.uuid}`

  let members = [member(line.number, { admin: true, creator: true }), member(joined)]
  let reads = 0
  chat.network.groups = async () => {
    reads++
    const head = { id: 'g1@g.us', name: 'Friends', description: null, readOnly: false }
    return { outcome: 'done', value: [{ ...head, members }] }
  }
  const codes = async () => {
    const { participants } = (await call(who, 'GET', url)).body.group
    return Object.fromEntries(
      Object.entries<{ statusCode: number; isInviteV4Sent: boolean }>(participants).map(([number, one]) => [
        number,
        [one.statusCode, one.isInviteV4Sent],
      ]),
    )
  }
  const synchronise = async () => {
    const before = reads
    await db.begin((tx) => requestSync(tx, line))
    await until(async () => reads > before)
    await until(async () => (await db.maybe`select from jobs where payload ->> 'channel' = ${line.channel}`) === null)
  }
  const own = line.number
  const before = { [own]: [200, false], [joined]: [200, false], [invited]: [403, true], [absent]: [404, false] }
  assert.deepEqual(await codes(), { ...before, [leaves]: [200, false] })
  await synchronise()
  assert.deepEqual(await codes(), before)

  // The participant accepted the invitation.
  members = [...members, member(invited)]
  await synchronise()
  assert.deepEqual(await codes(), { ...before, [invited]: [200, false] })
})
