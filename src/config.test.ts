import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readConfig, settings } from './config.ts'

test('without any setting the defaults of the documentation hold', () => {
  const config = readConfig({})
  assert.equal(config.host, '127.0.0.1')
  assert.equal(config.port, 8080)
  assert.deepEqual(config.roles, ['api', 'worker', 'voice', 'console'])
  assert.equal(config.reservationMinutes, 30)
  assert.equal(config.apiKey, null)
})

test('the sandbox is on with the embedded database on loopback only, unless it is set', () => {
  assert.equal(readConfig({}).sandbox, true)
  assert.equal(readConfig({ TRUNKLINE_HOST: '0.0.0.0' }).sandbox, false)
  assert.equal(readConfig({ DATABASE_URL: 'postgres://db/x' }).sandbox, false)
  assert.equal(readConfig({ DATABASE_URL: 'postgres://db/x', TRUNKLINE_SANDBOX: 'true' }).sandbox, true)
})

test('an unknown setting is an error that suggests the nearest', () => {
  assert.throws(
    () => readConfig({ TRUNKLINE_PROT: '1' }),
    /TRUNKLINE_PROT is not a setting; the nearest is TRUNKLINE_PORT/,
  )
})

test('a wrong value is an error that names the setting and what it wants', () => {
  assert.throws(
    () => readConfig({ TRUNKLINE_PORT: 'http' }),
    /TRUNKLINE_PORT wants a whole number from 0 to 65535, not "http"/,
  )
  assert.throws(() => readConfig({ TRUNKLINE_API_KEY: 'short' }), /TRUNKLINE_API_KEY wants at least 20 characters/)
  assert.throws(() => readConfig({ TRUNKLINE_ROLES: 'api,cook' }), /TRUNKLINE_ROLES wants one of/)
  assert.throws(() => readConfig({ TRUNKLINE_TLS_CERT: 'a.pem' }), /TRUNKLINE_TLS_CERT and TRUNKLINE_TLS_KEY/)
})

test('a wrong value that may hold a secret is not repeated', () => {
  for (const [name, value] of [
    ['TRUNKLINE_API_KEY', 'hunter2'],
    ['TRUNKLINE_MEDIA_STORE', 's3://key:hunter2@'],
  ] as const)
    assert.throws(
      () => readConfig({ [name]: value }),
      ({ message }: Error) => message.startsWith(`${name} wants`) && !message.includes('hunter2'),
    )
})

test('.env.example names every setting with its default', () => {
  const example = readFileSync(new URL('../.env.example', import.meta.url), 'utf8')
  for (const { name, default: fallback, about } of Object.values(settings)) {
    assert.ok(example.includes(`# ${about}\n# ${name}=${fallback}\n`), name)
  }
})
