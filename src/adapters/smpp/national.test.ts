import assert from 'node:assert/strict'
import { test } from 'node:test'
import { notGsm } from '@trunkline/phone/gsm.ts'
import { languageNames, septetsOf, shiftsOf } from '@trunkline/phone/gsm-national.ts'
import { segment, segmentIn } from '@trunkline/phone/segments.ts'
import { readUserData } from '@trunkline/smpp/user-data.ts'
import { submitOf } from './short-message.ts'
import { makeDelivery } from './testing.ts'

const hex = (text: string): Buffer => Buffer.from(text.replace(/\s/g, ''), 'hex')

const read = (udh: string, septets: string) => {
  const shortMessage = Buffer.concat([hex(udh), hex(septets)])
  const { text, concat } = readUserData({ ...makeDelivery(1), esmClass: 0x40, shortMessage })
  return { text, concat }
}

test('a text in a national language is decoded with the tables that its header names', () => {
  const by = (udh: string, septets: string) => read(udh, septets).text
  assert.equal(by('03 240101', '1b67 61 1b53 1b65'), 'ğaŞ€')
  assert.equal(by('03 250101', '0c 1c 07 40 1b65'), 'ğŞıİ€')
  assert.equal(by('03 240102', '42 1b75 1b3c'), 'Bú[')
  assert.equal(by('06 240103 250103', '5b 7c 18 1b7b 1b61'), 'Ãõ€ãÂ')
  assert.equal(by('03 24010d', '1b19 1b65 1b3f 61'), '\u0600€\u06d4a')
  assert.equal(by('03 25010d', '00 40 60 7f 30'), '\u0627\u0635\u0654\u06700')
  assert.equal(by('03 24010e', '1b65 61'), '€a')
  // The last letter of the first run, the first of the second, the characters at 0x60 and at 0x7F, and a gap.
  for (const [language, expected] of [
    ['04', '\u09b9\u09bc\u09ce\u09f1 '],
    ['05', '\u0ab9\u0abc\u0ad0\u0af1 '],
    ['06', '\u0939\u093c\u0950\u097f\u0929'],
    ['07', '\u0cb9\u0cbc\u0cd5\u0ce3 '],
    ['08', '\u0d39 \u0d57\u0d79 '],
    ['09', '\u0b39\u0b3c\u0b56\u0b63 '],
    ['0a', '\u0a39\u0a3c\u0a51\u0a74 '],
    ['0b', '\u0bb9 \u0bd0\u0bf9\u0ba9'],
    ['0c', '\u0c39 \u0c55\u0c63 '],
  ] as const)
    assert.equal(by(`03 2501${language}`, '4d 4e 60 7f 3c'), expected, language)
  for (const [language, expected] of [
    ['04', '\u09e6\u09e8\u09f5\u09f6'],
    ['06', '\u0964\u0966\u095a\u095b'],
    ['07', '\u0964\u0ce6.0'],
    ['08', '\u0964\u0d66\u0d7a\u0d7b'],
    ['0a', '\u0964\u0a66.0'],
    ['0b', '\u0964\u0be6\u0bfa0'],
    ['0c', 'Θ\u0c66\u0c7c\u0c7d'],
  ] as const)
    assert.equal(by(`03 2401${language}`, '1b19 1b1c 1b2e 1b30'), expected, language)
  assert.deepEqual(read('08 240101 0003ab0302', '1b67'), {
    text: 'ğ',
    concat: { reference: 0xab, part: 2, parts: 3 },
  })
})

test('every text in the tables of a language decodes to what was encoded, in parts that fit', () => {
  for (const language of languageNames)
    for (const shift of shiftsOf(language)) {
      const septetOf = septetsOf(shift)
      const units = Array.from({ length: 0x10000 }, (_, unit) => unit).filter((unit) => septetOf(unit) !== notGsm)
      assert.ok(units.length > 100, `${language}: ${units.length} characters`)
      const text = String.fromCharCode(...units)
      for (const mode of ['udh8', 'udh16'] as const) {
        const { parts } = segment(text, mode, shift)
        const submits = parts.map((part, i) => {
          const fields = {
            message: 'm',
            part: i + 1,
            parts: parts.length,
            reference: 7,
            source: '+1',
            destination: '+2',
          }
          return submitOf({ ...fields, text: part, encoding: 'gsm7', shift, header: mode }, 1, { long: mode })
        })
        assert.equal(submits.map((pdu) => readUserData(pdu).text).join(''), text, language)
        for (const { shortMessage } of submits) {
          const header = (shortMessage[0] ?? 0) + 1
          // Septets begin at a septet boundary after the header (3GPP TS 23.040, 9.2.3.24).
          assert.ok(Math.ceil((header * 8) / 7) + shortMessage.length - header <= 160, `${language} ${mode}`)
        }
      }
    }
})

test('a table is chosen only where it saves a part', () => {
  const all = languageNames
  const shiftFor = (...given: Parameters<typeof segmentIn>) => segmentIn(...given).shift
  assert.equal(shiftFor('a'.repeat(200), 'udh8', all), null)
  assert.equal(shiftFor('ş'.repeat(70), 'udh8', all), null)
  assert.deepEqual(shiftFor('ş'.repeat(71), 'udh8', all), { locking: 0, single: 1 })
  assert.deepEqual(shiftFor('ş'.repeat(150), 'udh8', all), { locking: 1, single: 0 })
  assert.deepEqual(shiftFor('हिन्दी '.repeat(20), 'udh8', all), { locking: 6, single: 0 })
  assert.equal(shiftFor('ş'.repeat(71), 'udh8', ['spanish']), null)
  assert.equal(shiftFor(`${'ş'.repeat(71)}я`, 'udh8', all), null)
})
