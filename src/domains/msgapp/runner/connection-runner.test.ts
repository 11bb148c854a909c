import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { startChat } from '../../../../test/chat-fixture.ts'
import { until } from '../../../../test/platform.ts'

// Ownership of a connection: another process first, and this one when that one is gone. The lease uses the real
// clock, which no test can move. TRUNKLINE_TEST_LONG=1 waits for its end; otherwise its row is aged.

const isLong = process.env.TRUNKLINE_TEST_LONG === '1'
const key = randomBytes(32)
const chat = await startChat(key)
const { db, connection, channel, waitForStatus, statusEvents } = chat

const startOwner = async () => {
  const child = fork(join(import.meta.dirname, '../../../../test/owner.ts'), [db.url, key.toString('hex')])
  await once(child, 'message')
  return child
}

const owner = async () =>
  (await db.maybe<{ owner: string }>`select owner from msgapp_leases where connection_id = ${connection}`)?.owner

/** Ages the lease, and the last ping. */
const passTime = async () => {
  if (isLong) return
  await db.run`update msgapp_leases set leased_until = clock_timestamp()`
  await db.run`update msgapp_links set proved_at = proved_at - interval '15 seconds'`
}

test('a connection has one owner; the next takes over from a killed one, and every status change is published', async () => {
  const ada = await chat.tenant()
  const other = await startOwner()
  const uuid = await channel(ada, '+447700911018')
  await waitForStatus(ada, uuid, 'C')
  const first = await owner()
  await chat.runConnections()
  assert.equal(await owner(), first, 'the lease lasts')

  other.kill('SIGKILL')
  await once(other, 'exit')
  await passTime()
  await until(async () => (await owner()) !== first, 30)
  await waitForStatus(ada, uuid, 'C', 30)
  const events = await statusEvents(uuid)
  assert.deepEqual(
    events.map(({ connection_status }) => connection_status),
    ['C', 'D', 'C'],
  )
  assert.match(events[1]?.reason ?? '', /is gone|does not answer/)
})

test('an owner stopped beyond its lease stops, and what it writes afterwards has no effect', async () => {
  await chat.parts.networks.close()
  const ada = await chat.tenant()
  const other = await startOwner()
  const uuid = await channel(ada, '+447700911028')
  await waitForStatus(ada, uuid, 'C', 30)
  const first = await owner()
  other.kill('SIGSTOP')
  await passTime()
  await chat.runConnections()
  await until(async () => (await owner()) !== first, 30)
  const ours = await owner()
  await waitForStatus(ada, uuid, 'C', 30)
  const before = (await statusEvents(uuid)).length
  other.kill('SIGCONT')
  // The old owner meets the network's newer session and our lease: the channel does not change.
  await until(async () => (await chat.sessions()) === 1, 30)
  assert.equal(await owner(), ours)
  assert.equal((await waitForStatus(ada, uuid, 'C')).connection_status, 'C')
  assert.equal((await statusEvents(uuid)).length, before)
  other.kill('SIGKILL')
})
