import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redirectionOf } from './outbound-redirect.ts'

const answer = (status: number, location?: string) => ({
  status,
  headers: location === undefined ? {} : { location },
})
const posted = { url: 'https://example.com/a/b', method: 'POST' } as const

test('a redirect is a GET, except for 307 and 308; no other answer is one', () => {
  const url = 'https://example.com/a/c'
  for (const status of [301, 302, 303])
    assert.deepEqual(redirectionOf(answer(status, 'c'), posted), { url, method: 'GET', keepsBody: false })
  for (const status of [307, 308])
    assert.deepEqual(redirectionOf(answer(status, url), posted), { url, method: 'POST', keepsBody: true })
  for (const other of [answer(200, url), answer(300, url), answer(304, url), answer(302), answer(302, 'https://')])
    assert.equal(redirectionOf(other, posted), null)
})

test('nothing leads from HTTPS to an address without it; the reverse is allowed', () => {
  for (const location of ['http://example.com/', 'file:///etc/passwd', 'ftp://example.com/'])
    assert.ok('fault' in Object(redirectionOf(answer(302, location), posted)), location)
  const plain = { ...posted, url: 'http://example.com/' }
  assert.ok('url' in Object(redirectionOf(answer(302, 'https://example.com/'), plain)))
})
