import assert from 'node:assert/strict'
import { test } from 'node:test'
import { numberDetails } from '@trunkline/phone/phone.ts'
import { geocodeNumber } from './phone-geocoding.ts'

/** Numbers with publicly known region and original carrier. */
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
  test(`${number} belongs to ${region || 'an unknown region'} and ${carrier || 'an unknown carrier'}`, () => {
    const parsed = numberDetails(number)
    assert.ok(parsed)
    const place = geocodeNumber(parsed.countryCallingCode, parsed.nationalNumber)
    assert.deepEqual([place.region, place.carrier], [region, carrier])
    assert.ok(place.timezone.includes(zone), place.timezone.join())
  })

test('a calling code without tables has no region', () => {
  assert.deepEqual(geocodeNumber('999', '123456'), { region: '', carrier: '', timezone: [] })
})
