import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { add, emptyDraft } from '../ops.ts'
import { findByGrams } from '../store.ts'
import { makeHash } from './search-keys.ts'
import { nearQuery, parseQuery } from './search-query.ts'

const { db, call, tenant } = await makeWorld()

/** Parses `Ada Lovelace +447700900123 ada@example.com` into a contact. */
const draftOf = (text: string) => {
  const words = text.split(' ')
  const bare = { label: null, extension: null }
  const phones = words
    .filter((word) => /^\+\d/.test(word))
    .map((value) => ({ type: 'PH' as const, value, key: value, ...bare }))
  const emails = words
    .filter((word) => word.includes('@'))
    .map((value) => ({ type: 'E' as const, value, key: value, ...bare }))
  const names = words.filter((word) => !/^\+\d|@/.test(word))
  const [first_name = '', ...rest] = names
  return { ...emptyDraft, first_name, last_name: rest.join(' '), details: [...phones, ...emails] }
}

const fill = (who: Tenant, texts: readonly string[]) => db.begin((tx) => add(tx, who.id, texts.map(draftOf)))

const find = async (who: Tenant, q: string, more = ''): Promise<string[]> => {
  const { status, body } = await call(who, 'GET', `/open/contacts/search?q=${encodeURIComponent(q)}${more}`)
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.count, body.contacts.length)
  return body.contacts.map((contact: { first_name: string; last_name: string }) =>
    `${contact.first_name} ${contact.last_name}`.trim(),
  )
}

const people = [
  'Ada Lovelace +447700900123 ada.king@analytical.example',
  'José García +34612345678 jose@correo.example',
  'Zoë Brontë +447700900456',
  'Łukasz Wałęsa +48512345678',
  'Grace Hopper +12025550123 grace@navy.example',
  "Conan O'Brien +12025550199",
  'Jean-Luc Picard +33612345678',
  'Jonathan Smith +447700900789',
  'Jon Smyth +447700901111',
  '王小明 +8613812345678',
  'Иван Йовков +359888123456',
  'प्रिया शर्मा +919812345678',
  'Room 101 front@desk.example',
  'Mary Seacole +442079460958',
]

const ada = await tenant()
await fill(ada, people)

const table: [why: string, q: string, names: string[]][] = [
  ['a name', 'Lovelace', ['Ada Lovelace']],
  ['letter case', 'aDA', ['Ada Lovelace']],
  ['the beginning of a word', 'lovel', ['Ada Lovelace']],
  ['a single letter', 'z', ['Zoë Brontë']],
  ['a part within a word', 'velac', ['Ada Lovelace']],
  ['words in any order', 'lovelace ada', ['Ada Lovelace']],
  ['no accents for accents', 'jose garcia', ['José García']],
  ['accents for none', 'Grâce Höpper', ['Grace Hopper']],
  ['other Latin letters', 'lukasz walesa', ['Łukasz Wałęsa']],
  ['a decomposed accent', 'Bronte\u0308', ['Zoë Brontë']],
  ['an apostrophe', 'obrien', ["Conan O'Brien"]],
  ['a hyphen', 'jean luc', ['Jean-Luc Picard']],
  ['a letter left out', 'lovlace', ['Ada Lovelace']],
  ['a letter too many', 'lovellace', ['Ada Lovelace']],
  ['another letter', 'hoppar', ['Grace Hopper']],
  ['letters swapped', 'loevlace', ['Ada Lovelace']],
  ['a typo in both words', 'garce hoper', ['Grace Hopper']],
  ['a typo before the end is typed', 'lovlac', ['Ada Lovelace']],
  ['a sign of a script without spaces', '小明', ['王小明']],
  ['Cyrillic', 'йов', ['Иван Йовков']],
  ['marks that are letters', 'शर्मा', ['प्रिया शर्मा']],
  ['a whole number', '+447700900123', ['Ada Lovelace']],
  ['the middle of a number', '0090045', ['Zoë Brontë']],
  ['the end of a number', '0199', ["Conan O'Brien"]],
  ['a number as it is written', '(202) 555-0123', ['Grace Hopper']],
  ['a national number', '07700 900 789', ['Jonathan Smith']],
  ['a number with the national zero in brackets', '+44 (0)20 7946 0958', ['Mary Seacole']],
  ['the beginning of a number with the national zero', '+44 (0)20 79', ['Mary Seacole']],
  ['a number with 00', '0034 612 34', ['José García']],
  ['a name and digits', 'smith 0789', ['Jonathan Smith']],
  ['digits in a name', 'room 101', ['Room 101']],
  ['a whole e-mail address', 'ada.king@analytical.example', ['Ada Lovelace']],
  ['a part of an e-mail address', 'analyt', ['Ada Lovelace']],
  ['a domain', '@navy.example', ['Grace Hopper']],
  ['what is not there', 'quixote', []],
  ['a word that is not there beside one that is', 'ada quixote', []],
  ['two digits', '99', []],
  ['punctuation alone', '?! %', []],
]
for (const [why, q, names] of table)
  test(`search: ${why} (${q})`, async () => {
    assert.deepEqual(await find(ada, q), names)
  })

test('search: exact matches rank first, then prefixes, then near ones', async () => {
  assert.deepEqual(await find(ada, 'jon'), ['Jon Smyth', 'Jonathan Smith'])
  assert.deepEqual(await find(ada, 'smith'), ['Jonathan Smith', 'Jon Smyth'])
})

test('search: accepts either parameter name, returns at most the limit, and without a query finds all', async () => {
  const { body } = await call(ada, 'GET', '/open/contacts/search?query=lovelace')
  assert.equal(body.contacts[0].first_name, 'Ada')
  assert.equal((await find(ada, '770090', '&results_per_page=2')).length, 2)
  assert.equal((await find(ada, '770090', '&per_page=1')).length, 1)
  const all = (await call(ada, 'GET', '/open/contacts')).body.total
  for (const path of ['', '?q=', '?query='])
    assert.equal((await call(ada, 'GET', `/open/contacts/search${path}`)).body.total, all)
  assert.equal((await call(ada, 'GET', '/open/contacts/search?q=ada&per_page=101')).status, 400)
})

test('search: another account’s contacts are never found', async () => {
  const bob = await tenant()
  for (const [, q] of table) assert.deepEqual(await find(bob, q), [])
  await fill(bob, ['Ada Byron +447700900123'])
  assert.deepEqual(await find(bob, 'ada'), ['Ada Byron'])
  assert.deepEqual(await find(ada, 'byron'), [])
})

test('search: a changed contact is found by its new content, and a deleted one is not found', async () => {
  const who = await tenant()
  const [contact] = await fill(who, ['Augusta Byron +447700900321 gus@example.com'])
  const path = `/open/contacts/CON${contact?.id}`
  await call(who, 'PUT', path, { first_name: 'Ada', contact_details: [{ type: 'PH', value: '+12025550111' }] })
  assert.deepEqual(await find(who, 'augusta'), [])
  assert.deepEqual(await find(who, '900321'), [])
  assert.deepEqual(await find(who, 'gus'), [])
  assert.deepEqual(await find(who, '555011'), ['Ada Byron'])
  await call(who, 'DELETE', path)
  assert.deepEqual(await find(who, 'ada'), [])
})

test('search: an exact match ranks first among very many similar ones', async () => {
  const who = await tenant()
  const many = Array.from({ length: 1000 }, (_, i) => `Maria${'abcdefghij'[i % 10]} Garcia${i} +3461${2_000_000 + i}`)
  await fill(who, [...many, 'Mari Garcia +34699999999'])
  assert.equal((await find(who, 'mari'))[0], 'Mari Garcia')
  assert.equal((await find(who, 'm')).length, 50)
  assert.equal((await find(who, '346', '&per_page=100')).length, 100)
  // A lookup that the sample satisfies stops there; otherwise it reads all.
  const look = (most: number) => {
    const query = (isSample: boolean) => nearQuery(makeHash(who.id, isSample), parseQuery('maria'))
    return findByGrams(db, who.id, query(false), query(true), most)
  }
  const isSampled = ({ id }: { id: string }) => Number.parseInt(id.slice(-2), 16) % 64 === 0
  const few = await look(2)
  assert.ok(few.length === 2 && few.every(isSampled))
  // 'mari' is a near match as well.
  const all = await look(2000)
  assert.equal(new Set(all.map(({ id }) => id)).size, 1001)
  assert.ok(all.some((row) => !isSampled(row)))
})

test('search: each word finds its name with any one letter changed', async () => {
  const who = await tenant()
  const letters = 'abcdefghijklmnopqrstuvwxyz'
  const word = fc.string({ unit: fc.constantFrom(...letters), minLength: 5, maxLength: 12 })
  const seed = Number(process.env.TRUNKLINE_TEST_SEED ?? Date.now() % 1_000_000)
  console.log(`seed ${seed}`)
  const names = fc.sample(fc.tuple(word, word), { seed, numRuns: 60 })
  await fill(
    who,
    names.map(([first, last]) => `${first} ${last}`),
  )
  const typo = fc.record({ who: fc.nat(59), at: fc.nat(4), what: fc.constantFrom('drop', 'swap', 'change', 'add') })
  for (const { who: n, at, what } of fc.sample(typo, { seed, numRuns: 60 })) {
    const [first = '', last = ''] = names[n] ?? []
    const [before, after] = [first.slice(0, at), first.slice(at)]
    const changed = {
      drop: before + after.slice(1),
      swap: before + after.slice(1, 2) + after.slice(0, 1) + after.slice(2),
      change: `${before}q${after.slice(1)}`,
      add: `${before}q${after}`,
    }[what]
    const found = await find(who, changed, '&per_page=100')
    assert.ok(found.includes(`${first} ${last}`), `${changed} did not find ${first} ${last}`)
    assert.ok((await find(who, last)).includes(`${first} ${last}`))
  }
})
