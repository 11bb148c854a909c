import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { formReader, parseForm, parseMultipartForm, refuseParameters } from './form-body.ts'
import { maxFormFields } from './limits.ts'

test('names that are repeated give a list, and no name reaches a prototype', () => {
  const form = parseForm('To=%2B447700900123&MediaUrl=a&MediaUrl=b&__proto__=x&Body=')
  assert.equal(form.To, '+447700900123')
  assert.deepEqual(form.MediaUrl, ['a', 'b'])
  assert.equal(form.Body, '')
  assert.equal(Object.getPrototypeOf(form), null)
})

const boundary = '--------------------------735323031399963166993862'
const multipart = (...parts: readonly (readonly [string, string])[]) =>
  Buffer.from(
    `${parts.map(([head, value]) => `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`).join('')}--${boundary}--\r\n`,
  )
const multipartType = `multipart/form-data; boundary=${boundary}`

test('a form may be multipart, without files, with the same limits', async () => {
  const read = (body: Buffer) => parseMultipartForm(multipartType, body)
  const parts = [
    ['name="To"', '+447700900123'],
    ['name="Body"', 'Größe\r\n&='],
  ] as const
  const form = await read(multipart(...parts, ['name="MediaUrl"', 'a'], ['name="MediaUrl"', 'b']))
  assert.deepEqual({ ...form }, { To: '+447700900123', Body: 'Größe\r\n&=', MediaUrl: ['a', 'b'] })
  assert.equal(Object.getPrototypeOf(form), null)
  const fields = (count: number) => Array.from({ length: count }, (_, n) => [`name="f${n}"`, '1'] as const)
  assert.equal(Object.keys(await read(multipart(...fields(maxFormFields)))).length, maxFormFields)
  await assert.rejects(read(multipart(...fields(maxFormFields + 1))), { message: /at most 200 fields/ })
  for (const body of [multipart(['name="Body"', 'a\0b']), Buffer.from('To=1'), Buffer.alloc(0)])
    await assert.rejects(read(body), { problem: 'invalid' })
  const file = multipart(['name="Body"; filename="a.txt"\r\nContent-Type: text/plain', 'Hello'])
  await assert.rejects(read(file), { problem: 'invalid', message: /^Body is a file/ })
  await assert.rejects(parseMultipartForm('multipart/form-data', multipart(...parts)), { problem: 'invalid' })
})

test('values get the types of the schema; empty text stays, and the last of several values counts', () => {
  const read = formReader(
    Type.Object({
      Body: Type.String(),
      ValidityPeriod: Type.Integer(),
      SmartEncoded: Type.Boolean(),
      MediaUrl: Type.Array(Type.String()),
      To: Type.String(),
    }),
  )
  const form = parseForm('Body=&ValidityPeriod=60&SmartEncoded=True&MediaUrl=a&To=1&To=2&Other=x')
  read(form)
  const expected = { Body: '', ValidityPeriod: 60, SmartEncoded: true, MediaUrl: ['a'], To: '2', Other: 'x' }
  assert.deepEqual({ ...form }, expected)
  const blank = parseForm('ValidityPeriod=&SmartEncoded=yes')
  read(blank)
  assert.deepEqual({ ...blank }, { SmartEncoded: 'yes' })
})

test('too many fields, and text that cannot be stored, are refused', () => {
  const many = Array.from({ length: maxFormFields + 1 }, (_, n) => `f${n}=1`).join('&')
  assert.throws(() => parseForm(many), { problem: 'invalid' })
  assert.throws(() => parseForm('Body=a%00b'), { problem: 'invalid' })
})

test('a parameter that is not offered is refused by its name unless it is empty', () => {
  refuseParameters(['ContentSid', 'Emergency*'], parseForm('ContentSid=&Body=x'))
  assert.throws(() => refuseParameters(['ContentSid'], parseForm('ContentSid=HX1')), {
    code: 'parameter_not_supported',
    fields: ['ContentSid'],
  })
  assert.throws(() => refuseParameters(['Emergency*'], parseForm('EmergencyStatus=Active')), /EmergencyStatus/)
})
