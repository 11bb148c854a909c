import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tags } from '@trunkline/smpp/pdu.ts'
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

const fields = 'id:7b sub:001 dlvrd:001 stat:DELIVRD err:000'
const delivered = { carrierId: '7b', state: 'DELIVERED', error: null }

test('a receipt is read in the coding that its octets have, whatever its data_coding says', () => {
  const wide = encodeText(fields, 'ucs2')
  const little = Buffer.from(fields, 'utf16le')
  const ascii = Buffer.from(fields)
  const cases: readonly (readonly [dataCoding: number, octets: Buffer])[] = [
    [0, wide],
    [4, wide],
    [8, wide],
    [8, little],
    [0, little],
    [8, Buffer.concat([ascii, Buffer.from(' '), encodeText('Привет', 'ucs2')])],
    [8, Buffer.concat([Buffer.from([0x02]), ascii])],
    [0, Buffer.concat([Buffer.from([0x02]), ascii])],
  ]
  for (const [dataCoding, shortMessage] of cases) {
    const read = readReceipt({ ...makeDelivery(1), esmClass: 4, dataCoding, shortMessage })
    assert.deepEqual(read, delivered, `${dataCoding} ${shortMessage.toString('hex')}`)
  }
})

test('a message_state of 0 gives way to the word, and one padded with zeros counts', () => {
  const stateOf = (octets: number[], text: string) => {
    const tlvs = new Map([[tags.message_state, Buffer.from(octets)]])
    return readReceipt({ ...makeDelivery(1), esmClass: 4, shortMessage: Buffer.from(text), tlvs })?.state
  }
  assert.equal(stateOf([0], 'id:7b stat:DELIVRD'), 'DELIVERED')
  assert.equal(stateOf([0], 'id:7b'), 'ENROUTE')
  assert.equal(stateOf([0, 2], 'id:7b'), 'DELIVERED')
  assert.equal(stateOf([2, 0], 'id:7b'), 'DELIVERED')
  assert.equal(stateOf([5], 'id:7b stat:DELIVRD'), 'UNDELIVERABLE')
  assert.equal(stateOf([], 'id:7b stat:DELIVRD'), 'DELIVERED')
})

test('commas, semicolons and quotation marks separate the fields of a receipt', () => {
  for (const text of [
    'id:7b,sub:001,dlvrd:001,stat:DELIVRD,err:000',
    'id:7b;sub:001;stat:DELIVRD;err:000;text:x',
    'id:"7b" stat:"DELIVRD" err:"000"',
    "id: '7b', stat: 'DELIVRD', err: '000'",
  ])
    assert.deepEqual(receipt(text), delivered, text)
  assert.equal(receipt('id:7b;stat:UNDELIV;err:027;text:')?.error, '027')
})

test('words of the message itself are no fields of its receipt', () => {
  assert.deepEqual(receipt('id:7b sub:001 text:stat:DELIVRD err:9'), { carrierId: '7b', state: null, error: null })
  assert.deepEqual(receipt('text:hello id:7b stat:DELIVRD'), delivered)
})
