import assert from 'node:assert/strict'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { type Answer, makeWorld } from '../../../../test/world.ts'
import { loadCatalogue } from '../catalogue/load-catalogue.ts'

const world = await makeWorld()
await loadCatalogue(world.db)
await world.app.listen({ host: '127.0.0.1', port: 0 })
const { port } = world.app.server.address() as AddressInfo // it listens on TCP
const { db, call } = world

const send = async (csv: string, query = ''): Promise<Pick<Answer, 'status' | 'body'>> => {
  const headers = { 'x-operator-key': world.operatorKey, 'content-type': 'text/csv' }
  const url = `http://127.0.0.1:${port}/operator/inventory/import${query}`
  const answer = await fetch(url, { method: 'POST', headers, body: csv })
  return { status: answer.status, body: await answer.json() }
}

const groupOf = async (number: string) =>
  (await db.one<{ group_id: string }>`select group_id from numbers where number = ${number}`).group_id

const everything = async () => [
  await db.many`select number from numbers`,
  await db.many`select id, prefix, monthly_price, offered from number_groups order by id`,
  await db.many`select * from number_stock order by group_id`,
  await db.many`select * from number_prices`,
]

test('imported numbers are found, sold with the features of the file, and have the time zone of their place', async () => {
  const { status, body } = await send(
    [
      '\ufeffNumber,country,type,region,city,group,features,setup_price,monthly_price,ppm',
      '+442079460001,gb,local,,london,,,2,1.50,0.01',
      '442079460002,GB,LOCAL,,London,,,2,1.50,0.01',
      '"+442079460003", GB ,local,Greater London,London,Gold,voice|sms_in,100,9,0',
      '',
      '+12135550101,US,local,US-CA,Los Angeles,,voice|sms_in|sms_out,0,1,0',
      '+61491570156,AU,mobile,,,,,0,4,0',
    ].join('\r\n'),
  )
  assert.deepEqual([status, body.lines, body.imported, body.groups], [201, 5, 5, 4], JSON.stringify(body))

  const ada = await world.tenant()
  const search = async (query: string) => (await call(ada, 'GET', `/open/numbers/groups?${query}`)).body.data.groups
  const own = (await search('country=GB&city_name_or_prefix=london')).filter(({ id }: { id: string }) =>
    /^own-/.test(id),
  )
  const london = own.find(({ location }: { location: string }) => location === 'London')
  assert.equal(own.length, 2)
  assert.deepEqual([london.prefix, london.location, london.available_count], ['20', 'London', 2])
  assert.deepEqual(london.price, { setup_price: '2.00', monthly_price: '1.50', ppm: '0.01' })
  const [gold] = await search('country=GB&city_name_or_prefix=Gold')
  assert.deepEqual(gold.features, ['voice', 'sms_in', 'msgapp_business'])
  const [mobile] = (await search('country=AU&did_type=mobile')).filter(({ id }: { id: string }) => /^own-/.test(id))
  assert.deepEqual(mobile.features, ['voice', 'sms_in', 'sms_out', 'msgapp', 'msgapp_business'])

  for (const [number, zone, channel] of [
    ['+442079460001', 'Europe/London', [true, true]],
    ['+12135550101', 'America/Los_Angeles', [true, true]],
    ['+61491570156', 'Australia/Sydney', [true, true]],
  ] as const) {
    const bought = await call(ada, 'POST', '/open/numbers/purchase', { number })
    assert.equal(bought.status, 201, JSON.stringify(bought.body))
    assert.equal(bought.body.data.numbers[0].timezone, zone)
    const { channels } = (await call(ada, 'GET', '/open/sms/channels')).body
    const found = channels.find((one: { phone_number: string }) => one.phone_number === number)
    assert.deepEqual([found?.supports_sms_in, found?.supports_sms_out], channel)
  }
  assert.equal((await call(ada, 'POST', '/open/numbers/purchase', { group_id: gold.id })).status, 402)
})

test('a number of a named group has the region of its place, not the name of the group', async () => {
  const { status } = await send(
    [
      'number,country,type,city,group,monthly_price',
      '+442079460101,GB,local,,Platinum,1',
      '+442079460102,GB,local,London,Palladium,1',
    ].join('\n'),
  )
  assert.equal(status, 201)
  const ada = await world.tenant()
  const regionOf = async (number: string) => {
    const bought = await call(ada, 'POST', '/open/numbers/purchase', { number })
    assert.equal(bought.status, 201, JSON.stringify(bought.body))
    return bought.body.data.numbers[0].region_name
  }
  assert.equal(await regionOf('+442079460101'), 'United Kingdom')
  assert.match(await regionOf('+442079460102'), /London|England/)
})

test('a later file adds to the groups of an earlier one, and may omit their prices', async () => {
  const added = await send('country,number,type,city\nGB,+442079460004,local,London\nGB,+442079460005,local,London')
  assert.deepEqual([added.status, added.body.groups], [201, 1], JSON.stringify(added.body))
  assert.equal(await groupOf('+442079460004'), await groupOf('+442079460002'))
  const wrong = await db.many`
    select s.group_id from number_stock s left join numbers n on n.group_id = s.group_id and n.state = 'free'
    where s.group_id like 'own-%' group by s.group_id, s.free having s.free <> count(n.number)`
  assert.deepEqual(wrong, [])
})

test('every bad line is listed with its number and all its faults, and nothing is imported', async () => {
  const before = await everything()
  const { status, body } = await send(
    [
      'number,country,type,region,city,group,features,monthly_price',
      '+442079461001,GB,local,,London,,,1.50', // good
      '12,ZZ,local,,,,,1', // 3
      '+4930123456,GB,local,,London,,,1.50',
      '+442079461002,GB,landline,Nowhere,,,fax,1.5x', // 5
      '',
      '+442079460001,GB,local,,London,,,1.50', // 7: sold already
      '+442079461001,GB,local,,London,,,1.50', // 8: line 2 has it
      '+442079461003,GB,local,,London,,,2.50', // 9: another price
      '+442079461004,GB,local,,London,,', // 10: a field too few
      '+442079461005,GB,tollfree,,,,,', // 11: no price anywhere
      '+442079461006,GB,local,Scotland,London,,,1.50', // 12
      `+442079461007,GB,local,,London,${'x'.repeat(61)},,1.50`,
    ].join('\n'),
  )
  assert.equal(status, 400)
  const errors = new Map<number, string>(
    body.lines.map((one: { line: number; error: string }) => [one.line, one.error]),
  )
  assert.deepEqual([...errors.keys()], [3, 4, 5, 7, 8, 9, 10, 11, 12, 13])
  assert.deepEqual([body.bad_lines, body.error_code, body.success], [10, 'invalid_csv', false])
  for (const [line, ...words] of [
    [3, 'number must be E.164', 'country must be'],
    [4, 'is not a number of GB'],
    [5, 'type must be one of', 'region "Nowhere"', 'features must be of', 'monthly_price must be a decimal'],
    [7, '+442079460001 is in the inventory already'],
    [8, '+442079461001 already appears on line 2'],
    [9, 'differs from line 2'],
    [10, 'there are 7 fields, but 8 in the header'],
    [11, 'GB tollfree numbers have no price'],
    [12, 'city "London" is not one of Scotland'],
    [13, 'at most 60 characters'],
  ] as const)
    for (const word of words) assert.ok(errors.get(line)?.includes(word), `line ${line}: ${errors.get(line)}`)
  assert.match(body.error_message, /^Nothing was imported: 10 bad of 11 lines; line 3: number must be/)
  assert.deepEqual(await everything(), before)
  const stored = await call('operator', 'GET', `/operator/inventory/imports/${body.import_uuid}`)
  assert.deepEqual(stored.body.lines, body.lines)
  assert.deepEqual([stored.body.import.state, stored.body.import.imported], ['refused', 0])
  assert.deepEqual(await db.many`select * from number_import_lines`, [])
})

test('a bad header is reported column by column', async () => {
  const { status, body } = await send('numbr,country,type,country\n+442079461001,GB,local,GB\n')
  assert.equal(status, 400)
  const [{ line, error }] = body.lines
  assert.equal(line, 1)
  assert.match(
    error,
    /no column "numbr"; did you mean number\?; the column country appears twice; the column number is missing/,
  )
  assert.match((await send('')).body.error_message, /must be CSV|is empty/)
  assert.match((await send('number,country,type\n')).body.error_message, /no lines below the head/)
  assert.match((await send('number,country,type\n"+442079461001,GB,local\n')).body.error_message, /Quote Not Closed/)
})

test('any bytes get a readable answer with no overlong quotes', async () => {
  const { status, body } = await send(
    `number,country,type,group\n\0,GB,local,\n+442079461001,G\0,${'x'.repeat(9000)},\ud800\n`,
  )
  assert.equal(status, 400)
  assert.equal(body.lines.length, 2)
  for (const { error } of body.lines) assert.ok(!error.includes('\0') && error.length <= 500)
})

test('the first 1,000 bad lines are listed, and all are counted', async () => {
  const lines = Array.from({ length: 25_000 }, (_, i) =>
    i % 2 ? '+4420,GB,local,1' : `+4420794${20_000 + i},GB,local,1`,
  )
  const { status, body } = await send(`number,country,type,monthly_price\n${lines.join('\n')}`)
  assert.deepEqual([status, body.bad_lines, body.lines.length], [400, 12_500, 1000])
  assert.deepEqual(
    body.lines.map((one: { line: number }) => one.line),
    Array.from({ length: 1000 }, (_, i) => 3 + 2 * i),
  )
})

test('a dry run validates every line and changes nothing', async () => {
  const before = await everything()
  const good = await send('number,country,type,monthly_price\n+442079461001,GB,local,1\n', '?dry_run=true')
  assert.deepEqual([good.status, good.body.lines, good.body.imported], [201, 1, 0])
  assert.equal((await send('number,country,type\n+44,GB,local\n', '?dry_run=true')).status, 400)
  assert.deepEqual(await everything(), before)
})

test('an import shows its progress, and an interrupted import leaves nothing', async () => {
  const before = await everything()
  const upload = request({
    port,
    method: 'POST',
    path: '/operator/inventory/import',
    headers: { 'x-operator-key': world.operatorKey, 'content-type': 'text/csv' },
  })
  upload.on('error', () => {})
  upload.write('number,country,type,monthly_price\n')
  for (let i = 0; i < 30_000; i++) upload.write(`+4420795${10_000 + i},GB,local,1\n`)
  const newest = async () => (await call('operator', 'GET', '/operator/inventory/imports')).body.imports[0]
  await until(async () => (await newest()).state === 'reading' && (await newest()).lines >= 20_000)
  upload.destroy()
  await until(async () => (await newest()).state === 'failed')
  assert.deepEqual(await everything(), before)
  await until(async () => (await db.many`select 1 from number_import_lines limit 1`).length === 0)
})

test('numbers that enter the inventory while a file is read are reported as bad lines', async () => {
  const upload = request({
    port,
    method: 'POST',
    path: '/operator/inventory/import',
    headers: { 'x-operator-key': world.operatorKey, 'content-type': 'text/csv' },
  })
  const answer = new Promise<Answer['body']>((resolve) => {
    upload.on('response', async (response) => resolve(await json(response)))
  })
  upload.write('number,country,type,monthly_price\n')
  for (let i = 0; i < 12_000; i++) upload.write(`+4420796${10_000 + i},GB,local,1\n`)
  await until(
    async () => (await call('operator', 'GET', '/operator/inventory/imports')).body.imports[0].lines >= 10_000,
  )
  await send('number,country,type,monthly_price\n+442079610007,GB,local,1\n')
  const before = await everything()
  upload.end()
  const { lines, bad_lines } = await answer
  assert.deepEqual([lines, bad_lines], [[{ line: 9, error: '+442079610007 is in the inventory already' }], 1])
  assert.deepEqual(await everything(), before)
})

test('an abandoned import counts as failed, and the next import clears its lines', async () => {
  const id = '01a1fcca-93ab-7cbc-9f10-be702f775479'
  await db.run`insert into number_imports (id, dry_run, touched_at) values (${id}, false, now() - interval '11 minutes')`
  await db.run`insert into number_import_lines values (${id}, '+442079461001', 2, 1)`
  assert.equal((await call('operator', 'GET', `/operator/inventory/imports/IMP${id}`)).body.import.state, 'failed')
  assert.equal((await send('number,country,type,monthly_price\n+442079461001,GB,local,1\n')).status, 201)
  assert.deepEqual(await db.many`select * from number_import_lines`, [])
})
