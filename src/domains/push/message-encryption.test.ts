import assert from 'node:assert/strict'
import { createECDH, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { decryptMessage } from '../../../test/push-receiver.ts'
import { areBrowserKeys, encryptMessage } from './message-encryption.ts'
import { choicesOf, isQuiet } from './quiet-hours.ts'

const bytes = (text: string) => Buffer.from(text, 'base64url')

// RFC 8291, section 5 and appendix A.
const vector = {
  plain: 'When I grow up, I want to be a watermelon',
  serverPrivate: bytes('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw'),
  browserPrivate: bytes('q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94'),
  browserPublic: bytes('BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4'),
  auth: bytes('BTBZMqHH6r4Tts7J_aSIgg'),
  salt: bytes('DGv6ra1nlYgDCS1FRnbzlw'),
  body:
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml' +
    'mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT' +
    'pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
}
const browser = { p256dh: vector.browserPublic, auth: vector.auth }

test('a message is encrypted as the test vector of RFC 8291 says, and a browser decrypts it', () => {
  const { salt, serverPrivate: privateKey } = vector
  const body = encryptMessage(Buffer.from(vector.plain), browser, { salt, privateKey })
  assert.equal(body.toString('base64url'), vector.body)
  assert.equal(decryptMessage(body, vector.browserPrivate, vector.auth).toString(), vector.plain)
})

test('the length of a padded message reveals nothing, each has its own keys, and one that is too long is refused', () => {
  const [short, long] = ['a', 'b'.repeat(900)].map((text) =>
    encryptMessage(Buffer.from(text), browser, { paddedBytes: 1_024 }),
  )
  assert.equal(short?.length, long?.length)
  assert.notDeepEqual(short?.subarray(0, 86), long?.subarray(0, 86))
  assert.equal(decryptMessage(short ?? Buffer.alloc(0), vector.browserPrivate, vector.auth).toString(), 'a')
  assert.throws(() => encryptMessage(Buffer.alloc(4_096), browser), RangeError)
})

test('keys of a browser are a point of the curve and 16 bytes', () => {
  assert.equal(areBrowserKeys(browser), true)
  assert.equal(areBrowserKeys({ ...browser, auth: randomBytes(15) }), false)
  assert.equal(areBrowserKeys({ ...browser, p256dh: Buffer.concat([Buffer.of(4), randomBytes(64)]) }), false)
  const pair = createECDH('prime256v1')
  assert.equal(areBrowserKeys({ ...browser, p256dh: pair.generateKeys(null, 'compressed') }), false)
})

test('quiet hours pass midnight, follow the zone of the person, and are off for anything else that is stored', () => {
  const stored = { notifications: { quiet: { on: true, from: '22:00', until: '07:00' }, timezone: 'Europe/London' } }
  const at = (text: string) => new Date(`2026-07-01T${text}:00Z`)
  const london = choicesOf(stored, null)
  const quiet = (choices: typeof london, ...times: string[]) => times.map((time) => isQuiet(choices, at(time)))
  // London is an hour ahead of UTC in July.
  assert.deepEqual(quiet(london, '20:59', '21:00', '05:59', '06:00'), [false, true, true, false])
  assert.deepEqual(quiet(choicesOf(stored, 'Asia/Tokyo'), '13:00', '21:59', '22:00'), [true, true, false])
  const noon = { ...london, quiet: { from: 720, until: 780 }, timezone: 'Nowhere/Land' }
  assert.deepEqual(quiet(noon, '11:59', '12:00', '13:00'), [false, true, false])
  for (const odd of [null, 7, { notifications: 'no' }, { notifications: { quiet: { on: true, from: '25:00' } } }])
    assert.equal(choicesOf(odd, null).quiet, null)
  const off = choicesOf({ notifications: { calls: false } }, null)
  assert.deepEqual([off.isOn.calls, off.isOn.messages], [false, true])
})
