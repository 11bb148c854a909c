import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseWebhook } from '../src/adapters/whatsapp-cloud/codec/webhook-payload.ts'
import { nickIn } from '../src/adapters/xmpp/persisted-state.ts'
import { isDisplayable, mimeOf, typeOf } from '../src/domains/msgapp/media/media-types.ts'
import { parseHeader } from '../src/domains/numbers/imports/import-header.ts'
import { currentZone } from '../src/platform/lib/phone-geocoding.ts'

// Names that every object inherits and that no lookup table may answer to.
const names = [...Object.getOwnPropertyNames(Object.prototype), 'prototype', 'length', 'name']

test('a file whose extension or type is a name of a prototype is stored as bytes of an unknown type', () => {
  assert.ok(names.includes('constructor') && names.includes('__proto__'))
  for (const name of names) {
    assert.equal(mimeOf(null, `picture.${name}`), 'application/octet-stream', name)
    assert.equal(typeOf(name), 'document', name)
    assert.equal(isDisplayable(name), false, name)
  }
})

test('a column, a zone, a room and a status named by a prototype are unknown', () => {
  for (const name of names) {
    const head = parseHeader(['number', 'country', 'type', name])
    assert.ok(Array.isArray(head) && head.some((fault) => fault.includes('there is no column')), name)
    assert.equal(currentZone(name), name)
    assert.equal(nickIn({ first: 0, status: '', rooms: {}, picture: null }, name), undefined, name)
  }
})

test('a notice of the network with a status or a type named by a prototype is read as unknown', () => {
  for (const name of names) {
    const metadata = { display_phone_number: '447700900124' }
    const message = { from: '447700900123', id: 'wamid.1', timestamp: '1700000000', type: name }
    const status = { id: 'wamid.1', status: name, timestamp: '1700000000', recipient_id: '447700900123' }
    const value = { metadata, messages: [message], statuses: [status] }
    const events = parseWebhook({ entry: [{ changes: [{ field: 'messages', value }] }] })
    assert.match(JSON.stringify(events), /which is not shown here/, name)
    assert.doesNotMatch(JSON.stringify(events), /"receipt"/, name)
  }
})
