import assert from 'node:assert/strict'
import { test } from 'node:test'
import { telephoneNumberOf } from './telephone-number.ts'

const plain = { verstat: null, npdi: false, rn: null }

for (const [uri, user, more] of [
  ['sip:+442079460000@host', '+442079460000', {}],
  [
    'sip:+442079460000;verstat=TN-Validation-Passed@host;user=phone',
    '+442079460000',
    { verstat: 'TN-Validation-Passed' },
  ],
  ['sip:+442079460000@host;verstat=No-TN-Validation', '+442079460000', { verstat: 'No-TN-Validation' }],
  ['sip:+442079460000;npdi;rn=+441632960001@host', '+442079460000', { npdi: true, rn: '+441632960001' }],
  ['tel:+44-20-7946-0000;NPDI;rn=1632960001;rn-context=+44', '+44-20-7946-0000', { npdi: true, rn: '+441632960001' }],
  ['sip:02079460000;phone-context=+44@host', '+442079460000', {}],
  ['tel:863-1234;phone-context=+1-914-555', '+19145558631234', {}],
  ['tel:0612345678;phone-context=+39', '+390612345678', {}],
  ['tel:7042;phone-context=example.com', '7042', {}],
  ['sip:anonymous;verstat=TN-Validation-Failed@host', 'anonymous', { verstat: 'TN-Validation-Failed' }],
  ['sip:+442079460000;verstat=%3Cb%3E;rn=host@host', '+442079460000', {}],
] as const)
  test(`the number and the parameters of ${uri} are separated (RFC 3966, RFC 4694)`, () => {
    assert.deepEqual(telephoneNumberOf(uri), { user, ...plain, ...more })
  })

test('a URI without a user has no telephone number', () => {
  for (const uri of ['sip:host', 'tel:', 'mailto:a@b', 'sip:%ff@host']) assert.equal(telephoneNumberOf(uri), null, uri)
})
