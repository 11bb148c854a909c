import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buyNumber, homeOnDisk, type Platform, startPlatform, until } from '../../../test/platform.ts'
import { freePortSettings } from '../../../test/voice/voice-fixture.ts'
import { startVoicePlatform } from '../calls/call-testing.ts'

const path = '/open/voip/caller-ids'
const handset = '+442079460301'

test('a kill during ringing ends the code of the call: its record survives the restart, and the code proves nothing', async (t) => {
  const killed = await startVoicePlatform({}, homeOnDisk())
  t.after(() => killed.end('SIGKILL'))
  await buyNumber(killed)
  const balance = async ({ call }: Platform) => (await call('GET', '/open/info')).body.balance.amount
  const before = await balance(killed)
  await killed.call('PUT', `/sandbox/handsets/${handset}`, { answers: 'no_answer' })
  const { status, body } = await killed.call('POST', path, { phone_number: handset, method: 'call' })
  assert.equal(status, 201)
  await until(async () => (await killed.call('GET', `/sandbox/handsets/${handset}`)).body.calls[0]?.state === 'ringing')
  await killed.end('SIGKILL')
  const next = await startPlatform(killed.home, freePortSettings)
  t.after(() => next.end())
  const { cdr } = (await next.call('GET', `/open/voip/call/${body.call_uuid}`)).body
  assert.deepEqual([cdr.active, cdr.status, cdr.end_reason], [false, 'FAILED', 'interrupted'])
  assert.equal(await balance(next), before, 'the held minute is released')
  const { caller_ids } = (await next.call('GET', path)).body
  const left = caller_ids.find((one: { phone_number: string }) => one.phone_number === handset)
  assert.deepEqual([left.verified, left.verification.state], [false, 'expired'])
  const late = await next.call('POST', `${path}/${left.uuid}/verify`, { code: body.code })
  assert.deepEqual([late.status, late.body.error_code], [409, 'code_expired'])
})
