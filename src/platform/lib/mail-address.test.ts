import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mailAddress, mailboxKey } from './mail-address.ts'

test('an address of one mailbox is accepted, with its domain in ASCII', () => {
  const addresses = {
    'ada@example.com': 'ada@example.com',
    ' Ada.Lovelace+x@Example.COM ': 'Ada.Lovelace+x@example.com',
    "o'neil@example.co.uk": "o'neil@example.co.uk",
    'ärzte@bücher.example': 'ärzte@xn--bcher-kva.example',
    '用户@例え.テスト': '用户@xn--r8jz45g.xn--zckzah',
    'x@xn--bcher-kva.example': 'x@xn--bcher-kva.example',
  }
  for (const [text, ascii] of Object.entries(addresses)) assert.equal(mailAddress(text), ascii, text)
})

test('a list, a header, a quoted part or a host without a name is no address', () => {
  const bad = [
    ...['', 'ada', '@example.com', 'ada@', 'ada@localhost', 'ada@127.0.0.1', 'ada@[127.0.0.1]', 'ada@example.c0m.1'],
    ...[
      'a@b@example.com',
      'a,b@example.com',
      'a;b@example.com',
      'a b@example.com',
      '"a b"@example.com',
      '<a@example.com>',
    ],
    ...[
      'a@example.com\r\nBcc: b@example.com',
      'a\0@example.com',
      'a\u202e@example.com',
      '.a@example.com',
      'a..b@example.com',
    ],
    ...[
      'a@-example.com',
      'a@example..com',
      'a@exa_mple.com',
      'a@example.com/x',
      'a@ex%61mple.com',
      `${'a'.repeat(65)}@example.com`,
    ],
    `a@${'b.'.repeat(130)}com`,
  ]
  for (const text of bad) assert.equal(mailAddress(text), null, text)
})

test('spellings of one mailbox have one key', () => {
  const keys = [
    'ada@example.com',
    'ADA@Example.com',
    'ada+1@example.com',
    'ada+a+b@example.com',
    'ａda@example.com',
  ].map(mailboxKey)
  assert.deepEqual(new Set(keys), new Set(['ada@example.com']))
  assert.notEqual(mailboxKey('+1@example.com'), mailboxKey('+2@example.com'))
})
