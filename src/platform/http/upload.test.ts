import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { stall } from '../../../test/greedy-client.ts'
import { until } from '../../../test/platform.ts'
import { makeWorld } from '../../../test/world.ts'

const world = await makeWorld({}, {}, { pace: { bytesPerSecond: 1_000, graceMs: 20, windowMs: 20 } })
const { app, db, parts } = world
const { limiters } = parts
await app.listen({ host: '127.0.0.1', port: 0 })
const { port } = app.server.address() as AddressInfo // it listens on TCP
const who = await world.tenant()

test('a stalled upload is answered with 408 and closed, and its memory is released', async () => {
  const url = '/open/numbers/documents?kind=identity&name=Pass.pdf'
  const { answer } = stall(port, who, { url, type: 'application/pdf', length: 16_777_216 }, '%PDF-1.7\n')
  const text = await answer
  assert.match(text, /^HTTP\/1\.1 408 /)
  assert.match(text, /"error_code":"body_too_slow"/)
  await until(async () => limiters.uploads.used() === 0)
})

test('a stalled import is answered with 408 and closed, and its rows are discarded', async () => {
  const contacts = Array.from({ length: 700 }, (_, i) => `Ada,+44770090${String(i).padStart(4, '0')}\n`).join('')
  const import_ = { url: '/open/contacts/import', type: 'text/csv', length: 'chunked' as const }
  const { answer } = stall(port, who, import_, `first_name,phone\n${contacts}`)
  assert.match(await answer, /^HTTP\/1\.1 408 /)
  await until(async () => limiters.streams.used() === 0)
  await until(async () => (await db.maybe`select 1 from contact_import_entries`) === null)
  assert.equal(await db.maybe`select 1 from contacts where account_id = ${who.id}`, null)
})

test('time in which the server does not read does not count against the client', async (t) => {
  const locked = Promise.withResolvers<void>()
  const control = Promise.withResolvers<void>()
  t.after(() => control.resolve())
  const lock = db.begin(async (tx) => {
    await tx.run`lock table contact_import_entries in access exclusive mode`
    locked.resolve()
    await control.promise
  })
  await locked.promise
  const address = 'Square '.repeat(60)
  const lines = Array.from({ length: 1_000 }, (_, i) => `Ada,+4477${String(i).padStart(8, '0')},${address}\n`)
  const began = performance.now()
  const sent = fetch(`http://127.0.0.1:${port}/open/contacts/import`, {
    method: 'POST',
    headers: { 'x-user-api-key': who.key, 'content-type': 'text/csv' },
    body: `first_name,phone,address\n${lines.join('')}`,
  })
  await until(async () => limiters.streams.used() === 1 && performance.now() - began > 200)
  control.resolve()
  await lock
  assert.equal((await sent).status, 201)
})
