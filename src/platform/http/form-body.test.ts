import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { formReader, parseForm, refuseParameters } from './form-body.ts'
import { maxFormFields } from './limits.ts'

test('names that are repeated give a list, and no name reaches a prototype', () => {
  const form = parseForm('To=%2B447700900123&MediaUrl=a&MediaUrl=b&__proto__=x&Body=')
  assert.equal(form.To, '+447700900123')
  assert.deepEqual(form.MediaUrl, ['a', 'b'])
  assert.equal(form.Body, '')
  assert.equal(Object.getPrototypeOf(form), null)
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
