import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redact } from './redact.ts'

const line = { at: new Date(), leg: null, what: 'note' as const, text: '' }
const call = { direction: 'O' as const, is_trunk: true }

test('carrier addresses in any form and any entry are visible to the operator only', () => {
  const shown = (text: string) => redact(call, { ...line, text }).text
  assert.equal(shown('failed 503: connect ECONNREFUSED 192.0.2.7:5060'), 'failed 503: connect ECONNREFUSED …')
  assert.equal(shown('no answer of [2001:db8::7]:5060'), 'no answer of …')
  assert.equal(shown('no answer of 2001:db8:0:0:1:2:3:4'), 'no answer of …')
  assert.equal(shown('received from ::ffff:192.0.2.7'), 'received from …')
  assert.equal(shown('getaddrinfo ENOTFOUND sip-1.carrier.example'), 'getaddrinfo ENOTFOUND …')
  assert.equal(
    shown('INVITE sip:+447700900555@sip.carrier.example:5061;transport=tls'),
    'INVITE sip:+447700900555@…;transport=tls',
  )
  const full = 'failed 503: All channels of the trunk Acme London are taken'
  assert.equal(shown(full), 'failed 503: All channels of the trunk … are taken')
  assert.equal(shown('completed 200: OK'), 'completed 200: OK')
  const status = { ...line, leg: 'caller' as const, what: 'sip_out' as const, text: '503 192.0.2.7 is silent (INVITE)' }
  assert.equal(redact(call, status).text, '503 … is silent (INVITE)')
})

test('an account sees the media addresses of its browsers, and all entries of calls between browsers', () => {
  const media = {
    ...line,
    leg: 'caller' as const,
    what: 'media' as const,
    text: 'pcmu; 192.0.2.1:4000 with 198.51.100.7:9',
  }
  assert.equal(redact(call, media), media)
  assert.match(redact({ ...call, direction: 'I' }, media).text, /… with …/)
  assert.equal(redact({ ...call, is_trunk: false }, { ...media, leg: 'callee' }).text, media.text)
})
