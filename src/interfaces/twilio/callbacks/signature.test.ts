import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestedUrl, signatureOf, withQuery } from './signature.ts'

// The example of Twilio's own documentation and libraries.
const token = '12345'
const url = 'https://mycompany.com/myapp.php?foo=1&bar=2'
const parameters = {
  CallSid: 'CA1234567890ABCDE',
  Caller: '+14158675309',
  Digits: '1234',
  From: '+14158675309',
  To: '+18005551212',
}

test('a POST is signed over its address and its sorted parameters', () => {
  assert.equal(signatureOf(token, url, parameters), 'RSOYDt4T1cUTdK1PDd93/VVr8B8=')
})

test('the order of the parameters does not matter', () => {
  const reversed = Object.fromEntries(Object.entries(parameters).reverse())
  assert.equal(signatureOf(token, url, reversed), signatureOf(token, url, parameters))
})

test('an address is requested and signed without its fragment', () => {
  assert.equal(requestedUrl('https://example.com/sms?a=1#rc=2'), 'https://example.com/sms?a=1')
  assert.equal(
    withQuery('https://example.com/sms?a=1#rc=2', { From: '+447700900123', Body: 'a b' }),
    'https://example.com/sms?a=1&From=%2B447700900123&Body=a+b',
  )
})

test('an address is requested and signed as it was given', () => {
  assert.equal(requestedUrl('https://Example.com'), 'https://Example.com')
  assert.equal(requestedUrl('https://example.com:443/a%7Eb#rc=1'), 'https://example.com:443/a%7Eb')
  assert.equal(withQuery('https://example.com', { To: '+1' }), 'https://example.com?To=%2B1')
  assert.equal(withQuery('https://example.com/?', { To: '+1' }), 'https://example.com/?To=%2B1')
})
