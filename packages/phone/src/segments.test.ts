import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SegmentedMessage } from 'sms-segments-calculator'
import splitSms from 'split-sms'
import { type ConcatenationMode, countParts, segment } from './segments.ts'

const oracle = (text: string): { encoding: string; count: number } => {
  const { encodingName, segments } = new SegmentedMessage(text)
  return { encoding: encodingName === 'GSM-7' ? 'gsm7' : 'ucs2', count: segments.length }
}

const family = '👨‍👩‍👧‍👦'
const modes: ConcatenationMode[] = ['udh8', 'udh16', 'sar', 'payload']

test('the encoding of every BMP code point equals that of both reference libraries', () => {
  let checked = 0
  for (let point = 0; point < 0x10000; point++) {
    const text = String.fromCharCode(point)
    const { encoding, forcedBy } = segment(text)
    assert.equal(encoding, splitSms.split(text).characterSet === 'GSM' ? 'gsm7' : 'ucs2', `U+${point.toString(16)}`)
    assert.equal(encoding, oracle(text).encoding, `U+${point.toString(16)}`)
    assert.equal(forcedBy, encoding === 'gsm7' ? null : text)
    checked++
  }
  assert.equal(checked, 65_536)
})

const cases: [name: string, text: string, count: number][] = [
  ['160 GSM', 'a'.repeat(160), 1],
  ['161 GSM', 'a'.repeat(161), 2],
  ['306 GSM', 'a'.repeat(306), 2],
  ['307 GSM', 'a'.repeat(307), 3],
  ['459 GSM', 'a'.repeat(459), 3],
  ['460 GSM', 'a'.repeat(460), 4],
  ['80 €', '€'.repeat(80), 1],
  ['81 €', '€'.repeat(81), 2],
  ['152 €', '€'.repeat(152), 2],
  ['153 €, an escape pair at each border', '€'.repeat(153), 3],
  ['an escape pair across the border of 153', `${'a'.repeat(152)}€${'a'.repeat(20)}`, 2],
  ['a pair that pushes the rest over', `${'a'.repeat(152)}€${'a'.repeat(152)}`, 3],
  ['70 UCS-2', 'я'.repeat(70), 1],
  ['71 UCS-2', 'я'.repeat(71), 2],
  ['134 UCS-2', 'я'.repeat(134), 2],
  ['135 UCS-2', 'я'.repeat(135), 3],
  ['one letter turns 160 into UCS-2', `${'a'.repeat(159)}я`, 3],
  ['35 emoji', '😀'.repeat(35), 1],
  ['36 emoji', '😀'.repeat(36), 2],
  ['an emoji across the border of 67', `${'я'.repeat(66)}😀${'я'.repeat(10)}`, 2],
  ['67 emoji, one unit lost at each border', '😀'.repeat(67), 3],
  ['a family across the border of 67', `${'я'.repeat(60)}${family}${'я'.repeat(10)}`, 2],
  ['a flag across the border of 67', `${'я'.repeat(65)}🇬🇧${'я'.repeat(10)}`, 2],
  ['a lone surrogate', '\ud83d', 1],
  ['form feed is an escape pair', '\f'.repeat(81), 2],
  ['CR LF', 'line\r\n'.repeat(26), 1],
]

for (const [name, text, count] of cases) {
  test(`${name}: ${count} ${count === 1 ? 'part' : 'parts'}, as in both reference libraries`, () => {
    assert.equal(segment(text).parts.length, count)
    assert.equal(countParts(text), count)
    assert.equal(oracle(text).count, count)
    assert.equal(splitSms.split(text).parts.length, count)
  })
}

test('segment returns one empty part for an empty text', () => {
  assert.deepEqual(segment(''), { encoding: 'gsm7', shift: null, parts: [''], forcedBy: null })
})

test('forcedBy is the complete first character that requires UCS-2', () => {
  assert.equal(segment('so 😀 я').forcedBy, '😀')
})

const piece = fc.constantFrom(
  'a',
  'Z',
  '€',
  '{',
  '\n',
  'é',
  'я',
  '字',
  '😀',
  family,
  '🇬🇧',
  'e\u0301',
  '\ud83d',
  '\udc00',
)
const gsmPiece = fc.constantFrom('a', '€', '^', '\n', 'é', '\f', 'Δ')
const texts = fc.oneof(
  fc.array(gsmPiece, { maxLength: 500, size: 'max' }).map((pieces) => pieces.join('')),
  fc.array(piece, { maxLength: 400, size: 'max' }).map((pieces) => pieces.join('')),
)

test('the parts concatenate to the text, fit, split no surrogate pair, and match countParts', () => {
  fc.assert(
    fc.property(texts, fc.constantFrom(...modes), (text, mode) => {
      const { encoding, parts } = segment(text, mode)
      assert.equal(parts.join(''), text)
      assert.equal(parts.length, countParts(text, mode))
      const header = mode === 'udh8' ? 6 : 7
      for (const [index, part] of parts.entries()) {
        const next = parts[index + 1]
        if (next !== undefined) {
          assert.ok(part.length > 0)
          assert.ok(!(/[\ud800-\udbff]$/.test(part) && /^[\udc00-\udfff]/.test(next)), 'surrogate pair split')
        }
        if (mode === 'payload') continue
        const septets = [...part].length + (part.match(/[\f^{}\\[~\]|€]/g)?.length ?? 0)
        const octets = encoding === 'gsm7' ? Math.ceil((septets * 7) / 8) : part.length * 2
        assert.ok(octets + (parts.length > 1 ? header : 0) <= 140, `${octets} octets`)
      }
    }),
    { numRuns: 1_000 },
  )
})

test('the part count of GSM texts equals that of both reference libraries', () => {
  fc.assert(
    fc.property(fc.array(gsmPiece, { maxLength: 480, size: 'max' }), (pieces) => {
      const text = pieces.join('')
      assert.equal(countParts(text), splitSms.split(text).parts.length)
      assert.equal(countParts(text), oracle(text).count)
    }),
    { numRuns: 30 },
  )
})

test('the part count of UCS-2 texts without clusters equals that of both reference libraries', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', 'я', '字', '😀'), { maxLength: 250, size: 'max' }), (pieces) => {
      const text = `я${pieces.join('')}`
      assert.equal(countParts(text), splitSms.split(text).parts.length)
      assert.equal(countParts(text), oracle(text).count)
    }),
    { numRuns: 30 },
  )
})

test('a grapheme cluster that fits in a part is not split', () => {
  const { parts } = segment(`${'я'.repeat(60)}${family}${'я'.repeat(80)}`)
  assert.equal(parts[0], 'я'.repeat(60))
  assert.ok(parts[1]?.startsWith(family))
})

test('a grapheme cluster longer than a part is split between characters', () => {
  for (let lead = 0; lead < 4; lead++) {
    const { parts } = segment('я'.repeat(lead) + Array(60).fill('😀').join('\u200d'))
    assert.ok(parts.length > 1)
    for (const part of parts) assert.ok(part.isWellFormed())
  }
})
