import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { browserName, plainAddress, plainName, plainTime } from './fields.ts'
import { renderMail } from './render.ts'
import { type MailValues, templates } from './templates.ts'

/** Texts that mail programs make links of: addresses of the web, names of hosts, mailboxes, telephone numbers. */
const linked = /:\/\/|www\.\S|[\p{L}\p{N}-]+[.\u3002\uff0e\uff61][\p{L}\p{N}]|\S@\S|\d{7,}/u

test('a name that a tenant chose has no part that mail programs make a link of, and stays readable', () => {
  const names = {
    'Acme Ltd': 'Acme Ltd',
    'J.R. Smith & Sons': 'J. R. Smith & Sons',
    'Bücher-Söhne GmbH': 'Bücher-Söhne GmbH',
    'Pay at https://evil.example/a?b=c': 'Pay at https evil. example a?b=c',
    'www.evil.example': 'www. evil. example',
    'evil。example ｅｖｉｌ．example': 'evil. example evil. example',
    'mail eve@evil.example': 'mail eve evil. example',
    'call +44 (20) 7946-0123 now': 'call … now',
    'two\r\nlines\u2028three': 'two lines three',
    'abc\u202egpj.exe\u200b': 'abc gpj. exe',
    '<a href="x">': 'a href="x"',
  }
  for (const [name, plain] of Object.entries(names)) assert.equal(plainName(name), plain)
  assert.equal(plainName('x'.repeat(500)), `${'x'.repeat(60)}…`)
})

test('no name makes a link, a line or a long text', () => {
  const parts = fc.constantFrom(
    'http://',
    'evil',
    '.',
    '。',
    '．',
    'example',
    '@',
    '/',
    '\n',
    '\u202e',
    '\u200b',
    '123',
    ' ',
    '+',
  )
  const name = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 200 }),
    fc.array(parts, { maxLength: 40 }).map((list) => list.join('')),
  )
  fc.assert(
    fc.property(name, (text) => {
      const plain = plainName(text)
      assert.doesNotMatch(plain, linked)
      assert.doesNotMatch(plain, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}<>]/u)
      assert.ok([...plain].length <= 61)
    }),
    { numRuns: 1_000 },
  )
})

test('addresses, times and browsers are shown by forms of ours', () => {
  assert.deepEqual(['203.0.113.7', '2001:db8::7', 'http://x.example'].map(plainAddress), [
    '203.0.113.7',
    '2001:db8::7',
    'http x. example',
  ])
  assert.equal(plainTime('2026-12-04T12:05:00Z'), '4 December 2026 at 12:05 UTC')
  const browsers = {
    'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0': 'Firefox on Linux',
    'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0': 'Edge on Windows',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Mobile Safari/604.1': 'Safari on iOS',
    'http://evil.example': 'unknown',
  }
  for (const [agent, shown] of Object.entries(browsers)) assert.equal(browserName(agent), shown)
})

const at = '2026-12-04T12:00:00Z'
const link = 'https://sms.example.com/console#t=1&u=<2>'
const samples: { readonly [Name in keyof MailValues]: MailValues[Name] } = {
  invitation: { account: 'Acme', inviter: null, link, expires_at: at },
  password_reset: { links: ['Acme', 'Bravo'].map((account) => ({ account, link })), expires_at: at },
  prove_address: { link, expires_at: at },
  new_sign_in: { at, address: '203.0.113.7', browser: 'Firefox Linux' },
  security_changed: { change: 'passkey_added', at, address: '203.0.113.7' },
  test: {},
}

test('each mail fills its fields, escapes its values, and says why it came and what to do if it was not expected', () => {
  for (const name of Object.keys(templates) as (keyof MailValues)[]) {
    // Each sample is of its own template.
    const { subject, text, html } = renderMail(name, samples[name] as never, 'https://sms.example.com')
    for (const part of [subject, text, html]) assert.doesNotMatch(part, /\{\w*\}|undefined|null/)
    assert.match(subject, /^[^\r\n]+sms\.example\.com[^\r\n]*$/)
    for (const part of [text, html]) {
      assert.match(part, /You get this mail because/)
      assert.match(part, /If (?:it was not you|you do(?: not|n’t)|you did not)/)
      assert.ok(part.includes('https://sms.example.com/'))
    }
    assert.doesNotMatch(html, /u=<2>/)
    if ('link' in samples[name]) assert.ok(text.includes(`\n${link}\n`))
    assert.doesNotMatch(html, /src=|url\(|<script/)
  }
  const { text } = renderMail('password_reset', samples.password_reset, 'https://sms.example.com')
  assert.ok(text.includes(`Acme:\n${link}`) && text.includes(`Bravo:\n${link}`))
})
