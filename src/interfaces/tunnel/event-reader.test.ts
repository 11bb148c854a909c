import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../test/world.ts'
import { record } from '../../domains/events/ops.ts'
import { timeOf, uuid } from '../../platform/lib/id.ts'
import { makeEventReader, startAfter } from './event-reader.ts'

const { db, tenant } = await makeWorld()

const recordEvents = (account: string, name: 'contact.created' | 'contact.updated', count: number) =>
  db.begin((tx) =>
    record(
      tx,
      Array.from({ length: count }, (_, i) => ({
        account,
        name,
        channel: null,
        conversation: null,
        payload: { first_name: String(i) },
      })),
    ),
  )

test('skipped events are not read again, because the start of a read advances with time', async () => {
  const { id } = await tenant()
  const start = '00000000-0000-7000-8000-000000000000'
  const reader = makeEventReader(db, id, start, ['contact.updated'])
  assert.deepEqual(await reader.next(5), [])
  assert.ok(timeOf(reader.floor()) > Date.now() - 60_000, reader.floor())
})

test('a read scans one page at a time and finds events behind many others', async () => {
  const { id } = await tenant()
  const reader = makeEventReader(db, id, uuid(), ['contact.updated'], 20)
  await recordEvents(id, 'contact.created', 105)
  await recordEvents(id, 'contact.updated', 33)
  const seen: string[] = []
  for (let rows = await reader.next(5); rows.length > 0; rows = await reader.next(5))
    seen.push(...rows.map(({ payload }) => JSON.parse(payload).first_name))
  assert.deepEqual(
    seen,
    Array.from({ length: 33 }, (_, i) => String(i)),
  )
})

test('a laptop that reconnects gets the events since its last one and of the ten seconds before, each once', async () => {
  const { id } = await tenant()
  const offsets = [-60_000, -10_001, -10_000, -9_999, -1, 0, 1, 5_000]
  await recordEvents(id, 'contact.created', offsets.length)
  const rows = await db.many<{ id: string }>`select id from events where account_id = ${id} order by id`
  const last = rows.at(-1)?.id ?? assert.fail()
  const at = timeOf(last) - 20_000
  // An id begins with its time (RFC 9562, 5.7).
  const idOf = (offset: number, i: number): string => {
    const hex = (at + offset).toString(16).padStart(12, '0')
    return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-9000-${String(i).padStart(12, '0')}`
  }
  for (const [i, row] of rows.entries())
    await db.run`update events set id = ${idOf(offsets[i] ?? 0, i)} where account_id = ${id} and id = ${row.id}`
  const had = idOf(0, offsets.indexOf(0))
  const reader = makeEventReader(db, id, startAfter(had), null)
  const received: number[] = []
  for (let rows = await reader.next(3); rows.length > 0; rows = await reader.next(3))
    received.push(...rows.map((row) => timeOf(row.id) - at))
  assert.deepEqual(received, [-10_000, -9_999, -1, 0, 1, 5_000])
})
