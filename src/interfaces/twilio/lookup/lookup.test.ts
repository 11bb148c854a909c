import assert from 'node:assert/strict'
import { test } from 'node:test'
import { basic, makeTwilioWorld } from '../testing.ts'

const world = await makeTwilioWorld()
const own = await world.credentials(await world.tenant())
const ask = async (path: string) => {
  const answer = await world.app.inject({ url: path, headers: { authorization: basic(own.sid, own.token) } })
  return { status: answer.statusCode, body: answer.json() }
}

test('the first version names country and form of a number, and does not know others', async () => {
  const { status, body } = await ask('/v1/PhoneNumbers/+447400123456?Type=carrier')
  assert.equal(status, 200)
  assert.deepEqual([body.phone_number, body.country_code, body.carrier.type], ['+447400123456', 'GB', 'mobile'])
  assert.equal((await ask('/v1/PhoneNumbers/07400123456?CountryCode=GB')).body.phone_number, '+447400123456')
  assert.equal((await ask('/v1/PhoneNumbers/123')).body.code, 20404)
})

test('the second version says whether a number is valid', async () => {
  const { body } = await ask('/v2/PhoneNumbers/+447400123456?Fields=line_type_intelligence')
  assert.deepEqual(
    [body.valid, body.calling_country_code, body.national_format, body.line_type_intelligence.type],
    [true, '44', '07400 123456', 'mobile'],
  )
  const wrong = (await ask('/v2/PhoneNumbers/+123')).body
  assert.deepEqual([wrong.valid, wrong.validation_errors], [false, ['TOO_SHORT']])
  const words = (await ask('/v2/PhoneNumbers/hello')).body
  assert.deepEqual([words.valid, words.validation_errors], [false, ['NOT_A_NUMBER']])
})
