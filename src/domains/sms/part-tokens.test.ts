import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { uuid } from '../../platform/lib/id.ts'
import { makeSeal } from '../../platform/lib/secret.ts'
import { makePartTokens } from './part-tokens.ts'

const key = randomBytes(32)
const tokens = makePartTokens(makeSeal(key))

test('a token names its part, to its connection only, and in the characters that every provider passes on', () => {
  const [connection, part] = [uuid(), { account: uuid(), message: uuid(), part: 12 }]
  const token = tokens.make(connection, part)
  assert.match(token, /^[A-Za-z0-9._-]{1,80}$/)
  assert.deepEqual(tokens.read(connection, token), part)
  assert.equal(tokens.read(uuid(), token), null)
  assert.equal(makePartTokens(makeSeal(randomBytes(32))).read(connection, token), null)
  assert.deepEqual(makePartTokens(makeSeal(randomBytes(32), [key])).read(connection, token), part)
})

test('a token with any other character is refused', () => {
  const [connection, part] = [uuid(), { account: uuid(), message: uuid(), part: 1 }]
  const token = tokens.make(connection, part)
  for (let i = 0; i < token.length; i++) {
    const forged = `${token.slice(0, i)}${token[i] === 'A' ? 'B' : 'A'}${token.slice(i + 1)}`
    assert.equal(tokens.read(connection, forged), null, forged)
  }
  for (const text of ['', '.', token.slice(1), `${token}A`, token.replace('.1.', '.2.'), token.replace('.1.', '.01.')])
    assert.equal(tokens.read(connection, text), null, text)
})
