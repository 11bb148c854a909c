import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readReceipt } from '@trunkline/smpp/receipt.ts'
import { encodeText } from '@trunkline/smpp/text-encoding.ts'
import { makeDelivery } from './testing.ts'

const latin1 = 3
const receipt = (text: string) =>
  readReceipt({ ...makeDelivery(1), esmClass: 4, dataCoding: latin1, shortMessage: Buffer.from(text) })

test('a NUL ends a field of a receipt, because no database stores one', () => {
  assert.deepEqual(receipt('id:7b stat:DELIVRD err:027\0'), { carrierId: '7b', state: 'DELIVERED', error: '027' })
  assert.equal(receipt('id:7b\0 stat:DELIVRD')?.carrierId, '7b')
  assert.equal(receipt('id:\0 stat:DELIVRD'), null)
})

test('an overlong id or error is cut, and half a surrogate pair is replaced', () => {
  const long = receipt(`id:${'7'.repeat(3_000)} stat:REJECTD err:${'9'.repeat(3_000)}`)
  assert.deepEqual([long?.carrierId.length, long?.error?.length], [255, 64])
  const ucs2 = { esmClass: 4, dataCoding: 8, shortMessage: encodeText('id:a\ud83d stat:DELIVRD', 'ucs2') }
  assert.equal(readReceipt({ ...makeDelivery(1), ...ucs2 })?.carrierId, 'a\ufffd')
})
