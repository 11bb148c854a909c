import assert from 'node:assert/strict'
import { test } from 'node:test'
import { followRedirects, redirectionOf } from './outbound-redirect.ts'

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

test('a request follows five redirects; one that was made a GET stays without its body', async () => {
  const sent: string[] = []
  const follow = (answers: readonly (readonly [number, string?])[], isLate = () => false) => {
    sent.length = 0
    const send = async (
      { url, method, keepsBody }: Parameters<Parameters<typeof followRedirects>[1]>[0],
      n: number,
    ) => {
      sent.push(`${method} ${url} ${keepsBody}`)
      return answer(...(answers[n] ?? [302, url]))
    }
    return followRedirects(posted, send, isLate)
  }
  const { url, result } = await follow([[307, 'c'], [302, 'd'], [307, 'e'], [200]])
  assert.deepEqual([url, result.status], ['https://example.com/a/e', 200])
  assert.deepEqual(sent, [
    'POST https://example.com/a/b true',
    'POST https://example.com/a/c true',
    'GET https://example.com/a/d false',
    'GET https://example.com/a/e false',
  ])
  await assert.rejects(follow([]), { reason: 'loop', status: 302, url: posted.url })
  assert.equal(sent.length, 6)
  await assert.rejects(
    follow([[307, 'c']], () => sent.length === 2),
    {
      reason: 'late',
      status: 302,
      url: 'https://example.com/a/c',
    },
  )
  await assert.rejects(follow([[301, 'http://example.com/']]), { reason: 'insecure', status: 301, url: posted.url })
})
