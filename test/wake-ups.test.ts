import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { assemble } from '../src/assemble.ts'
import { makeInbox } from '../src/domains/inbox/inbox-testing.ts'
import { startWakeUps } from '../src/platform/db/wake-ups.ts'
import { startRoles } from '../src/start-roles.ts'
import { runChild } from './child.ts'
import { Receiver } from './doubles/receiver.ts'
import { atEnd } from './endings.ts'
import { until } from './platform.ts'
import { makeWorld } from './world.ts'

// One process takes requests, another works, and polls nothing.

const key = randomBytes(32)
const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' }, {}, { key })
const { db, parts, call } = world
const receiver = await new Receiver().up()
after(() => receiver.down())

const wakeUps = startWakeUps({ url: db.url, db, log: parts.log })
atEnd(wakeUps.stop)
await until(async () => wakeUps.isListening())
const running = await startRoles(
  await assemble({ ...parts, wakeUps, config: { ...parts.config, port: 0, roles: ['api', 'console'] } }),
)
atEnd(() => running.stop())

const args = [db.url, key.toString('hex')].map((text) => JSON.stringify(text)).join()
const worker = runChild(
  `process.argv.push(${args}); await import(${JSON.stringify(import.meta.resolve('./idle-consumer.ts'))})`,
)
atEnd(() => worker.kill('SIGKILL'))

test('a worker that does not poll delivers, projects and runs what another process leaves to it', async () => {
  const inbox = makeInbox(world)
  await inbox.stop()
  assert.equal(await worker.readLine(), 'ready')
  const who = await world.tenant()
  const line = await inbox.giveNumber(who)
  const hook = { hook_url: receiver.url('/woken'), on_number: line.number }
  const subscribed = await call(who, 'POST', '/open/webhooks/subscribe/sms.message.received', hook)
  assert.equal(subscribed.status, 201, JSON.stringify(subscribed.body))
  // The second round comes to a worker that has looked for the last time.
  for (const n of [1, 2]) {
    await inbox.write(`+44791112345${n}`, line.number, `Text ${n}`)
    await until(async () => receiver.calls.length === n)
    const found = await until(async () => {
      const conversations = await inbox.conversations(who)
      return conversations.length === n && conversations
    })
    const uuids = found.map(({ uuid }) => uuid)
    const answer = await call(who, 'POST', '/open/conversations/bulk', { uuids, change: { status: 'closed' } })
    assert.equal(answer.status, 202, JSON.stringify(answer.body))
    await until(async () => (await inbox.conversations(who, '?status=closed')).length === n)
  }
})
