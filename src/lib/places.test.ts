import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describe } from './phone.ts'
import { placeOf } from './places.ts'

/** Numbers whose place and first carrier are publicly known. */
const known: readonly [number: string, region: string, carrier: string, zone: string][] = [
  ['+14155552671', 'San Francisco, CA', '', 'America/Los_Angeles'],
  ['+442079460958', 'London', '', 'Europe/London'],
  ['+33612345678', '', 'SFR', 'Europe/Paris'],
  ['+4915123456789', '', 'T-Mobile', 'Europe/Berlin'],
  ['+919876543210', '', 'Airtel', 'Asia/Kolkata'],
  ['+8613812345678', 'Lianyungang, Jiangsu', 'China Mobile', 'Asia/Shanghai'],
  ['+380501234567', '', 'Vodafone', 'Europe/Kyiv'],
]

for (const [number, region, carrier, zone] of known)
  test(`${number} is of ${region || 'no known place'}, ${carrier || 'no known carrier'}`, () => {
    const parsed = describe(number)
    assert.ok(parsed)
    const place = placeOf(parsed.countryCallingCode, parsed.nationalNumber)
    assert.deepEqual([place.region, place.carrier], [region, carrier])
    assert.ok(place.timezone.includes(zone), place.timezone.join())
  })

test('a calling code without tables has no place', () => {
  assert.deepEqual(placeOf('999', '123456'), { region: '', carrier: '', timezone: [] })
})
