import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeRoom } from './outbound-room.ts'

test('who gives up waiting leaves the line, and takes no room', async () => {
  const room = makeRoom({ each: 1, all: 2 })
  const control = new AbortController()
  assert.equal(room.enter('a'), null)
  const impatient = room.enter('a', control.signal)
  const patient = room.enter('a')
  control.abort(new Error('enough'))
  await assert.rejects(impatient ?? assert.fail(), { message: 'enough' })
  room.leave('a')
  await patient
  assert.equal(room.used(), 1)
  room.leave('a')
  assert.equal(room.used(), 0)
  assert.equal(room.enter('a', control.signal), null, 'what has room does not wait')
})
