import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apply, start } from '../../console/live/apply.ts'

const event = (id: string) => ({ type: 'event' as const, id, name: 'sms.message.received' })

test('an event that a resumed line repeats is applied once', () => {
  const first = apply(start, event('EVT1'))
  assert.equal(first.event?.name, 'sms.message.received')
  assert.equal(first.position.last, 'EVT1')
  assert.equal(apply(first.position, event('EVT1')).event, null)
  assert.equal(apply(first.position, event('EVT2')).position.last, 'EVT2')
})

test('a page that lacks the newest event of the server knows it, and one that has it does not ask again', () => {
  const { position } = apply(start, event('EVT1'))
  assert.equal(apply(position, { type: 'head', id: 'EVT1' }).isBehind, false)
  assert.equal(apply(position, { type: 'head', id: 'EVT3' }).isBehind, true)
  assert.equal(apply(position, { type: 'resync' }).isBehind, true)
})

test('a new line begins where the server says, and a resumed one keeps its place', () => {
  assert.equal(apply(start, { type: 'hello', after: 'EVT5' }).position.last, 'EVT5')
  const { position } = apply(start, event('EVT1'))
  assert.equal(apply(position, { type: 'hello', after: 'EVT5' }).position.last, 'EVT1')
})
