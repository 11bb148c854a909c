import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { testDatabase } from '../../../../test/database.ts'
import { longForm } from '../../../../test/needs.ts'
import { apiKey, startPlatform } from '../../../../test/platform.ts'
import { leaseHeartbeatMs, leaseHeldMs } from '../limits.ts'

/** Yields contacts of a CSV file, with names that share few hashes. */
const fileOf = function* (rows: number) {
  yield 'first_name,last_name,phone,email\n'
  for (let i = 0; i < rows; i++)
    yield `Ada${i},Lovelace${(i * 7_919) % rows},+4477${String(10_000_000 + i)},ada.${i}@example.com\n`
}

/**
 * Imports contacts while the process runs the calls. Other processes take over after some seconds without a heartbeat.
 * The lease therefore has a connection of its own, so that no import delays it.
 */
const importBeside = async (t: TestContext, rows: number) => {
  const db = await testDatabase()
  const platform = await startPlatform(undefined, {
    DATABASE_URL: db.url,
    TRUNKLINE_MASTER_KEY: 'a master key for these tests',
  })
  t.after(() => platform.end())
  const read = () => db.one<{ fence: number; beats: number }>`select fence, beats from voice_lease`
  const first = await read()
  let isOver = false
  const sent = fetch(`${platform.url}/open/contacts/import`, {
    method: 'POST',
    headers: { 'x-user-api-key': apiKey, 'content-type': 'text/csv' },
    body: Readable.toWeb(Readable.from(fileOf(rows))) as ReadableStream, // the type that Node's fetch accepts
    duplex: 'half',
  }).finally(() => {
    isOver = true
  })
  const began = performance.now()
  let [last, changed, longest] = [first, began, 0]
  while (!isOver) {
    const now = await read()
    const at = performance.now()
    assert.equal(now.fence, first.fence, 'the calls stay with their process')
    longest = Math.max(longest, at - changed)
    if (now.beats !== last.beats) changed = at
    last = now
    await pause(20)
  }
  const answer = await sent
  const { created }: { created: number } = JSON.parse(await answer.text())
  const seconds = (performance.now() - began) / 1_000
  const beats = last.beats - first.beats
  t.diagnostic(
    `${rows} rows in ${seconds.toFixed(1)} s; ${beats} heartbeats, the longest gap ${Math.round(longest)} ms (due every ${leaseHeartbeatMs} ms)`,
  )
  assert.deepEqual([answer.status, created], [201, rows])
  assert.ok(longest < leaseHeldMs, `${Math.round(longest)} ms without a heartbeat`)
  assert.doesNotMatch(platform.output(), /read timeout|another process/i)
}

test('an import of 5,000 contacts delays no heartbeat of the process that runs the calls', (t) =>
  importBeside(t, 5_000))

test('an import of 300,000 contacts delays no heartbeat of the process that runs the calls', longForm(), (t) =>
  importBeside(t, 300_000),
)
