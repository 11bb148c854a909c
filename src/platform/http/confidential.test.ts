import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { Confidential, maskMarked, maskNamed } from './confidential.ts'

test('marked fields are masked at any depth, and fields without a value stay empty', () => {
  const one = Type.Object({
    pin: Type.Optional(Confidential(Type.Union([Type.String(), Type.Null()]))),
    name: Type.String(),
  })
  const schema = Type.Object({ list: Type.Array(one) })
  const list = [{ name: 'a', pin: '1234' }, { name: 'b', pin: null }, { name: 'c' }]
  assert.deepEqual(maskMarked(schema, { list }), {
    list: [{ name: 'a', pin: '•••' }, { name: 'b', pin: null }, { name: 'c' }],
  })
})

test('an audit row masks secrets by name and distinguishes set from unset ones', () => {
  assert.deepEqual(maskNamed(new Map(), { auth_token: 'x', password: null, key: undefined, port: 5060 }), {
    auth_token: '•••',
    password: null,
    key: undefined,
    port: 5060,
  })
})
