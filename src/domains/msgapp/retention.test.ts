import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { makeWorld } from '../../../test/world.ts'
import { quoteIdentifier } from '../../platform/db/identifier.ts'
import { uuid } from '../../platform/lib/id.ts'
import { msgappSchedules } from './jobs.ts'
import { makeChatHarness } from './messages/testing.ts'
import { logEvent } from './pictures/store.ts'
import { makeCredentialStore } from './runner/credential-store.ts'
import { deleteCredentials, findCredentials } from './store.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { db, parts } = world

const run = async (name: string) => {
  const schedule = msgappSchedules(parts).find((one) => one.name === name) ?? assert.fail()
  await db.begin((tx) => schedule.run(tx, new Date()))
}
const count = async (table: string) =>
  (await db.raw<{ n: number }>(`select count(*)::integer as n from ${quoteIdentifier(table)}`))[0]?.n

test('a channel keeps its ten newest events', async () => {
  const [account, channel] = [uuid(), uuid()]
  for (let n = 1; n <= 15; n++) await db.begin((tx) => logEvent(tx, account, channel, 'picture-set', String(n)))
  const rows = await db.many<{ detail: string }>`
    select detail from msgapp_link_events where channel_id = ${channel} order by id`
  assert.deepEqual(
    rows.map(({ detail }) => Number(detail)),
    [6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  )
})

test('expired rows are deleted completely, however many there are, and others stay', async () => {
  await db.raw(`
    insert into msgapp_early_receipts (channel_id, network_id, created_at)
      select gen_random_uuid(), n, app_now() - n * interval '1 minute' from generate_series(10070, 21000) n;
    insert into msgapp_group_events (channel_id, network_id, created_at)
      select gen_random_uuid(), n, app_now() - n * interval '1 minute' from generate_series(20150, 31000) n;
    insert into msgapp_batches (account_id, id, numbers, state, created_at, updated_at)
      select gen_random_uuid(), gen_random_uuid(), '{}', 'completed', app_now() - d * interval '1 day', app_now()
      from generate_series(29, 31, 2) d`)
  for (const name of ['msgapp-early', 'msgapp-group-events', 'msgapp-batches']) await run(name)
  const left = await Promise.all(['msgapp_early_receipts', 'msgapp_group_events', 'msgapp_batches'].map(count))
  assert.deepEqual(left, [10, 10, 1])
})

test('nothing is sealed for a deleted channel, even before its connection notices', async () => {
  const { line } = await makeChatHarness(world, (await world.tenant()).id)
  const vault = makeCredentialStore(db, parts.seal, () => {})
  const entry = (id: string) => [{ type: 'key', id, value: Buffer.from('secret') }]
  const ids = ['one', 'two', 'three']
  const storedIds = async () => (await findCredentials(db, line.channel, 'key', ids)).map(({ id }) => id)
  await vault.write(line.channel, entry('one'))
  assert.deepEqual(await storedIds(), ['one'])
  const writing = await db.begin(async (tx) => {
    await tx.run`update msgapp_channels set deleted_at = now() where id = ${line.channel}`
    await deleteCredentials(tx, line.channel)
    const written = vault.write(line.channel, entry('two'))
    await until(async () => (await db.many`select 1 from pg_locks where not granted`).length > 0)
    return { written }
  })
  await writing.written
  await vault.write(line.channel, entry('three'))
  assert.deepEqual(await storedIds(), [])
})
