import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCatalogue, readRequirements } from '../catalogue-files.ts'

const rows = readRequirements()
const { groups } = readCatalogue()

/** The requirements of a country, without their sources. */
const requirementsBy = (iso: string) =>
  JSON.stringify(
    rows
      .filter(([, country]) => country === iso)
      .map(([, , type, kind, text, documents]) => [type, kind, text, documents]),
  )

const countries = [...new Set(rows.map(([, iso]) => iso))]

test('every requirement names its source, the source’s address, and a past date', () => {
  assert.ok(rows.length >= 60, `saw only ${rows.length}`)
  assert.equal(new Set(rows.map(([id]) => id)).size, rows.length, 'an id appears twice')
  for (const [id, , , kind, description, documents, source, address, date] of rows) {
    assert.ok(['identity', 'address', 'proof'].includes(kind), `${id}`)
    assert.ok(source.length >= 15 && description.endsWith('.'), `${id}: ${source}`)
    assert.ok(URL.canParse(address) && /^https?:/.test(address), `${id}: ${address}`)
    assert.ok(
      date > '2000' && date <= new Date().toISOString().slice(0, 10) && !Number.isNaN(Date.parse(date)),
      `${id}: ${date}`,
    )
    assert.equal(new Set(documents).size, documents.length, `${id}`)
    if (kind === 'proof') assert.ok(documents.length > 0, `${id} is a proof by no document`)
  }
})

test('no two countries have identical requirements: copies without research are refused', () => {
  const sets = new Map<string, string>()
  for (const iso of countries) {
    const other = sets.get(requirementsBy(iso))
    assert.equal(other, undefined, `${iso} has the same requirements as ${other}`)
    sets.set(requirementsBy(iso), iso)
  }
  assert.ok(sets.size >= 20, `only ${sets.size} differ`)
})

test('there are no requirements for numbers that are not on offer, for the US, for Canada, and for British mobile numbers', () => {
  const offered = new Set(groups.map(([iso, type]) => `${iso} ${type}`))
  assert.deepEqual(
    rows.filter(([, iso, type]) => !offered.has(`${iso} ${type}`)),
    [],
  )
  assert.deepEqual(
    rows.filter(([, iso, type]) => iso === 'US' || iso === 'CA' || (iso === 'GB' && type === 'mobile')),
    [],
  )
})
