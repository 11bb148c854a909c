import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import type { ChatFile } from '../../ports/chat-message.ts'
import { readError, retryAfterOf } from './codec/errors.ts'
import { numberOfId } from './codec/numbers.ts'
import { isNetworkHost, mediaCategoryOf } from './media-files.ts'
import { bodyOf, contentError } from './message-body.ts'

const file: ChatFile = {
  type: 'image',
  mimeType: 'image/gif',
  name: 'dance.gif',
  size: 1,
  url: '',
  open: () => Readable.from([]),
}
const message = { id: 'ours', to: { number: '+447400150001', remote: null }, text: null, file: null, pin: null }

test('only the network’s own hosts receive our token', () => {
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
  for (const address of trusted) assert.equal(isNetworkHost(settings, address), true, address)
  for (const address of others) assert.equal(isNetworkHost(settings, address), false, address)
  assert.equal(isNetworkHost({ base_url: 'http://127.0.0.1:4000' }, 'http://127.0.0.1:4000/files/1'), true)
})

test('a file of an unsupported type is sent as a document with its name', () => {
  assert.equal(mediaCategoryOf(file), 'document')
  assert.equal(mediaCategoryOf({ type: 'audio', mimeType: 'audio/ogg; codecs=opus' }), 'audio')
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

test('a recipient without a number is addressed by the network’s id', () => {
  const body = bodyOf({ ...message, to: { number: '', remote: 'GB.13491208655302741918' }, text: 'Hi' }, null)
  assert.equal('recipient' in body && body.recipient, 'GB.13491208655302741918')
  assert.equal('to' in body, false)
})

test('content that does not fit one message is rejected', () => {
  const pin = { latitude: 1, longitude: 2 }
  assert.match(contentError({ text: 'Here', file: null, pin }, null) ?? '', /location has no caption/)
  assert.match(contentError({ text: null, file, pin }, 'image') ?? '', /two messages/)
  assert.match(contentError({ text: 'Song', file, pin: null }, 'audio') ?? '', /audio has no caption/)
  assert.match(contentError({ text: 'x'.repeat(1_025), file, pin: null }, 'image') ?? '', /1024/)
  assert.equal(contentError({ text: 'x'.repeat(1_024), file, pin: null }, 'image'), null)
})

test('an id that is not a phone number yields none', () => {
  for (const id of ['GB.13491208655302741918', '0447400150001', '', '12345', '1234567890123456'])
    assert.equal(numberOfId(id), null, id)
  assert.equal(numberOfId('447400150001'), '+447400150001')
})

test('errors include their details, and only temporary ones are retried', () => {
  const error = readError({ code: 131056, message: 'pair', error_data: { details: 'slow down' } })
  assert.deepEqual(error, { code: 131056, reason: 'pair: slow down' })
  assert.equal(error && retryAfterOf(error), 6)
  assert.equal(retryAfterOf({ code: 131026, reason: '' }), null)
  assert.equal(readError('none'), null)
})
