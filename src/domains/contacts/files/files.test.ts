import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { parse as parseCsv } from 'csv-parse/sync'
import fc from 'fast-check'
import { parse as parseCards } from 'vcard4'
import { makeWorld, type Tenant } from '../../../../test/world.ts'

const { app, db, call, tenant } = await makeWorld()

type Detail = { type: string; value: string }
type ContactBody = {
  uuid: string
  first_name: string
  last_name: string
  profile_pic_url: string | null
  details: Detail[]
}

const send = async (who: Tenant, payload: string | Readable, type = 'text/csv', query = '') => {
  const headers = { 'x-user-api-key': who.key, 'content-type': type }
  const answer = await app.inject({ method: 'POST', url: `/open/contacts/import${query}`, headers, payload })
  return { status: answer.statusCode, body: answer.json() }
}

const exported = async (who: Tenant, format: string): Promise<string> =>
  (await call(who, 'GET', `/open/contacts/export?format=${format}`)).body

const all = async (who: Tenant): Promise<ContactBody[]> => {
  const found: ContactBody[] = []
  for (let page = 0; ; page++) {
    const { contacts } = (await call(who, 'GET', `/open/contacts?per_page=100&page=${page}`)).body
    found.push(...contacts)
    if (contacts.length < 100) return found
  }
}

/** Contacts without ids and times. */
const said = (contacts: readonly ContactBody[]) =>
  contacts.map(({ first_name, last_name, profile_pic_url, details }) => ({
    first_name,
    last_name,
    profile_pic_url,
    details: details.map(({ type, value }) => `${type} ${value}`).sort(),
  }))

const staged = async () =>
  (await db.one<{ rows: number }>`select count(*)::integer as rows from contact_import_entries`).rows

test('a CSV file is imported, and its contacts are published', async () => {
  const ada = await tenant()
  const file =
    '\ufefffirst_name,last_name,phone,phone_2,email,address,profile_pic_url,shoe size\r\n' +
    'Ada,Lovelace,+447700900123,"+1 (202) 555-0123",ada@example.com,"12 St James Square\nLondon",https://example.com/a.png,4\r\n' +
    '\r\n' +
    'Grace,,,,grace@navy.example,,,\r\n'
  const { status, body } = await send(ada, file)
  assert.deepEqual(
    [status, body],
    [
      201,
      {
        ...{ success: true, read: 2, created: 2, merged: 0, skipped: 0, bad_lines: 0, bad_details: 0, lines: [] },
        ...{ encoding: 'utf-8', ignored_columns: ['shoe size'] },
      },
    ],
  )
  assert.deepEqual(said(await all(ada)), [
    {
      first_name: 'Ada',
      last_name: 'Lovelace',
      profile_pic_url: 'https://example.com/a.png',
      details: ['A 12 St James Square\nLondon', 'E ada@example.com', 'PH +12025550123', 'PH +447700900123'],
    },
    { first_name: 'Grace', last_name: '', profile_pic_url: null, details: ['E grace@navy.example'] },
  ])
  const events = await db.many<{ name: string }>`select name from events where account_id = ${ada.id}`
  assert.deepEqual(
    events.map(({ name }) => name),
    ['contact.created', 'contact.created'],
  )
  assert.equal(await staged(), 0)
})

test('exports of address books are recognised by their column names', async () => {
  const files: [string, string][] = [
    [
      'First Name,Middle Name,Last Name,Labels,E-mail 1 - Label,E-mail 1 - Value,Phone 1 - Label,Phone 1 - Value,Phone 2 - Value',
      'Ada,King,Lovelace,* myContacts,* Home,ada@example.com,Mobile,+447700900123 ::: +447700900124,+447700900125',
    ],
    ['Name,Given Name,Family Name,Phone 1 - Value', 'Ada King Lovelace,,,+447700900123'],
    [
      'Title,First Name,Last Name,E-mail Address,E-mail 2 Address,Mobile Phone,Home Phone',
      'Lady,Ada King,Lovelace,ada@example.com,,,+447700900126',
    ],
    ['Company,Business Phone', 'Analytical Engines,+447700900127'],
  ]
  const ada = await tenant()
  for (const [head, line] of files) {
    const { status, body } = await send(ada, `${head}\n${line}\n`, 'text/csv', '?duplicates=create')
    assert.equal(status, 201, JSON.stringify(body))
  }
  assert.deepEqual(
    (await all(ada)).map(({ first_name, last_name, details }) => [first_name, last_name, details.length]),
    [
      ['Ada King', 'Lovelace', 4],
      ['Ada', 'King Lovelace', 1],
      ['Ada King', 'Lovelace', 2],
      ['Analytical', 'Engines', 1],
    ],
  )
})

test('one bad line rejects the file, and all bad lines are reported', async () => {
  const ada = await tenant()
  const file =
    'first_name,phone,email\nAda,+447700900123,\n,+447700900124,\nBob,07700 900125,bob\nZoë,,\nA\0a,+447700900126,\n'
  const { status, body } = await send(ada, file)
  assert.equal(status, 400)
  assert.equal(body.error_code, 'invalid_file')
  assert.equal(body.bad_lines, 4)
  assert.deepEqual(
    body.lines.map(({ line }: { line: number }) => line),
    [3, 4, 5, 6],
  )
  assert.match(body.lines[1].error, /07700 900125.*E\.164.*bob.*e-mail/)
  assert.deepEqual(await all(ada), [])
  assert.equal(await staged(), 0)
  const skipped = await send(ada, file, 'text/csv', '?bad_lines=skip')
  assert.deepEqual([skipped.status, skipped.body.created, skipped.body.bad_lines], [201, 1, 4])
})

test('a line with more fields than the head is rejected, and one with fewer or with a comma at its end is accepted', async () => {
  const ada = await tenant()
  const file =
    'first_name,phone,email\nAda,+447700900123\nLovelace, Bob,+447700900124,bob@example.com\nZoë,+447700900125,z@example.com,\n'
  const { status, body } = await send(ada, file)
  assert.deepEqual([status, body.error_code, body.bad_lines], [400, 'invalid_file', 1])
  assert.deepEqual(
    body.lines.map(({ line, error }: { line: number; error: string }) => [line, error]),
    [[3, 'there are 4 fields, but 3 columns']],
  )
  assert.deepEqual(await all(ada), [])
  const { status: skipped } = await send(ada, file, 'text/csv', '?bad_lines=skip')
  assert.equal(skipped, 201)
  assert.equal((await all(ada)).length, 2)
})

test('a file that is not a contact file is rejected with the reason', async () => {
  const ada = await tenant()
  const refusals: [string, string, number, RegExp][] = [
    ['', 'text/csv', 400, /file/],
    ['shoe size,phone\n4,+447700900123\n', 'text/csv', 400, /first_name/],
    ['first_name\nAda\n', 'text/csv', 400, /phone, email and address/],
    ['first_name,phone\nAda,"+4477', 'text/csv', 400, /cannot be read beyond this line/],
    ['hello', 'text/vcard', 400, /line 1.*BEGIN:VCARD/],
    ['BEGIN:VCARD\nFN:Ada\n', 'text/vcard', 400, /line 1.*END:VCARD/],
    ['BEGIN:VCARD\nFN:Ada\nBEGIN:VCARD\n', 'text/vcard', 400, /line 1: .*END:VCARD before line 3/],
    ['BEGIN:VCARD\nTEL:+447700900123\nEND:VCARD', 'text/vcard', 400, /line 1.*first name/],
    ['{}', 'application/json', 415, /content-type must be text.csv or text.vcard or .*, not application.json/],
  ]
  for (const [payload, type, status, message] of refusals) {
    const answer = await send(ada, payload, type)
    assert.equal(answer.status, status, JSON.stringify([payload, answer.body]))
    assert.match(answer.body.error_message, message)
  }
})

test('existing contacts are skipped, merged or created, also within one file', async () => {
  const head = 'first_name,last_name,phone,email\n'
  const file = `${head}Augusta,Lovelace,+447700900123,ada@example.com\nBob,,+447700900777,\nRobert,Roe,+447700900777,bob@example.com\n`
  for (const [duplicates, counts, names] of [
    ['skip', [1, 0, 2], ['Ada ', 'Bob ']],
    ['merge', [1, 2, 0], ['Ada Lovelace', 'Bob Roe']],
    ['create', [3, 0, 0], ['Ada ', 'Augusta Lovelace', 'Bob ', 'Robert Roe']],
  ] as const) {
    const ada = await tenant()
    await send(ada, `${head}Ada,,+447700900123,\n`)
    const { body } = await send(ada, file, 'text/csv', `?duplicates=${duplicates}`)
    assert.deepEqual([body.created, body.merged, body.skipped], counts, duplicates)
    const contacts = await all(ada)
    assert.deepEqual(
      contacts.map(({ first_name, last_name }) => `${first_name} ${last_name}`),
      names,
    )
    if (duplicates === 'merge') {
      assert.deepEqual(said(contacts)[0]?.details, ['E ada@example.com', 'PH +447700900123'])
      assert.deepEqual(said(contacts)[1]?.details, ['E bob@example.com', 'PH +447700900777'])
    }
    assert.equal((await call(ada, 'GET', '/open/contacts')).body.total, contacts.length)
  }
})

test('national numbers are accepted when a country is given', async () => {
  const ada = await tenant()
  const file = 'first_name,phone,phone_2\nAda,07700 900123,+1 202 555 0123\n'
  const { status } = await send(ada, file, 'text/csv', '?country=gb')
  assert.equal(status, 201)
  assert.deepEqual(said(await all(ada))[0]?.details, ['PH +12025550123', 'PH +447700900123'])
  assert.equal((await send(ada, file, 'text/csv', '?country=ZZ')).status, 400)
})

const cards = `BEGIN:VCARD\r
VERSION:4.0\r
FN:Ada Lovelace\r
N:Lovelace;Ada;King;Lady;\r
TEL;VALUE=uri;TYPE="voice,cell":tel:+44-7700-900-123;ext=1\r
item1.EMAIL;PREF=1:ada@exam\r
 ple.com\r
ADR;LABEL="12 St James^nLondon":;;12 St James\\, Square;London;;SW1;UK\r
PHOTO:https://example.com/ada.png\r
NOTE:BEGIN of a note\\nwith\\, signs\r
END:VCARD\r
begin:vcard
version:3.0
n:Garc\u00eda;Jos\u00e9;;;
fn:Jos\u00e9 Garc\u00eda
tel;type=CELL:+34 612 345 678
PHOTO;ENCODING=b;TYPE=JPEG:${'QUJD'.repeat(30_000)}
end:vcard

BEGIN:VCARD
VERSION:2.1
N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:=C5=81ukasz;=
Zo=C3=AB
TEL;CELL:+48512345678
END:VCARD
BEGIN:VCARD
VERSION:3.0
N:;;;;
FN:Navy Office
ORG:US Navy;Ships
EMAIL;TYPE=INTERNET:mailto:office@navy.example
END:VCARD
`

test('vCards 4.0, 3.0 and 2.1 are read: folded, escaped, grouped, quoted-printable, with pictures of any size', async () => {
  const ada = await tenant()
  // Chunks, so that lines and characters are split anywhere.
  const bytes = Buffer.from(cards)
  const pieces = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, i) => bytes.subarray(i * 7, i * 7 + 7))
  for (const type of ['text/vcard', 'text/x-vcard; charset=utf-8']) {
    const who = type === 'text/vcard' ? ada : await tenant()
    const { status, body } = await send(who, Readable.from(pieces), type)
    assert.equal(status, 201, JSON.stringify(body))
    assert.deepEqual(said(await all(who)), [
      {
        first_name: 'Ada King',
        last_name: 'Lovelace',
        profile_pic_url: 'https://example.com/ada.png',
        details: ['A 12 St James, Square, London, SW1, UK', 'E ada@example.com', 'PH +447700900123'],
      },
      { first_name: 'José', last_name: 'García', profile_pic_url: null, details: ['PH +34612345678'] },
      { first_name: 'Zoë', last_name: 'Łukasz', profile_pic_url: null, details: ['PH +48512345678'] },
      { first_name: 'Navy', last_name: 'Office', profile_pic_url: null, details: ['E office@navy.example'] },
    ])
  }
})

const text = fc
  .string({ unit: fc.constantFrom(...`abz Zé=+-@'",;:\\\n\t^王👩`, ' ::'), minLength: 1, maxLength: 60 })
  .map((one) => one.trim())
  .filter((one) => one !== '' && !one.includes(':::'))
const contact = fc.record({
  first_name: text,
  last_name: fc.oneof(fc.constant(''), text),
  phones: fc.uniqueArray(fc.integer({ min: 0, max: 99_999 }), { minLength: 1, maxLength: 5 }),
  emails: fc.uniqueArray(fc.integer({ min: 0, max: 99_999 }), { maxLength: 4 }),
  addresses: fc.uniqueArray(text, { maxLength: 4 }),
})

test('an exported file imports as the same contacts, as CSV and as vCards, whatever it contains', async () => {
  const seed = Number(process.env.TRUNKLINE_TEST_SEED ?? Date.now() % 1_000_000)
  console.log(`seed ${seed}`)
  const ada = await tenant()
  for (const one of fc.sample(contact, { seed, numRuns: 130 })) {
    const contact_details = [
      ...one.phones.map((n) => ({ type: 'PH', value: `+44770090${1000 + n}`.slice(0, 13) })),
      ...one.emails.map((n) => ({ type: 'E', value: `ada.${n}@example.com` })),
      ...one.addresses.map((value) => ({ type: 'A', value })),
    ]
    const body = { first_name: one.first_name, last_name: one.last_name, contact_details }
    const answer = await call(ada, 'POST', '/open/contacts', body)
    assert.equal(answer.status, 201, JSON.stringify([body, answer.body]))
  }
  const before = said(await all(ada))
  for (const [format, type] of [
    ['csv', 'text/csv'],
    ['vcf', 'text/vcard'],
  ] as const) {
    const bob = await tenant()
    const { status, body } = await send(bob, await exported(ada, format), type, '?duplicates=create')
    assert.equal(status, 201, JSON.stringify(body))
    assert.deepEqual(said(await all(bob)), before, format)
  }
})

test('no cell of an export is a spreadsheet formula', async () => {
  const ada = await tenant()
  const hostile = ['=1+1', '+cmd', '-2', '@sum', "'=x", '\t=1']
  for (const first_name of hostile)
    await call(ada, 'POST', '/open/contacts', {
      first_name,
      last_name: first_name,
      contact_details: [{ type: 'PH', value: '+447700900123' }],
    })
  const rows: string[][] = parseCsv(await exported(ada, 'csv'))
  assert.equal(rows.length, hostile.length + 1)
  for (const cell of rows.flat()) assert.doesNotMatch(cell, /^[=+\-@\t\r]/)
  assert.equal(rows[1]?.[2], "'+447700900123")
})

test('another program reads exported vCards, and their lines have at most 75 octets', async () => {
  const ada = await tenant()
  const address = '12, St James; Square\nLondon \\ '.repeat(8).trim()
  const [first_name, last_name] = ['Zoë 👩‍👩‍👧‍👦'.repeat(4), 'Łukasz; Jr., Esq.']
  await call(ada, 'POST', '/open/contacts', {
    first_name,
    last_name,
    contact_details: [
      { type: 'PH', value: '+447700900123' },
      { type: 'A', value: address },
    ],
  })
  const file = await exported(ada, 'vcf')
  for (const line of file.split('\r\n')) assert.ok(Buffer.byteLength(line) <= 75, line)
  const card = [parseCards(file)].flat()[0]
  const values = ['FN', 'N', 'TEL', 'ADR'].map((name) => card?.getProperty(name)[0]?.value)
  const names = { additionalNames: '', honorificPrefixes: '', honorificSuffixes: '' }
  const places = { postOfficeBox: '', extendedAddress: '', locality: '', region: '', postalCode: '', countryName: '' }
  assert.deepEqual(values, [
    `${first_name} ${last_name}`,
    { ...names, familyNames: last_name, givenNames: first_name },
    'tel:+447700900123',
    { ...places, streetAddress: address },
  ])
})

test('an account exports and merges only its own contacts', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const file = 'first_name,phone\nAda,+447700900123\n'
  await send(ada, file)
  const { body } = await send(bob, file, 'text/csv', '?duplicates=merge')
  assert.deepEqual([body.created, body.merged], [1, 0])
  assert.equal((await exported(bob, 'csv')).split('\r\n').length, 3)
  assert.equal(await exported(await tenant(), 'vcf'), '')
})

test('a second import of one account is rejected with Retry-After instead of waiting', async () => {
  const ada = await tenant()
  await db.begin(async (tx) => {
    const { tryLock } = await import('./store.ts')
    assert.ok(await tryLock(tx, ada.id))
    const { status, body } = await send(ada, 'first_name,phone\nAda,+447700900123\n')
    assert.deepEqual([status, body.error_code], [503, 'import_running'])
  })
  assert.equal((await send(ada, 'first_name,phone\nAda,+447700900123\n')).status, 201)
  assert.equal(await staged(), 0)
})

test('any file content is imported, or rejected with its lines', async () => {
  const ada = await tenant()
  const seed = Number(process.env.TRUNKLINE_TEST_SEED ?? Date.now() % 1_000_000)
  console.log(`seed ${seed}`)
  const pieces = [
    'BEGIN:VCARD\n',
    'END:VCARD\n',
    'FN:Ada\n',
    'N:;;',
    'TEL:+447700900123\n',
    'tel;"',
    'ADR:;;\\',
    '=',
    '\r',
    ' ',
  ]
  const more = [
    'N;ENCODING=QUOTED-PRINTABLE:=E\n',
    '\n\t',
    ':',
    ';',
    '.',
    '\0',
    '\ufeff',
    '\ud83d',
    'first_name,phone\n',
    '"',
    ',',
  ]
  const file = fc.array(fc.oneof(fc.constantFrom(...pieces, ...more), fc.string({ unit: 'binary' })), { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(file, fc.constantFrom('text/csv', 'text/vcard'), async (parts, type) => {
      const { status, body } = await send(ada, parts.join(''), type)
      assert.ok(status === 201 || (status === 400 && typeof body.error_message === 'string'), JSON.stringify(body))
    }),
    { seed, numRuns: 150 },
  )
})
