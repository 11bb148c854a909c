import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { deprecatedSettings, readConfig, sandboxExposure, settings } from './config.ts'

test('readConfig returns the documented defaults for an empty environment', () => {
  const config = readConfig({})
  assert.equal(config.host, '127.0.0.1')
  assert.equal(config.port, 8080)
  assert.deepEqual(config.roles, ['api', 'worker', 'voice', 'console'])
  assert.equal(config.reservationMinutes, 30)
  assert.equal(config.apiKey, null)
})

test('a deprecated setting works with a warning, and is refused together with its present name', () => {
  const former = { TRUNKLINE_CALLS_AT_A_TIME: '7' }
  assert.equal(readConfig(former).callsAtATime, 7)
  assert.deepEqual(deprecatedSettings(former), [
    'TRUNKLINE_CALLS_AT_A_TIME is deprecated: use TRUNKLINE_MAX_CONCURRENT_CALLS',
  ])
  assert.deepEqual(deprecatedSettings({}), [])
  assert.throws(
    () => readConfig({ ...former, TRUNKLINE_MAX_CONCURRENT_CALLS: '8' }),
    /remove TRUNKLINE_CALLS_AT_A_TIME/,
  )
})

test('the sandbox is on by default only on loopback with the embedded database and neither proxy nor public URL', () => {
  assert.equal(readConfig({}).sandbox, true)
  assert.equal(readConfig({ TRUNKLINE_HOST: '0.0.0.0' }).sandbox, false)
  assert.equal(readConfig({ DATABASE_URL: 'postgres://db/x' }).sandbox, false)
  assert.equal(readConfig({ DATABASE_URL: 'postgres://db/x', TRUNKLINE_SANDBOX: 'true' }).sandbox, true)
  for (const host of ['127.0.0.1.example.com', '127.example.com', '::', '0.0.0.0'])
    assert.equal(readConfig({ TRUNKLINE_HOST: host }).sandbox, false, host)
  for (const behindProxy of [
    { TRUNKLINE_TRUST_PROXY: '127.0.0.1' },
    { TRUNKLINE_TRUST_PROXY: '1' },
    { TRUNKLINE_PUBLIC_URL: 'https://voice.example.com' },
    { TRUNKLINE_PUBLIC_URL: 'http://127.0.0.1:8080' },
  ]) {
    assert.equal(readConfig(behindProxy).sandbox, false, JSON.stringify(behindProxy))
    assert.equal(readConfig({ ...behindProxy, TRUNKLINE_SANDBOX: 'true' }).sandbox, true, 'an explicit setting wins')
    assert.equal(readConfig({ ...behindProxy, TRUNKLINE_SANDBOX: 'false' }).sandbox, false)
  }
  assert.equal(readConfig({ TRUNKLINE_SANDBOX: 'false' }).sandbox, false)
})

test('sandboxExposure names the setting that lets other machines reach the sandbox', () => {
  const exposure = (environment: NodeJS.ProcessEnv) => sandboxExposure(readConfig(environment))
  const on = { TRUNKLINE_SANDBOX: 'true' }
  assert.equal(exposure({}), null)
  assert.equal(exposure({ ...on, TRUNKLINE_PUBLIC_URL: 'http://[::1]:8080' }), null)
  assert.match(exposure({ ...on, TRUNKLINE_HOST: '0.0.0.0' }) ?? '', /TRUNKLINE_HOST/)
  assert.match(exposure({ ...on, TRUNKLINE_PUBLIC_URL: 'https://voice.example.com' }) ?? '', /TRUNKLINE_PUBLIC_URL/)
  assert.match(exposure({ ...on, TRUNKLINE_TRUST_PROXY: '127.0.0.1' }) ?? '', /TRUNKLINE_TRUST_PROXY/)
  assert.equal(exposure({ TRUNKLINE_HOST: '0.0.0.0' }), null, 'the sandbox is off')
})

test('an unknown setting is refused with the closest known name', () => {
  assert.throws(
    () => readConfig({ TRUNKLINE_PROT: '1' }),
    /TRUNKLINE_PROT is not a setting; the nearest is TRUNKLINE_PORT/,
  )
})

test('an invalid value is refused with the setting and the expected form', () => {
  assert.throws(
    () => readConfig({ TRUNKLINE_PORT: 'http' }),
    /TRUNKLINE_PORT wants a whole number from 0 to 65535, not "http"/,
  )
  assert.throws(() => readConfig({ TRUNKLINE_API_KEY: 'short' }), /TRUNKLINE_API_KEY wants at least 20 characters/)
  assert.throws(() => readConfig({ TRUNKLINE_ROLES: 'api,cook' }), /TRUNKLINE_ROLES wants one of/)
  assert.throws(() => readConfig({ TRUNKLINE_TLS_CERT: 'a.pem' }), /TRUNKLINE_TLS_CERT and TRUNKLINE_TLS_KEY/)
})

test('a setting that would mean something weaker than it says is refused', () => {
  for (const [name, values] of Object.entries({
    TRUNKLINE_TRUST_PROXY: [
      ...['true', 'TRUE', 'false', 'all', '*', '0', '11', '-1', '1.5', '10.0.0', 'proxy.example.com', ','],
      ...['0.0.0.0/0', '::/0', '::ffff:0:0/96', '10.0.0.0/33', '10.0.0.1,true', '10.0.0.1 10.0.0.2', '1,10.0.0.1'],
    ],
    TRUNKLINE_CORS_ORIGINS: [
      ...['https://a.example/app', 'https://a.example@b.example', 'https://*.example.com', 'https://a.example?x'],
      ...['null', 'a.example', 'ftp://a.example', 'https://', 'https:// a.example'],
    ],
    TRUNKLINE_PUBLIC_URL: ['https://a:b@c.example', 'https://a.example@c.example', 'https://a.example/?x', 'a.example'],
    TRUNKLINE_ROLES: [',', ' , '],
  }))
    for (const value of values)
      assert.throws(() => readConfig({ [name]: value }), new RegExp(`^Error: ${name} (?:wants|takes)`), value)
})

test('trusted proxies are addresses, networks, names of networks, or a number of hops', () => {
  for (const [value, proxies] of [
    ['10.0.0.5, 10.1.0.0/16,loopback', ['10.0.0.5', '10.1.0.0/16', 'loopback']],
    ['fd12::/48,::1,::ffff:10.0.0.1', ['fd12::/48', '::1', '::ffff:10.0.0.1']],
    ['1', 1],
    ['10', 10],
    ['', null],
  ] as const)
    assert.deepEqual(readConfig({ TRUNKLINE_TRUST_PROXY: value }).trustProxy, proxies)
  const origins = { TRUNKLINE_CORS_ORIGINS: 'https://App.example.com/, http://localhost:80' }
  assert.deepEqual(readConfig(origins).corsOrigins, ['https://app.example.com', 'http://localhost'])
})

test('the mail server and the sender are set together, and no error shows the password', () => {
  const smtp = 'smtps://ada:a-password@mail.example.com'
  const { smtp: server, mailFrom } = readConfig({ TRUNKLINE_SMTP_URL: smtp, TRUNKLINE_MAIL_FROM: 'a@example.com' })
  assert.deepEqual([server?.host, mailFrom?.address], ['mail.example.com', 'a@example.com'])
  for (const one of [{ TRUNKLINE_SMTP_URL: smtp }, { TRUNKLINE_MAIL_FROM: 'a@example.com' }])
    assert.throws(() => readConfig(one), /TRUNKLINE_SMTP_URL and TRUNKLINE_MAIL_FROM are set together or not at all/)
  const refused = () => readConfig({ TRUNKLINE_SMTP_URL: `${smtp}?x=1`, TRUNKLINE_MAIL_FROM: 'a@example.com' })
  assert.throws(
    refused,
    (error) => /TRUNKLINE_SMTP_URL has the unknown option/.test(String(error)) && !/a-password/.test(String(error)),
  )
})

test('the error for an invalid value does not repeat a possible secret', () => {
  for (const [name, value] of [
    ['TRUNKLINE_API_KEY', 'hunter2'],
    ['TRUNKLINE_MEDIA_STORE', 's3://key:hunter2@'],
  ] as const)
    assert.throws(
      () => readConfig({ [name]: value }),
      ({ message }: Error) => message.startsWith(`${name} wants`) && !message.includes('hunter2'),
    )
})

test('.env.example lists every setting with its default', () => {
  const example = readFileSync(new URL('../.env.example', import.meta.url), 'utf8')
  for (const { name, default: fallback, about } of Object.values(settings)) {
    assert.ok(example.includes(`# ${about}\n# ${name}=${fallback}\n`), name)
  }
})
