import assert from 'node:assert/strict'
import { test } from 'node:test'
import { member } from '../../../../test/persons.ts'
import { until } from '../../../../test/platform.ts'
import { setPrices } from '../../../../test/recipes/scene.ts'
import { makeWorld } from '../../../../test/world.ts'
import { makeInbox } from '../inbox-testing.ts'

// Sends that stop for the answer of a colleague. The usual case is in ../acts.test.ts.

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
await setPrices(world)
const inbox = makeInbox(world)
const handset = '+447911120001'

/** A conversation that a handset began, and that Bob has answered. Ada has seen the message of the handset. */
const stage = async () => {
  const who = await world.tenant()
  const line = await inbox.giveNumber(who)
  const [sender, bob] = [await member(world, who, 'agent'), await member(world, who, 'agent')]
  await inbox.write(handset, line.number, 'Hello')
  const { uuid, last } = await until(async () => (await inbox.conversations(who))[0])
  const seen: string = Object(last).item_uuid
  const path = `/open/conversations/${uuid}/messages`
  const channel_uuid = `SMS${line.channel}`
  const answer = await bob.call('POST', path, { channel_uuid, text: 'Mine', seen })
  assert.equal(answer.status, 202)
  const lastOf = async () => Object((await inbox.conversations(who))[0]?.last)
  const send = (more: object) => sender.call('POST', path, { channel_uuid, text: 'Hi', seen, ...more })
  return { line, seen, answer: answer.body.item.uuid, lastOf, send }
}

test('a refused send shows the answer of a colleague, however much came in after it', async () => {
  const { line, answer, lastOf, send } = await stage()
  await inbox.write(handset, line.number, ...Array.from({ length: 25 }, (_, n) => `And ${n}`))
  await until(async () => (await lastOf()).text === 'And 24')
  const { status, body } = await send({})
  const items: { uuid: string; sms: { text: string } }[] = body.items
  assert.deepEqual([status, items.length, items[0]?.sms.text], [409, 20, 'And 24'])
  assert.equal(items.at(-1)?.uuid, answer)
})

test('an answer that was taken in after a later message stops a send that has not seen it', async () => {
  const { line, seen, answer, lastOf, send } = await stage()
  await inbox.write(handset, line.number, 'Hello?')
  await until(async () => (await lastOf()).text === 'Hello?')
  const later = (await lastOf()).item_uuid
  const refused = await send({ seen: later, seen_answer: seen })
  assert.deepEqual([refused.status, refused.body.items[0]?.uuid], [409, answer])
  assert.equal((await send({ seen: later, seen_answer: answer })).status, 202)
})
