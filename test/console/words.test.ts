import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { afterEach, test } from 'node:test'
import { add, compare, isDecimal, multiply } from '../../console/words/decimal.ts'
import { words } from '../../console/words/en/parts.ts'
import { duration, money, phoneNumber, relative, stopwatch } from '../../console/words/format.ts'
import { pseudo } from '../../console/words/pseudo.ts'
import { chooseLanguage, counted, section } from '../../console/words/section.ts'
import { spriteFile, spriteText } from '../../scripts/icons.ts'

afterEach(() => chooseLanguage('en'))

test('money is exact at every length, rounded for show, and written as the language does', () => {
  assert.equal(money('12345678901234567.123456', { exact: true }), '$12,345,678,901,234,567.123456')
  assert.equal(money('1234.565'), '$1,234.57')
  assert.equal(money('0.0042'), '$0.0042')
  assert.equal(money('-3'), '-$3.00')
  chooseLanguage('de')
  assert.equal(money('1234.5', { currency: 'EUR' }), '1.234,50\u00a0€')
})

test('sums and products of decimals are exact to the micro-dollar', () => {
  assert.equal(add('0.1', '0.2'), '0.3')
  assert.equal(add('99999999999999999.999999', '0.000001', '-5'), '99999999999999995')
  assert.equal(multiply('0.0042', 3), '0.0126')
  assert.deepEqual(['10', '9.5', '-1'].sort(compare), ['-1', '9.5', '10'])
  assert.equal(isDecimal('1e5'), false)
  assert.throws(() => add('12,5'), RangeError)
})

test('times and numbers of phones are written for people', () => {
  assert.equal(duration(1_234), '1.2s')
  assert.equal(stopwatch(3_849), '1:04:09')
  assert.equal(relative(0, 300_000), '5 minutes ago')
  assert.equal(relative(0, 8 * 86_400_000), null)
  assert.equal(phoneNumber('+442079460018'), '+44 20 7946 0018')
  assert.equal(phoneNumber('+12025550123'), '+1 202 555 0123')
  assert.equal(phoneNumber('+35315134567'), '+353 151 345 67')
  assert.equal(phoneNumber('anonymous'), 'anonymous')
})

test('a language replaces the texts of every section, also of those registered later', () => {
  chooseLanguage('ar', {
    parts: { copy: 'نسخ', combobox: { results: (count: number) => `${count} ن` } },
    later: { hello: 'مرحبا' },
  })
  assert.equal(words.copy, 'نسخ')
  assert.equal(words.combobox.results(2), '2 ن')
  assert.equal(words.close, 'Close')
  assert.equal(section('later', { hello: 'Hello', rest: 'Rest' }).hello, 'مرحبا')
  chooseLanguage('en')
  assert.equal(words.copy, 'Copy')
  assert.equal(words.combobox.results(1), '1 result')
  assert.equal(counted(2_000, { one: 'row', other: 'rows' }), '2,000 rows')
})

test('the pseudo-locale marks every text and makes it at least 40 % longer', () => {
  chooseLanguage('en', {}, pseudo)
  assert.match(words.form.required, /^⟦.*⟧$/)
  assert.match(words.copyOf('id'), /^⟦.*⟧$/)
  assert.ok([...words.cancel].length >= 'Cancel'.length * 1.4)
})

test('the sprite has the icons of its list and names their licence', () => {
  assert.ok(readFileSync(spriteFile, 'utf8') === spriteText(), 'run: node_modules/.bin/node scripts/icons.ts')
  assert.match(spriteText(), /ISC License, Copyright/)
})
