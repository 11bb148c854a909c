import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../test/servers.ts'
import { mailSender, smtpServer } from './smtp-settings.ts'

test('a mail server has TLS unless it is on this machine or the setting says so', () => {
  const shown = (value: string) => {
    const { host, port, tls } = smtpServer(value)
    return `${host} ${port} ${tls}`
  }
  assert.equal(shown('smtps://mail.example.com'), 'mail.example.com 465 direct')
  assert.equal(shown('smtp://mail.example.com'), 'mail.example.com 587 upgrade')
  assert.equal(shown('smtp://mail.example.com:25/?requireTLS=false'), 'mail.example.com 25 none')
  assert.equal(shown('smtp://127.0.0.1:25'), '127.0.0.1 25 none')
  assert.equal(shown('smtp://[::1]:25?requireTLS=true'), '::1 25 upgrade')
  assert.equal(shown('smtp://127.0.0.1.example.com'), '127.0.0.1.example.com 587 upgrade')
})

test('a login is decoded, and is not sent in plain text to another machine', () => {
  const { login } = smtpServer('smtps://ada%40example.com:p%40ss%3A%2F@mail.example.com')
  assert.deepEqual(login, { user: 'ada@example.com', password: 'p@ss:/' })
  assert.throws(() => smtpServer('smtp://a:b@mail.example.com?requireTLS=false'), /plain text/)
  assert.equal(smtpServer('smtp://a:b@localhost:25').tls, 'none')
})

test('options name the machine and the certificates to trust', () => {
  const file = join(temporaryFolder(), 'ca.pem')
  writeFileSync(file, 'a certificate')
  const { ca, name } = smtpServer(`smtps://mail.example.com?ca=${file}&name=sms.example.com`)
  assert.deepEqual([ca, name], ['a certificate', 'sms.example.com'])
})

test('what is no mail server is refused with the form or the fault', () => {
  const faults = {
    'mail.example.com': /wants smtps:/,
    'https://mail.example.com': /wants smtps:/,
    'smtp://': /wants smtps:/,
    'smtp://mail.example.com/box': /wants smtps:/,
    'smtp://ada@mail.example.com': /a user and a password/,
    'smtp://a:%zz@mail.example.com': /wants smtps:/,
    'smtp://mail.example.com?rejectUnauthorized=false': /unknown option rejectUnauthorized/,
    'smtp://mail.example.com?requireTLS=yes': /requireTLS=true or requireTLS=false/,
    'smtps://mail.example.com?ca=/nowhere/ca.pem': /cannot be read/,
    'smtps://mail.example.com?name=a%0d%0ab': /name/,
  }
  for (const [value, fault] of Object.entries(faults)) assert.throws(() => smtpServer(value), fault, value)
})

test('a sender is an address with or without a name', () => {
  assert.deepEqual(mailSender('no-reply@example.com'), { name: '', address: 'no-reply@example.com' })
  assert.deepEqual(mailSender('Example Ltd. <no-reply@example.com>'), {
    name: 'Example Ltd.',
    address: 'no-reply@example.com',
  })
  assert.deepEqual(mailSender('"Bücher, Ltd" <a@bücher.example>'), {
    name: 'Bücher, Ltd',
    address: 'a@xn--bcher-kva.example',
  })
  for (const value of ['Example', 'no-reply@localhost', 'a@example.com, b@example.com', 'A\r\nBcc: <a@example.com>'])
    assert.throws(() => mailSender(value), /wants an address/, value)
})
