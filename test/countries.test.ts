import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Static } from 'typebox'
import { loadCatalogue, stockSandbox } from '../src/domains/numbers/catalogue/load-catalogue.ts'
import * as c from '../src/domains/numbers/contract.ts'
import type { Contract, refusalsOf } from '../src/platform/http/endpoint.ts'
import { problems } from '../src/platform/http/problem.ts'
import { answerFault } from './recipes/answer.ts'
import type { Request } from './recipes/recipe.ts'
import { send } from './recipes/send.ts'
import { makeWorld, type Tenant } from './world.ts'

// Finding and buying a number through every endpoint of the API, country by country. Each answer is checked against its
// contract.

const long = process.env.TRUNKLINE_TEST_LONG === '1'
const world = await makeWorld()
let buyer: Tenant

before(async () => {
  await loadCatalogue(world.db)
  await world.db.begin(stockSandbox)
  buyer = await world.tenant({ balance: '1000000' })
})

/** Calls an endpoint that must succeed. */
const ask = async <const C extends Contract>(contract: C, request: Request = {}): Promise<Static<C['reply']>> => {
  const answer = await send(world, contract, buyer, request)
  const fault = answerFault(contract, answer)
  assert.equal(fault ?? answer.status, contract.status, `${contract.id} ${JSON.stringify(request)}: ${answer.text}`)
  return answer.body as Static<C['reply']> // answerFault has just checked that schema
}

/** Calls an endpoint that must refuse. @returns its error_code */
const refused = async (contract: Contract, request: Request, why: keyof ReturnType<typeof refusalsOf>) => {
  const answer = await send(world, contract, buyer, request)
  assert.equal(answerFault(contract, answer), null)
  assert.equal(answer.status, problems[why].status, `${contract.id} ${JSON.stringify(request)}: ${answer.text}`)
}

type Group = Static<typeof c.listGroups.reply>['data']['groups'][number]

/** Reserves one number of the group and buys it. */
const shop = async ({ id, type, iso_country_code, features, price, allow_number_selection }: Group, code: string) => {
  const found = allow_number_selection ? await ask(c.listAvailable, { query: { group_id: id } }) : null
  if (!allow_number_selection) await refused(c.listAvailable, { query: { group_id: id } }, 'invalid')
  const number = found?.data.numbers[0]?.number
  const wish = { group_id: id, ...(number ? { number } : {}) }
  const held = (await ask(c.reserveNumber, { body: wish })).data.reservation_details
  assert.ok(held.number.startsWith(`+${code}`), `${held.number} is of ${iso_country_code}`)
  if (number) assert.equal(held.number, number)
  await refused(c.reserveNumber, { body: { group_id: id, number: held.number } }, 'conflict')
  const [listed, ...others] = (await ask(c.listReservations)).data.reservations
  assert.equal(others.length, 0)
  assert.deepEqual([listed?.uuid, listed?.did_type, listed?.iso_country_code], [held.uuid, type, iso_country_code])
  const { purchased, failed, data } = await ask(c.purchaseNumber, { body: { number: held.number } })
  assert.deepEqual([purchased, failed], [[held.number], []])
  const [own] = data.numbers
  assert.equal(own?.iso_country_code, iso_country_code)
  assert.equal(own.is_toll_free, type === 'tollfree')
  assert.ok(features.includes('voice') && features.includes('msgapp_business'))
  assert.equal(features.includes('sms_out'), iso_country_code !== 'US')
  assert.equal(own.incoming_price_per_minute, Number(price.ppm))
  return own
}

/** Walks a country from its types and places to a purchased number, and releases it. */
const walk = async ({ iso_country_code: iso, prefix, did_types }: Country) => {
  const { regions } = (await ask(c.listRegions, { query: { country: iso } })).data
  assert.equal(regions.length > 0, ['US', 'CA', 'GB'].includes(iso), iso)
  const { cities } = (await ask(c.listCities, { query: { country: iso } })).data
  await ask(c.listRequirements, { query: { country: iso } })
  for (const region of regions.slice(0, 3)) {
    await ask(c.listCities, { query: { country: iso, region: region.id } })
    await ask(c.listGroups, { query: { country: iso, region_id: region.id } })
  }
  if (iso === 'US') await refused(c.listGroups, { query: { country: iso } }, 'invalid')
  const city = cities[Math.floor(cities.length / 2)]
  const place = city ? { city_id: city.id } : {}
  const near = (await ask(c.listGroups, { query: { country: iso, ...place } })).data.groups
  assert.ok(near.length > 0, `${iso} ${city?.city_name}`)
  if (city) {
    const named = await ask(c.listGroups, { query: { country: iso, city_name_or_prefix: city.city_name } })
    assert.ok(named.total > 0, `${iso} ${city.city_name}`)
  }
  const wide = iso === 'US' ? { city_name_or_prefix: '8' } : {}
  for (const type of did_types) {
    const { groups } = (await ask(c.listGroups, { query: { country: iso, did_type: type, ...wide } })).data
    for (const one of groups) assert.equal(one.type, type)
    assert.ok(groups.length > 0, `${iso} ${type}`)
  }
  const [first] = near
  assert.ok(first)
  const own = await shop(first, prefix)
  await ask(c.getVirtualNumber, { params: { virtual_number_uuid: own.uuid } })
  await ask(c.deleteVirtualNumber, { params: { virtual_number_uuid: own.uuid } })
}

type Country = Static<typeof c.listCountries.reply>['data']['countries'][number]

/** Cities and their area codes, from the national numbering plans. */
const known: Record<string, [prefix: string, city: string][]> = {
  US: [
    ['213', 'Los Angeles'],
    ['212', 'New York'],
    ['312', 'Chicago'],
  ],
  CA: [
    ['416', 'Toronto'],
    ['514', 'Montreal'],
  ],
  GB: [
    ['020', 'London'],
    ['0161', 'Manchester'],
  ],
  DE: [
    ['030', 'Berlin'],
    ['089', 'Munich'],
  ],
  BR: [
    ['11', 'São Paulo'],
    ['21', 'Rio de Janeiro'],
  ],
  JP: [
    ['03', 'Tokyo'],
    ['06', 'Osaka'],
  ],
  FR: [['01', 'Paris']],
  IT: [['06', 'Rome']],
  ES: [['91', 'Madrid']],
  NL: [['020', 'Amsterdam']],
  IN: [
    ['011', 'New Delhi'],
    ['022', 'Mumbai'],
  ],
  MX: [['55', 'Mexico City']],
  AR: [['11', 'Buenos Aires']],
  ZA: [['021', 'Cape Town']],
  PL: [['22', 'Warsaw']],
  CH: [['044', 'Zurich']],
  AT: [['01', 'Vienna']],
  SE: [['08', 'Stockholm']],
  TR: [['0212', 'Istanbul']],
  EG: [['02', 'Cairo']],
  KR: [['02', 'Seoul']],
  CN: [['010', 'Beijing']],
  IE: [['01', 'Dublin']],
  PT: [['21', 'Lisbon']],
  CZ: [['2', 'Prague']],
  IL: [['03', 'Tel Aviv']],
  NZ: [['09', 'Auckland']],
  UA: [['044', 'Kyiv']],
  GR: [['21', 'Athens']],
  HU: [['1', 'Budapest']],
  FI: [['09', 'Helsinki']],
  TH: [['02', 'Bangkok']],
  VN: [['024', 'Hanoi']],
  KE: [['020', 'Nairobi']],
  SA: [['011', 'Riyadh']],
  AE: [['04', 'Dubai']],
  PK: [['021', 'Karachi']],
}

test('in each country a number can be found by place, bought and released', async (t) => {
  const { countries } = (await ask(c.listCountries)).data
  await ask(c.listTypes)
  const named = countries.filter(({ iso_country_code: iso }) => iso in known)
  assert.equal(named.length, Object.keys(known).length)
  const others = countries.filter((one) => !named.includes(one))
  // The long form covers every country; the short form every sixth of those without a city named above.
  const walked = [...named, ...others.filter((_, i) => long || i % 6 === 0)]
  for (const country of walked) await walk(country)
  assert.equal((await ask(c.listVirtualNumbers)).total, 0)
  t.diagnostic(`${walked.length} countries`)
  assert.ok(walked.length >= 60)
})

test('cities are found by their real area codes, and their numbers begin with them', async () => {
  const { countries } = (await ask(c.listCountries)).data
  for (const [iso, places] of Object.entries(known)) {
    const country = countries.find((one) => one.iso_country_code === iso)
    assert.ok(country, iso)
    for (const [prefix, city] of places) {
      const byPrefix = await ask(c.listGroups, {
        query: { country: iso, city_name_or_prefix: prefix, did_type: 'local' },
      })
      const group = byPrefix.data.groups.find(({ location }) => location === city)
      assert.ok(group, `${iso} ${prefix}: ${byPrefix.data.groups.map(({ location }) => location)}`)
      const byName = await ask(c.listGroups, { query: { country: iso, city_name_or_prefix: city } })
      assert.ok(
        byName.data.groups.some(({ id }) => id === group.id),
        `${iso} ${city}`,
      )
      const own = await shop(group, country.prefix)
      const bare = iso === 'IT' ? prefix : prefix.replace(/^0/, '')
      assert.ok(own.phone_number.startsWith(`+${country.prefix}${bare}`), `${own.phone_number} is of ${city}`)
    }
  }
})
