import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../../test/platform.ts'
import { makeWorld } from '../../../../../test/world.ts'
import { Snooze } from '../../../../platform/jobs/job-kind.ts'
import { snooze } from '../../operations/snooze.ts'
import { makeChatHarness } from '../testing.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { call, db } = world

const furnish = async () => {
  const tenant = await world.tenant()
  const chat = await makeChatHarness(world, tenant.id)
  const body = { from_number: chat.line.number, to_number: '+447700900123', text: 'Hello' }
  const id = String((await call(tenant, 'POST', '/open/msgapp/send-message', body)).body.message_uuid)
  const read = async () => {
    const { messages } = (await call(tenant, 'GET', `/open/msgapp/messages/${chat.line.number}`)).body
    return messages.find((one: { uuid: string }) => one.uuid === id)
  }
  return { chat, id: id.slice(3), read }
}

test('a network that answers later, more often than the attempt limit, is retried until it takes the message', async () => {
  const { chat, read } = await furnish()
  const take = chat.answer
  chat.answer = async (message) =>
    chat.sent.length < 20 ? { outcome: 'later', seconds: 0.01, reason: 'the archive is read first' } : take(message)
  await until(async () => (await read()).wa_msg_ack === 1)
  assert.equal(chat.sent.length, 20)
})

test('a message postponed for a day is given up with the reason', async () => {
  const { chat, id, read } = await furnish()
  chat.answer = async () => ({ outcome: 'later', seconds: 0.01, reason: 'not now' })
  await until(async () => chat.sent.length > 0)
  await db.run`update jobs set created_at = created_at - interval '25 hours', run_at = app_now() where id = ${id}`
  const { failure } = await until(async () => ((await read()).failure ? read() : null))
  assert.equal(failure.code, 'given_up')
  assert.match(failure.reason, /still postponed after a day: not now/)
})

test('a job that waits for long is retried less and less often', () => {
  const createdAt = new Date()
  const pause = (age: number): number => {
    try {
      return snooze({ createdAt, runAt: new Date(createdAt.getTime() + age * 1_000) }, 'down', { least: 15, most: 600 })
    } catch (error) {
      return error instanceof Snooze ? error.seconds : Number.NaN
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
