import assert from 'node:assert/strict'
import { test } from 'node:test'
import { delivery } from '../testing.ts'
import { readReceipt } from './receipt.ts'
import { encodeText } from './text.ts'

const latin1 = 3
const receipt = (text: string) =>
  readReceipt({ ...delivery(1), esmClass: 4, dataCoding: latin1, shortMessage: Buffer.from(text) })

test('a NUL ends a field of a receipt, since no database keeps one', () => {
  assert.deepEqual(receipt('id:7b stat:DELIVRD err:027\0'), { carrierId: '7b', state: 'DELIVERED', error: '027' })
  assert.equal(receipt('id:7b\0 stat:DELIVRD')?.carrierId, '7b')
  assert.equal(receipt('id:\0 stat:DELIVRD'), null)
})

test('an id or an error without end is cut, and a half of a character is replaced', () => {
  const long = receipt(`id:${'7'.repeat(3_000)} stat:REJECTD err:${'9'.repeat(3_000)}`)
  assert.deepEqual([long?.carrierId.length, long?.error?.length], [255, 64])
  const ucs2 = { esmClass: 4, dataCoding: 8, shortMessage: encodeText('id:a\ud83d stat:DELIVRD', 'ucs2') }
  assert.equal(readReceipt({ ...delivery(1), ...ucs2 })?.carrierId, 'a\ufffd')
})
