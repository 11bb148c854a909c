import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closestWord, suggestion } from './levenshtein.ts'

const events = ['balance.low', 'contact.created', 'contact.updated']

test('a misspelt word is corrected, and a word that is near to none is not', () => {
  assert.equal(closestWord('contact.creatd', events), 'contact.created')
  assert.equal(closestWord('Contact.Updated', events), 'contact.updated')
  assert.equal(closestWord('bogus.event', events), null)
  assert.equal(closestWord('anything', []), null)
  assert.equal(closestWord('bal', events), 'balance.low')
  assert.equal(suggestion('bogus.event', events), '')
  assert.equal(suggestion('balance.lo', events), '; did you mean balance.low?')
})
