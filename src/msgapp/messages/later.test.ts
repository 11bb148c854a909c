import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { makeWorld } from '../../../test/world.ts'
import { Later } from '../../jobs/kind.ts'
import { putOff } from '../later.ts'
import { makeChat } from './testing.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { call, db } = world

const furnish = async () => {
  const tenant = await world.tenant()
  const chat = await makeChat(world, tenant.id)
  const body = { from_number: chat.line.number, to_number: '+447700900123', text: 'Hello' }
  const id = String((await call(tenant, 'POST', '/open/msgapp/send-message', body)).body.message_uuid)
  const read = async () => {
    const { messages } = (await call(tenant, 'GET', `/open/msgapp/messages/${chat.line.number}`)).body
    return messages.find((one: { uuid: string }) => one.uuid === id)
  }
  return { chat, id: id.slice(3), read }
}

test('a network that says later, more often than anything is tried, is asked until it takes the message', async () => {
  const { chat, read } = await furnish()
  const take = chat.answer
  chat.answer = async (message) =>
    chat.sent.length < 20 ? { outcome: 'later', seconds: 0.01, reason: 'the archive is read first' } : take(message)
  await until(async () => (await read()).wa_msg_ack === 1)
  assert.equal(chat.sent.length, 20)
})

test('what a network put off for a day is given up, and says why', async () => {
  const { chat, id, read } = await furnish()
  chat.answer = async () => ({ outcome: 'later', seconds: 0.01, reason: 'not now' })
  await until(async () => chat.sent.length > 0)
  await db.run`update jobs set created_at = created_at - interval '25 hours', run_at = app_now() where id = ${id}`
  const { failure } = await until(async () => ((await read()).failure ? read() : null))
  assert.equal(failure.code, 'given_up')
  assert.match(failure.reason, /put off for a day: not now/)
})

test('what waits for long is looked at less and less often', () => {
  const createdAt = new Date()
  const pause = (age: number): number => {
    try {
      return putOff({ createdAt, runAt: new Date(createdAt.getTime() + age * 1_000) }, 'down', { least: 15, most: 600 })
    } catch (error) {
      return error instanceof Later ? error.seconds : Number.NaN
    }
  }
  const about = (seconds: number, age: number) => {
    const [least, most] = [seconds * 0.75, seconds * 1.25]
    assert.ok(pause(age) >= least && pause(age) <= most, `after ${age} s`)
  }
  about(15, 0)
  about(60, 120)
  about(600, 86_400)
})
