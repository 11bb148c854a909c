import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalNumber, currentNumber, dialledForms, numberForms } from './number-forms.ts'
import { e164, numberDetails, parsePhoneNumber } from './phone.ts'

type Case = [country: string, former: string, canonical: string]

const cases: Case[] = [
  ['BR, Curitiba', '+554191230001', '+5541991230001'],
  ['BR, São Paulo', '+551181234567', '+5511981234567'],
  ['BR, the first digit 6', '+558565432109', '+5585965432109'],
  ['MX, Mexico City', '+5215512345678', '+525512345678'],
  ['MX, Monterrey', '+5218112345678', '+528112345678'],
  ['AR, Buenos Aires', '+541123456789', '+5491123456789'],
  ['AR, an area code of four digits', '+542966412345', '+5492966412345'],
  ['BJ, a mobile', '+22997123456', '+2290197123456'],
  ['BJ, a landline', '+22921123456', '+2290121123456'],
  ['CI, Orange', '+22507123456', '+2250707123456'],
  ['CI, MTN', '+22544123456', '+2250544123456'],
  ['CI, Moov', '+22540123456', '+2250140123456'],
  ['VN, Viettel', '+841627123456', '+84327123456'],
  ['VN, Mobifone', '+841207123456', '+84707123456'],
  ['VN, Vinaphone', '+841237123456', '+84837123456'],
]

for (const [name, former, canonical] of cases)
  test(`both forms are one number: ${name}`, () => {
    assert.equal(canonicalNumber(former), canonical)
    assert.equal(canonicalNumber(canonical), canonical)
    assert.deepEqual(numberForms(former), [canonical, former])
    assert.deepEqual(numberForms(canonical), [canonical, former])
    assert.ok(numberDetails(canonical)?.isPossible())
    const isDialled = former.startsWith('+54')
    assert.equal(e164(former), isDialled ? former : canonical)
    assert.equal(e164(former.slice(1)), isDialled ? former : canonical)
    assert.equal(currentNumber(former), isDialled ? former : canonical)
    assert.deepEqual(dialledForms(former), isDialled ? [canonical, former] : [canonical])
  })

test('numbers that no plan changed stay as they are', () => {
  for (const number of [
    // Landlines begin with 2 to 5; 0800, and an area code that is not in use.
    ...['+554132230001', '+551141234567', '+55800123456', '+552391230001'],
    ...['+525512345678', '+5215', '+521234567890', '+5218001234567890'],
    ...['+5491123456789', '+548001234567', '+546001234567'],
    ...['+2290197123456', '+22813123456', '+2252720123456', '+22520212345'],
    ...['+84327123456', '+842412345678', '+841807123456'],
    ...['+447700900123', '+12133734253', '+49151123456', '+2201234567', '+8613812345678'],
  ])
    assert.equal(canonicalNumber(number), number, number)
})

test('texts that are no numbers stay as they are', () => {
  for (const text of ['', '+', '+5', 'INFO', '72345', 'remote:x:554191230001', '554191230001@lid'])
    assert.equal(canonicalNumber(text), text)
})

test('the national form of Argentina, with 15, is the canonical one', () => {
  assert.equal(parsePhoneNumber('+54 11 15 2345-6789'), '+5491123456789')
  assert.equal(parsePhoneNumber('011 15 2345-6789', 'AR'), '+5491123456789')
})

test('an old number as people write it is read in its current form', () => {
  assert.equal(parsePhoneNumber('+55 (41) 9123-0001'), '+5541991230001')
  assert.equal(parsePhoneNumber('(41) 9123-0001', 'BR'), '+5541991230001')
  assert.equal(parsePhoneNumber('+52 1 55 1234 5678'), '+525512345678')
  assert.equal(parsePhoneNumber('00521 55 1234 5678'), '+525512345678')
})

test('canonical forms are stable, and each form leads to the same one', () => {
  const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 6, maxLength: 12 })
  const numbers = fc
    .tuple(fc.constantFrom('55', '52', '521', '54', '549', '229', '225', '84', '841', '44', ''), digits)
    .map(([code, rest]) => `+${code}${rest}`)
  fc.assert(
    fc.property(numbers, (number) => {
      const canonical = canonicalNumber(number)
      assert.equal(canonicalNumber(canonical), canonical)
      for (const form of numberForms(number)) assert.equal(canonicalNumber(form), canonical, form)
      assert.equal(canonicalNumber(currentNumber(number)), canonical)
    }),
    { numRuns: 2_000 },
  )
})
