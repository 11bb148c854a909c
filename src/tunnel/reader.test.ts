import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../test/world.ts'
import { record } from '../events/ops.ts'
import { timeOf, uuid } from '../lib/id.ts'
import { makeReader } from './reader.ts'

const { db, tenant } = await makeWorld()

const happen = (account: string, name: 'contact.created' | 'contact.updated', count: number) =>
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

test('what was passed over is not read again: the start of a read moves on by time', async () => {
  const { id } = await tenant()
  const start = '00000000-0000-7000-8000-000000000000'
  const reader = makeReader(db, id, start, ['contact.updated'])
  assert.deepEqual(await reader.next(5), [])
  assert.ok(timeOf(reader.floor()) > Date.now() - 60_000, reader.floor())
})

test('a read looks at one page at a time, and finds what is behind many others', async () => {
  const { id } = await tenant()
  const reader = makeReader(db, id, uuid(), ['contact.updated'], 20)
  await happen(id, 'contact.created', 105)
  await happen(id, 'contact.updated', 33)
  const seen: string[] = []
  for (let rows = await reader.next(5); rows.length > 0; rows = await reader.next(5))
    seen.push(...rows.map(({ payload }) => JSON.parse(payload).first_name))
  assert.deepEqual(
    seen,
    Array.from({ length: 33 }, (_, i) => String(i)),
  )
})
