import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { isFalseKey, keyDigest, keyHash, makeKey, makeSeal } from './secret.ts'

test('a key has 256 random bits and a checksum that reveals a typing error', () => {
  const key = makeKey('UAK')
  assert.match(key, /^UAK[0-9A-Za-z]{49}$/)
  assert.equal(isFalseKey(key), false)
  assert.equal(isFalseKey(key.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))), true)
  assert.equal(isFalseKey('a key of the operator’s own choosing'), false)
  assert.equal(keyHash(key).toString('base64'), keyDigest(key))
})

test('a sealed secret opens only unchanged and with its master key', () => {
  const seal = makeSeal(randomBytes(32))
  const sealed = seal.close('pässword')
  assert.equal(seal.open(sealed), 'pässword')
  assert.ok(!sealed.includes('ssword'))
  assert.throws(() => makeSeal(randomBytes(32)).open(sealed))
  sealed[15] = (sealed[15] ?? 0) ^ 1
  assert.throws(() => seal.open(sealed))
})
