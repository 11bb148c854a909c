import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readNotices } from '../src/connectors/whatsapp-cloud/codec/notice.ts'
import { nickIn } from '../src/connectors/xmpp/memory.ts'
import { currentZone } from '../src/lib/places.ts'
import { isShown, mimeOf, typeOf } from '../src/msgapp/media/limits.ts'
import { readHead } from '../src/numbers/imports/head.ts'

// What every object inherits, and nobody put into a table.
const names = [...Object.getOwnPropertyNames(Object.prototype), 'prototype', 'length', 'name']

test('a file whose ending or type is a name of a prototype is kept as bytes of an unknown type', () => {
  assert.ok(names.includes('constructor') && names.includes('__proto__'))
  for (const name of names) {
    assert.equal(mimeOf(null, `picture.${name}`), 'application/octet-stream', name)
    assert.equal(typeOf(name), 'document', name)
    assert.equal(isShown(name), false, name)
  }
})

test('a column, a zone, a room and a status named by a prototype are unknown', () => {
  for (const name of names) {
    const head = readHead(['number', 'country', 'type', name])
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
    const told = readNotices({ entry: [{ changes: [{ field: 'messages', value }] }] })
    assert.match(JSON.stringify(told), /which is not shown here/, name)
    assert.doesNotMatch(JSON.stringify(told), /"receipt"/, name)
  }
})
