import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openShop } from '../testing.ts'

let shop: Awaited<ReturnType<typeof openShop>>
let open: Awaited<ReturnType<typeof shop.customer>>

before(async () => {
  shop = await openShop()
  open = await shop.customer()
})
after(() => shop.close())

type Row = { [key: string]: unknown }

/** The list under `data`. */
const rows = async (url: string, name: string): Promise<Row[]> => {
  const { status, body } = await open.call('GET', url)
  assert.equal(status, 200, JSON.stringify(body))
  const { data } = body as { data: { [name: string]: Row[] } }
  return data[name] ?? []
}
const groups = (query: string) => rows(`/open/numbers/groups?${query}`, 'groups')

test('every country has types on offer, and at least 60 countries have local and mobile numbers', async () => {
  const countries = await rows('/open/numbers/countries', 'countries')
  assert.ok(countries.length >= 100)
  const types = countries.map((row) => row.did_types as string[])
  assert.ok(types.every((list) => list.length > 0))
  assert.ok(types.filter((list) => list.includes('local') && list.includes('mobile')).length >= 60)
  assert.deepEqual(countries.find((row) => row.iso_country_code === 'GB')?.prefix, '44')
})

test('US, CA and GB have regions, other countries none, and an unknown country is refused', async () => {
  for (const [iso, name] of [
    ['US', 'California'],
    ['us', 'Puerto Rico'],
    ['CA', 'Quebec'],
    ['GB', 'Scotland'],
  ]) {
    const regions = await rows(`/open/numbers/regions?country=${iso}`, 'regions')
    assert.ok(
      regions.some((row) => row.region_name === name && Number.isInteger(row.id)),
      `${iso} ${name}`,
    )
  }
  assert.deepEqual(await rows('/open/numbers/regions?country=DE', 'regions'), [])
  for (const url of [
    'regions?country=ZZ',
    'cities?country=ZZ',
    'groups?country=ZZ',
    'requirements?country=ZZ',
    'regions',
  ])
    assert.equal((await open.call('GET', `/open/numbers/${url}`)).status, 400, url)
})

test('toll-free numbers are found with and without a region of their country', async () => {
  const [region] = await rows('/open/numbers/regions?country=US', 'regions')
  const [other] = await rows('/open/numbers/regions?country=CA', 'regions')
  const all = await groups('country=US&did_type=tollfree')
  assert.ok(all.length > 0)
  assert.deepEqual(await groups(`country=US&did_type=tollfree&region_id=${region?.id}`), all)
  for (const unknown of [other?.id, 2_147_483_647])
    assert.deepEqual(await groups(`country=US&did_type=tollfree&region_id=${unknown}`), [])
})

test('cities of a region are among those of its country, and each leads to groups', async () => {
  const england = (await rows('/open/numbers/regions?country=GB', 'regions')).find(
    (row) => row.region_name === 'England',
  )
  const all = await rows('/open/numbers/cities?country=GB', 'cities')
  const english = await rows(`/open/numbers/cities?country=GB&region=${england?.id}`, 'cities')
  const london = english.find((row) => row.city_name === 'London')
  assert.ok(london && english.length > 50 && english.length < all.length)
  assert.equal((await groups(`country=GB&city_id=${london.id}`))[0]?.prefix, '20')
  assert.ok((await groups(`country=GB&region_id=${england?.id}`)).some((row) => row.location === 'London'))
})

test('the six types are listed', async () => {
  const types = await rows('/open/numbers/did-types', 'did_types')
  assert.deepEqual(
    types.map((row) => row.name),
    ['global', 'local', 'mobile', 'national', 'sharedcost', 'tollfree'],
  )
})

test('requirements match the country and type and have a source; there are none for the US and for mobile numbers of GB', async () => {
  assert.deepEqual(await rows('/open/numbers/requirements?country=US', 'requirements'), [])
  assert.deepEqual(await rows('/open/numbers/requirements?country=GB&did_type=3', 'requirements'), [])
  assert.equal((await open.call('GET', '/open/numbers/requirements?country=GB&did_type=9')).status, 400)
  const german = await rows('/open/numbers/requirements?country=DE', 'requirements')
  const local = await rows('/open/numbers/requirements?country=DE&did_type=local', 'requirements')
  assert.deepEqual(local.map((row) => row.kind).sort(), ['address', 'identity', 'proof'])
  assert.ok(german.length > local.length)
  for (const row of german) assert.match(`${row.source} ${row.source_date}`, /https:\S+ \d{4}-\d\d-\d\d$/)
  const [berlin] = await groups('country=DE&city_name_or_prefix=Berlin&did_type=local')
  assert.deepEqual(berlin?.requirements, local)
})

test('the US requires a region, a city or a prefix', async () => {
  const { status, body } = await open.call('GET', '/open/numbers/groups?country=US')
  assert.equal(status, 400)
  assert.match(String(body.error_message), /region/)
  assert.equal((await groups('country=US&city_name_or_prefix=213'))[0]?.location, 'Los Angeles')
})

test('a city is found with and without its accents, by the beginning of any of its words, in any case', async () => {
  for (const name of ['São Paulo', 'sao paulo', 'SAO PAU', 'paulo'])
    assert.ok(
      (await groups(`country=BR&city_name_or_prefix=${encodeURIComponent(name)}`)).some((row) => row.prefix === '11'),
      name,
    )
  assert.equal(
    (await groups('country=US&city_name_or_prefix=los%20angeles')).every((row) => row.location === 'Los Angeles'),
    true,
  )
  assert.deepEqual(await groups('country=GB&city_name_or_prefix=ondon'), [])
  assert.deepEqual(await groups('country=GB&city_name_or_prefix=%25'), [])
})

test('a prefix is found with and without the country code and the leading zero', async () => {
  for (const prefix of ['20', '020', '4420', '%2B4420', '004420', '%2B44%20(0)20', '2079'])
    assert.deepEqual(
      (await groups(`country=GB&city_name_or_prefix=${prefix}`)).map((row) => row.id),
      ['GB-local-20-london'],
      prefix,
    )
  for (const [iso, prefix, location] of [
    ['JP', '03', 'Tokyo'],
    ['JP', '%2B813', 'Tokyo'],
    ['DE', '30', 'Berlin'],
    ['IT', '06', 'Rome'],
    ['US', '1213', 'Los Angeles'],
  ])
    assert.ok(
      (await groups(`country=${iso}&city_name_or_prefix=${prefix}`)).some((row) => row.location === location),
      `${iso} ${prefix}`,
    )
  assert.deepEqual(await groups('country=GB&city_name_or_prefix=%2B4930'), [])
})

test('a group has its price in decimals, its features and its count of free numbers', async () => {
  const [mobile] = await groups('country=GB&did_type=mobile')
  for (const price of Object.values(mobile?.price ?? {})) assert.match(String(price), /^\d+\.\d{2,6}$/)
  assert.deepEqual(Object.keys(mobile?.price ?? {}), ['setup_price', 'monthly_price', 'ppm'])
  assert.deepEqual(mobile?.features, ['voice', 'sms_in', 'sms_out', 'msgapp', 'msgapp_business'])
  assert.deepEqual(mobile?.requirements, [])
  assert.equal(mobile?.allow_number_selection, true)
  assert.equal(mobile?.available_count, 60)
  const [la] = await groups('country=US&city_name_or_prefix=213')
  assert.deepEqual(la?.features, ['voice', 'msgapp_business'])
  assert.equal((await groups('country=GB&did_type=all')).length, (await groups('country=GB')).length)
})

test('groups are paged only on request', async () => {
  const all = await groups('country=GB')
  assert.ok(all.length > 100)
  assert.deepEqual(await groups('country=GB&per_page=3&page=1'), all.slice(3, 6))
  assert.deepEqual(await groups('country=GB&per_page=200&page=9'), [])
})

test('a search for nothing that a number can contain is refused, and does not return every number', async () => {
  await shop.group('stars', 3)
  for (const search of ['***', ' ', '\u00e9'])
    assert.equal(
      (await open.call('GET', `/open/numbers/available?group_id=stars&number_contains=${encodeURI(search)}`)).status,
      400,
    )
  assert.equal((await open.call('GET', '/open/numbers/available?group_id=stars&number_contains=')).body.total, 3)
})

test('free numbers are searched by digits and by the letters of a keypad, a page at a time', async () => {
  const numbers = await shop.group('vanity', 1000)
  const page = async (query: string) =>
    (await open.call('GET', `/open/numbers/available?group_id=vanity&${query}`)).body
  const found = await page('number_contains=VOL') // 865
  const matching = numbers.filter((number) => number.includes('865'))
  assert.equal(found.total, matching.length)
  const seen = new Set<string>()
  for (let i = 0; i < 6; i++) {
    const { count, total, data } = (await page(`per_page=200&page=${i}`)) as {
      count: number
      total: number
      data: { numbers: Row[] }
    }
    assert.equal(total, 1000)
    assert.equal(count, i < 5 ? 200 : 0)
    for (const row of data.numbers) seen.add(String(row.number))
  }
  assert.equal(seen.size, 1000)
})

test('free numbers are read to the end by cursor, and a search continues beyond what one request examines', async () => {
  const numbers = await shop.group('deep', 120)
  await shop.db.run`
    insert into numbers (number, group_id, shuffle)
    select '+441' || 990000000 + n, 'deep', (random() * 2147483647)::integer from generate_series(1, 45000) n`
  await shop.db.run`update number_stock set free = 45120 where group_id = 'deep'`
  type Page = { total: number; next_cursor?: string; data: { numbers: { number: string }[] } }
  const readAll = async (query: string) => {
    const seen: string[] = []
    const totals: number[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const url = `/open/numbers/available?group_id=deep&per_page=200${query}&cursor=${cursor}`
      const { status, body } = await open.call('GET', url)
      assert.equal(status, 200)
      const page = body as unknown as Page
      for (const { number } of page.data.numbers) seen.push(number)
      totals.push(page.total)
      cursor = page.next_cursor
    }
    return { seen, totals }
  }
  const all = await readAll('')
  assert.deepEqual([all.seen.length, new Set(all.seen).size, all.totals[0]], [45_120, 45_120, 45_120])
  const ending = numbers[7]?.slice(-6) ?? ''
  const matching = all.seen.filter((number) => number.includes(ending))
  const found = await readAll(`&number_contains=${ending}`)
  assert.deepEqual(found.seen, matching)
  assert.equal(found.totals.length, 3)
  assert.equal(
    found.totals.reduce((sum, one) => sum + one, 0),
    matching.length,
  )
  for (const cursor of ['x', '442079460000'])
    assert.equal((await open.call('GET', `/open/numbers/available?group_id=deep&cursor=${cursor}`)).status, 400)
})

test('free numbers of an unknown group, or of one without number selection, are not listed', async () => {
  const [national] = await groups('country=GB&did_type=national')
  assert.equal(national?.allow_number_selection, false)
  assert.equal((await open.call('GET', `/open/numbers/available?group_id=${national?.id}`)).status, 400)
  assert.equal((await open.call('GET', '/open/numbers/available?group_id=nowhere')).status, 404)
})

test('a place without free numbers is answered with cities that have some, those of the region first', async () => {
  const nearby = (query: string) => rows(`/open/numbers/groups?${query}`, 'nearby')
  const [leeds = {}] = (await rows('/open/numbers/cities?country=GB', 'cities')).filter(
    ({ city_name }) => city_name === 'Leeds',
  )
  const place = `country=GB&city_id=${leeds.id}`
  assert.deepEqual(await nearby(place), [], 'the city has numbers')
  const inLeeds = (await groups(place)).map(({ id }) => String(id))
  await shop.db.run`update number_stock set free = 0 where group_id = any (${inLeeds})`
  const cities = await nearby(place)
  assert.ok(cities.length > 1 && cities.length <= 10)
  assert.ok(cities.every(({ available_count }) => Number(available_count) > 0))
  assert.ok(cities.every(({ id }) => id !== leeds.id))
  const isNear = cities.map(({ same_region }) => same_region)
  assert.equal(isNear[0], true)
  assert.deepEqual(
    isNear,
    isNear.toSorted((a, b) => Number(b) - Number(a)),
    'the region comes first',
  )
  assert.deepEqual(await nearby('country=GB&city_name_or_prefix=Leeds'), cities)
  assert.deepEqual(await nearby('country=GB'), [], 'no place was named')
  const [city = {}] = cities
  assert.ok((await groups(`country=GB&city_id=${city.id}`)).length > 0)
})

test('prices name the sum of the purchase, and letters find numbers as on a keypad', async () => {
  const [number = ''] = await shop.group('GB-local-1632-vanity', 1)
  const found = await groups('country=GB&city_name_or_prefix=nowhere')
  const group = found.find(({ id }) => id === 'GB-local-1632-vanity')
  assert.deepEqual(
    [group?.price, group?.total_now],
    [{ setup_price: '1.00', monthly_price: '1.50', ppm: '0.005' }, '2.50'],
  )
  const hello = '+441632143556'
  await shop.db.run`update numbers set number = ${hello} where number = ${number}`
  for (const [letters, count] of [
    ['HELLO', 1],
    ['hel-lo', 1],
    ['43556', 1],
    ['WORLD', 0],
  ] as const)
    for (const field of ['contains', 'number_contains'])
      assert.equal(
        (await rows(`/open/numbers/available?group_id=GB-local-1632-vanity&${field}=${letters}`, 'numbers')).length,
        count,
        letters,
      )
})

test('one group is found by its id, in the US too, and a foreign country has it not', async () => {
  const [first] = await groups('country=US&city_name_or_prefix=212')
  const found = await groups(`country=US&group_id=${first?.id}`)
  assert.deepEqual(found, [first])
  assert.deepEqual(await groups(`country=GB&group_id=${first?.id}`), [])
})

test('numbers of an account are found by status, country, digits and name', async () => {
  const owner = await shop.customer()
  await owner.call('POST', '/open/numbers/purchase', { group_id: 'GB-mobile-74-united-kingdom', friendly_name: 'Desk' })
  const [row] = (await owner.call('GET', '/open/voip/virtual-numbers')).body.numbers as Row[]
  const number = String(row?.phone_number)
  const count = async (query: string) =>
    (await owner.call('GET', `/open/voip/virtual-numbers?${query}`)).body as { count: number; total: number }
  for (const [query, matches] of [
    [`q=${number.slice(4, 9)}`, 1],
    [`q=${encodeURIComponent(`${number.slice(0, 3)} ${number.slice(3, 7)}`)}`, 1],
    ['q=dES', 1],
    ['q=nothing', 0],
    [`status=${row?.status_text}&country=gb`, 1],
    ['status=SUSPENDED', 0],
    ['country=FR', 0],
  ] as const) {
    const { count: found, total } = await count(query)
    assert.deepEqual([found, total], [matches, matches], query)
  }
})
