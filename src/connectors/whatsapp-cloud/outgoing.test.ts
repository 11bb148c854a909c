import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import type { ChatFile } from '../message-port.ts'
import { readError, waitOf } from './codec/errors.ts'
import { numberOfId } from './codec/numbers.ts'
import { isOfNetwork, sentAs } from './media.ts'
import { bodyOf, faultOf } from './outgoing.ts'

const file: ChatFile = {
  type: 'image',
  mimeType: 'image/gif',
  name: 'dance.gif',
  size: 1,
  url: '',
  open: () => Readable.from([]),
}
const message = { id: 'ours', to: { number: '+447400150001', remote: null }, text: null, file: null, pin: null }

test('our token goes to the network’s own hosts alone', () => {
  const settings = {}
  const trusted = [
    'https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=1',
    'https://graph.facebook.com/v21.0/1',
  ]
  const others = [
    'http://lookaside.fbsbx.com/1',
    'https://fbsbx.com.example.net/1',
    'https://evilfbsbx.com/1',
    'https://graph.facebook.com:8443@example.net/1',
    'file:///etc/passwd',
    'nonsense',
  ]
  for (const address of trusted) assert.equal(isOfNetwork(settings, address), true, address)
  for (const address of others) assert.equal(isOfNetwork(settings, address), false, address)
  assert.equal(isOfNetwork({ base_url: 'http://127.0.0.1:4000' }, 'http://127.0.0.1:4000/files/1'), true)
})

test('a file that the network does not show goes as a document, with its name', () => {
  assert.equal(sentAs(file), 'document')
  assert.equal(sentAs({ type: 'audio', mimeType: 'audio/ogg; codecs=opus' }), 'audio')
  const body = bodyOf({ ...message, file, text: 'Look' }, { id: '7', as: 'document' })
  assert.deepEqual(body, {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    to: '447400150001',
    type: 'document',
    document: { id: '7', caption: 'Look', filename: 'dance.gif' },
    biz_opaque_callback_data: 'ours',
  })
})

test('who is known by an id alone is written to by it', () => {
  const body = bodyOf({ ...message, to: { number: '', remote: 'GB.13491208655302741918' }, text: 'Hi' }, null)
  assert.equal('recipient' in body && body.recipient, 'GB.13491208655302741918')
  assert.equal('to' in body, false)
})

test('nothing of a message is left out in silence', () => {
  const pin = { latitude: 1, longitude: 2 }
  assert.match(faultOf({ text: 'Here', file: null, pin }, null) ?? '', /place goes without a text/)
  assert.match(faultOf({ text: null, file, pin }, 'image') ?? '', /two messages/)
  assert.match(faultOf({ text: 'Song', file, pin: null }, 'audio') ?? '', /sound goes without/)
  assert.match(faultOf({ text: 'x'.repeat(1_025), file, pin: null }, 'image') ?? '', /1024/)
  assert.equal(faultOf({ text: 'x'.repeat(1_024), file, pin: null }, 'image'), null)
})

test('an id that is no number makes none', () => {
  for (const id of ['GB.13491208655302741918', '0447400150001', '', '12345', '1234567890123456'])
    assert.equal(numberOfId(id), null, id)
  assert.equal(numberOfId('447400150001'), '+447400150001')
})

test('errors are told with their details, and wait only where they pass', () => {
  const error = readError({ code: 131056, message: 'pair', error_data: { details: 'slow down' } })
  assert.deepEqual(error, { code: 131056, reason: 'pair: slow down' })
  assert.equal(error && waitOf(error), 6)
  assert.equal(waitOf({ code: 131026, reason: '' }), null)
  assert.equal(readError('none'), null)
})
