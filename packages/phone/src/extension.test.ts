import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitExtension } from './extension.ts'

test('pauses and extensions are split from a number, and stay as they are written', () => {
  for (const [text, number, extension] of [
    ['+44 20 7946 0111,,4711#', '+44 20 7946 0111', ',,4711#'],
    ['+44 20 7946 0111 ; ext = 12', '+44 20 7946 0111', ';ext=12'],
    ['(020) 7946-0111 ext. 12', '(020) 7946-0111', 'x12'],
    ['+442079460111 X12', '+442079460111', 'X12'],
    ...[
      'ext12',
      'Ext: 12',
      'extn12',
      'extension 12',
      ', ext. 12',
      ',ext12',
      '(ext. 12)',
      '( ext12 )',
      '#12',
      '# 12',
    ].map((written) => [`+44 20 7946 0111 ${written}`, '+44 20 7946 0111', 'x12'] as const),
    ['(020) 7946-0111(ext.12)', '(020) 7946-0111', 'x12'],
    ['+442079460111 extra 12', '+442079460111 extra 12', null],
    ['+442079460111 #', '+442079460111 #', null],
    ['+442079460111p12w3', '+442079460111', 'p12w3'],
    ['+442079460111', '+442079460111', null],
    ['+442079460111;', '+442079460111;', null],
    ['*21#', '*21#', null],
    ['150', '150', null],
    ['nobody', 'nobody', null],
  ] as const)
    assert.deepEqual(splitExtension(text), { number, extension }, text)
})

test('a long text is split in time that its length does not multiply', () => {
  const text = `${'+1 '.repeat(50_000)},1`
  assert.deepEqual(splitExtension(text), { number: text, extension: null })
})
