import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apply, start } from '../../console/live/log-position.ts'

const event = (id: string, logged = true) => ({
  ...{ type: 'event' as const, id, name: 'sms.message.received', at: '', topics: ['inbox' as const], data: {} },
  logged,
})
const hello = { type: 'hello' as const, build: '1', now: '' }

test('an event that a resumed line repeats is applied once', () => {
  const first = apply(start, event('EVT1'))
  assert.equal(first.event?.name, 'sms.message.received')
  assert.equal(first.position.last, 'EVT1')
  assert.equal(apply(first.position, event('EVT1')).event, null)
  assert.equal(apply(first.position, event('EVT2')).position.last, 'EVT2')
})

test('a page that lacks the newest event of the server knows it, and one that has it does not ask again', () => {
  const { position } = apply(start, event('EVT1'))
  assert.equal(apply(position, { type: 'head', id: 'EVT1', now: '' }).isBehind, false)
  assert.equal(apply(position, { type: 'head', id: 'EVT3', now: '' }).isBehind, true)
  const resync = apply(position, { type: 'resync', reason: 'expired', after: 'EVT9' })
  assert.deepEqual([resync.isBehind, resync.position.last], [true, 'EVT9'])
})

test('a new line begins where the server says, and a resumed one keeps its place', () => {
  assert.equal(apply(start, { ...hello, after: 'EVT5' }).position.last, 'EVT5')
  const { position } = apply(start, event('EVT1'))
  assert.equal(apply(position, { ...hello, after: 'EVT5' }).position.last, 'EVT1')
})

test('a change outside the log is applied each time, and is no place to resume behind', () => {
  const { position } = apply(start, event('EVT1'))
  const change = apply(position, event('EVT1', false))
  assert.notEqual(change.event, null)
  assert.equal(change.position.last, 'EVT1')
  assert.notEqual(apply(change.position, event('EVT1', false)).event, null)
})
