import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { makeWorld } from '../../../../test/world.ts'
import { makeNativeWriter } from '../programs/native-request.ts'
import { programCall, resolvedProgram } from '../programs/program-testing.ts'

const { db, call, tenant, parts } = await makeWorld()
const { signingKeys } = parts.callPrograms
const write = makeNativeWriter({ agent: 'test', keysOf: (account) => signingKeys(account, null) })
const path = '/open/voip/signing-secret'

test('after the rotation of the secret of programs both secrets sign; a day later only the new one does', async () => {
  const [ada, eve] = [await tenant(), await tenant()]
  const read = async () => (await call(ada, 'GET', path)).body
  const signed = async () => {
    const to = { url: 'https://example.com/', method: 'POST' } as const
    const request = {
      event: 'call.started',
      sequence: 0,
      call: programCall,
      verb: null,
      result: null,
      error: null,
    } as const
    const { headers, body } = await write(resolvedProgram(to.url, { account: ada.id, secret: null }), to, request, 'id')
    return (secret: string) => new StandardWebhook(secret).verify(body ?? '', { ...headers })
  }
  const secrets = [(await read()).signing_secret]
  for (const _ of ['first', 'second']) {
    const { status, body } = await call(ada, 'POST', path)
    assert.equal(status, 200)
    const [before] = secrets
    secrets.unshift(body.signing_secret)
    assert.deepEqual(await read(), body)
    const verify = await signed()
    for (const secret of [body.signing_secret, before]) verify(secret)
  }
  assert.equal(new Set(secrets).size, 3)
  const both = await signed()
  assert.throws(() => both(secrets[2]))
  await db.run`update clock set offset_seconds = offset_seconds + 86401`
  const alone = await signed()
  alone(secrets[0])
  assert.throws(() => alone(secrets[1]))
  assert.deepEqual(await read(), { success: true, signing_secret: secrets[0] })
  const { body: other } = await call(eve, 'GET', path)
  assert.ok(!secrets.includes(other.signing_secret) && other.previous_secret_valid_until === undefined)
})
