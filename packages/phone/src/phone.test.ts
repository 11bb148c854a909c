import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { getCountries, getExampleNumber, parsePhoneNumberFromString } from 'libphonenumber-js/max'
import metadata from 'libphonenumber-js/max/metadata'
import examples from 'libphonenumber-js/mobile/examples'
import { randomInputs } from '../../../test/needs.ts'
import { currentNumber } from './number-forms.ts'
import { countryOf, e164, formatNumber, isUs, mainCountryOf, maskNumber } from './phone.ts'

const byLibrary = (text: string): string | null => {
  if (!/^\+?[1-9]\d{6,14}$/.test(text)) return null
  const parsed = parsePhoneNumberFromString(currentNumber(text.startsWith('+') ? text : `+${text}`))
  return parsed?.isPossible() ? currentNumber(parsed.number) : null
}

const known = getCountries().flatMap((country) => getExampleNumber(country, examples)?.number ?? [])

const digit = fc.integer({ min: 0, max: 9 }).map(String)
const mutated = fc
  .tuple(fc.constantFrom(...known), fc.nat(15), digit, fc.constantFrom('set', 'insert', 'remove', 'keep'))
  .map(([number, at, value, how]) => {
    const i = 1 + (at % (number.length - 1))
    if (how === 'set') return number.slice(0, i) + value + number.slice(i + 1)
    if (how === 'insert') return number.slice(0, i) + value + number.slice(i)
    if (how === 'remove') return number.slice(0, i) + number.slice(i + 1)
    return number
  })
const random = fc.string({ unit: digit, minLength: 6, maxLength: 16 }).map((digits) => `+${digits}`)
const numRuns = process.env.TRUNKLINE_TEST_LONG ? 300_000 : randomInputs(20_000)

test('e164 agrees with libphonenumber on mutated numbers of every country, apart from replaced forms', () => {
  assert.ok(known.length > 200)
  fc.assert(
    fc.property(fc.oneof(mutated, random), (text) => assert.equal(e164(text), byLibrary(text), text)),
    { numRuns },
  )
})

test('the country of a number agrees with libphonenumber, also where countries share a calling code', () => {
  const codes: Record<string, string[]> = metadata.country_calling_codes
  const mainByLibrary = (number: string) => {
    const found = parsePhoneNumberFromString(number)
    return found?.country ?? codes[found?.countryCallingCode ?? '']?.[0]
  }
  const shared = Object.entries(codes).flatMap(([code, countries]) => (countries.length > 1 ? [code] : []))
  const inShared = fc
    .tuple(fc.constantFrom(...shared), fc.string({ unit: digit, minLength: 7, maxLength: 11 }))
    .map(([code, national]) => `+${code}${national}`)
  fc.assert(
    fc.property(fc.oneof(mutated, random, inShared), (text) =>
      assert.equal(mainCountryOf(text), mainByLibrary(text), text),
    ),
    { numRuns },
  )
})

test('e164 reads digits without a plus as international, and refuses anything but digits', () => {
  assert.equal(e164('447911123456'), '+447911123456')
  assert.equal(e164('+447911123456'), '+447911123456')
  for (const wrong of [
    '',
    '+',
    '+44 7911 123456',
    '0044791112345',
    '+123456',
    '+1234567890123456',
    '+44791112345x',
    '٤٤٧٩١١١٢٣٤٥٦',
  ]) {
    assert.equal(e164(wrong), null, wrong)
  }
})

test('isUs accepts a +1 number unless its area code belongs to another country', () => {
  assert.equal(isUs('+12133734253'), true)
  assert.equal(isUs('+14165550123'), false) // Toronto
  assert.equal(isUs('+18765550123'), false) // Jamaica
  assert.equal(isUs('+15555550123'), true) // no country’s
  assert.equal(isUs('+447911123456'), false)
})

test('numbers are formatted for people and masked for logs', () => {
  assert.equal(formatNumber('+442079460958'), '+44 20 7946 0958')
  assert.equal(countryOf('+442079460958'), 'GB')
  assert.equal(maskNumber('+442079460958'), '+442…58')
})
