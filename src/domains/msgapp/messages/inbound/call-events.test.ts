import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../../../test/world.ts'
import type { ChatCall } from '../../../../ports/chat-message.ts'
import { eventsOf, makeChatHarness } from '../testing.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const from = { number: '+447400123456', remote: '447400123456@c.us', pushname: null }
const at = Date.UTC(2026, 0, 5, 9)

/** A number, a way to report calls, and the resulting call records. */
const furnish = async () => {
  const tenant = await world.tenant()
  const { line, intake } = await makeChatHarness(world, tenant.id)
  const call = (more: Partial<ChatCall>) =>
    intake.call(line, { id: 'c1', from, group: null, video: false, at, state: 'offered', ...more })
  const published = async () => (await eventsOf(world, tenant.id)).map(({ name, payload }) => [name, payload.direction])
  const record = async () => (await world.call(tenant, 'GET', '/open/voip/call-history')).body.cdrs
  return { number: line.number, call, published, record }
}

test('a call from another device of the number is published once as outgoing, and is listed as outbound', async () => {
  const { number, call, published, record } = await furnish()
  for (const _ of [1, 2]) await call({ own: true })
  assert.deepEqual(await published(), [['msgapp.call.made', 'O']])
  const [ringing] = await record()
  assert.deepEqual(
    [ringing.direction, ringing.from, ringing.to_number, ringing.iso_country_code, ringing.active],
    ['O', number, from.number, 'GB', true],
  )
  assert.deepEqual([ringing.is_msgapp_call, ringing.is_sip_trunk_call, ringing.caller_id_used], [true, false, number])
  // The other party may report its end.
  await call({ state: 'ended' })
  const [ended, ...others] = await record()
  assert.deepEqual([ended.status, others.length], ['NO_ANSWER', 0])
  assert.equal((await published()).length, 1)
})

test('a call is missed, or completed if the network reports that it was answered', async () => {
  const { call, record } = await furnish()
  for (const [id, more] of [
    ['missed', {}],
    ['answered', { answered: true }],
    ['ours', { own: true, answered: true }],
  ] as const) {
    await call({ id, ...more, state: 'offered' })
    await call({ id, ...more, state: 'ended' })
  }
  const records: { callid: string; status: string }[] = await record()
  assert.deepEqual(Object.fromEntries(records.map(({ callid, status }) => [callid, status])), {
    missed: 'MISSED',
    answered: 'COMPLETED',
    ours: 'COMPLETED',
  })
})
