import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decimal, dollars, micros } from './money.ts'

test('micros parses a decimal string exactly and refuses anything else', () => {
  assert.equal(micros('12.5'), 12_500_000)
  assert.equal(micros('0.000001'), 1)
  assert.equal(micros('-3'), -3_000_000)
  assert.equal(micros('100.00000000'), 100_000_000)
  for (const wrong of ['', '.5', '1.', '1e3', ' 1', '0.0000001', 'NaN', '12345678901', '1,5']) {
    assert.equal(micros(wrong), null, wrong)
  }
})

test('an amount is unchanged after decimal and micros', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), (amount) => {
      fc.pre(Math.abs(amount) < 9_000_000_000_000_000)
      return micros(decimal(amount)) === (amount === 0 ? 0 : amount)
    }),
  )
  assert.equal(decimal(12_500_000), '12.50')
  assert.equal(decimal(4_500), '0.0045')
  assert.equal(decimal(0), '0.00')
  assert.equal(dollars(45_000), 0.045)
})
