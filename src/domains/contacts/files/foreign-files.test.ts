import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../../test/world.ts'

// Files as address books and spreadsheets really write them: encodings, separators, names of columns, forms of numbers.

const { app, call, tenant } = await makeWorld()

type Detail = { type: string; value: string; label?: string; extension?: string }

const send = async (payload: Buffer | string, query = '', type = 'text/csv', who?: Tenant) => {
  const to = who ?? (await tenant())
  const headers = { 'x-user-api-key': to.key, 'content-type': type }
  const answer = await app.inject({ method: 'POST', url: `/open/contacts/import${query}`, headers, payload })
  const { contacts } = (await call(to, 'GET', '/open/contacts?per_page=100')).body
  const people = contacts.map((one: { first_name: string; last_name: string; details: Detail[] }) =>
    [
      `${one.first_name} ${one.last_name}`.trim(),
      ...one.details.map(({ value, label, extension = '' }) => value + extension + (label ? ` (${label})` : '')),
    ].join(' | '),
  )
  return { status: answer.statusCode, body: answer.json(), people, who: to }
}

/** Imports a file, which must succeed, and returns the people that it has. */
const peopleOf = async (payload: Buffer | string, query?: string, type?: string): Promise<string[]> => {
  const { status, body, people } = await send(payload, query, type)
  assert.equal(status, 201, JSON.stringify(body))
  return people
}

/** Encodes a text in an encoding of one octet per character. */
const encode = (text: string, encoding: string): Buffer => {
  const signs = new TextDecoder(encoding).decode(Uint8Array.from({ length: 256 }, (_, i) => i))
  return Buffer.from([...text].map((sign) => signs.indexOf(sign)))
}

const utf16 = (text: string, isBig = false): Buffer => {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le')
  return isBig ? bytes.swap16() : bytes
}

const german =
  'Vorname;Nachname;Telefon;E-Mail\r\nJörg;Müßig;+49 170 1110001;joerg@example.com\r\nÄnne;Größe;0170 1110002;aenne@example.com\r\n'
const germans = ['Jörg Müßig | +491701110001 | joerg@example.com', 'Änne Größe | +491701110002 | aenne@example.com']

test('a file of a German spreadsheet is read in its encoding and with its separator', async () => {
  for (const [payload, encoding] of [
    [encode(german, 'windows-1252'), 'windows-1252'],
    [Buffer.from(`\ufeff${german}`), 'utf-8'],
    [utf16(german), 'utf-16le'],
    [utf16(german, true), 'utf-16be'],
    [utf16(german).subarray(2), 'utf-16le'],
    [encode(german.replaceAll(';', '\t'), 'windows-1252'), 'windows-1252'],
    [Buffer.from(`sep=;\r\n${german}`), 'utf-8'],
  ] as const) {
    const { body, people } = await send(payload, '?country=DE')
    assert.deepEqual([people, body.encoding], [germans, encoding])
  }
})

test('files of other scripts are read in their encodings', async () => {
  const russian = 'Имя,Phone\nИван Петров,+79123456701\nЮлия Соколова,+79123456702\n'
  const polish = 'Name;Telefon\nŁukasz Wiśniewski;+48512345678\nGrażyna Dąbrowska;+48512345679\n'
  const french = 'Prénom;Nom;Tél. mobile\nFrançois;Lefèvre;+33612345678\n'
  const japanese = '6e616d652c70686f6e650a8e5293632091be98592c2b3831393031323334353637380a'
  const files: [Buffer, string, string][] = [
    [encode(russian, 'windows-1251'), 'windows-1251', 'Юлия Соколова'],
    [encode(polish, 'windows-1250'), 'windows-1250', 'Grażyna Dąbrowska'],
    [encode(french, 'windows-1252'), 'windows-1252', 'François Lefèvre'],
    [Buffer.from(japanese, 'hex'), 'shift_jis', '山田 太郎'],
  ]
  for (const [payload, encoding, person] of files) {
    const { body, people } = await send(payload)
    assert.deepEqual([body.encoding, people.at(-1)?.split(' | ')[0]], [encoding, person])
  }
})

test('a charset of the content type is used for a file that is not UTF-8', async () => {
  const file = encode('name,phone\nЁ,+79123456701\n', 'koi8-r')
  assert.deepEqual(await peopleOf(file, '', 'text/csv; charset=koi8-r'), ['Ё | +79123456701'])
  assert.deepEqual(await peopleOf(Buffer.from('name,phone\nЁ,+79123456701\n'), '', 'text/csv; charset="koi8-r"'), [
    'Ё | +79123456701',
  ])
})

test('the first character beyond ASCII decides, wherever it is', async () => {
  const many = Array.from(
    { length: 900 },
    (_, n) => `${'Ada '.repeat(20)}${n},+4477009${String(n).padStart(5, '0')}\n`,
  ).join('')
  const file = encode(`name,phone\n${many}Jörg Müßig,+491701110001\n`, 'windows-1252')
  assert.ok(file.indexOf(0xf6) > 80_000)
  const { status, body, who } = await send(file)
  assert.deepEqual([status, body.encoding, body.created], [201, 'windows-1252', 901])
  assert.equal((await call(who, 'GET', '/open/contacts/search?q=Müßig')).body.contacts[0].first_name, 'Jörg')
})

test('a line that is not UTF-8 in a file that is UTF-8 is reported, and the others are read', async () => {
  const file = Buffer.concat([
    Buffer.from('name,phone\nJörg,+491701110001\n'),
    encode('Änne,+491701110002\n', 'windows-1252'),
    Buffer.from('Zoë,+491701110003\n'),
  ])
  const { status, body } = await send(file)
  assert.deepEqual([status, body.bad_lines, body.lines[0].line], [400, 1, 3])
  assert.deepEqual(await peopleOf(file, '?bad_lines=skip'), ['Jörg | +491701110001', 'Zoë | +491701110003'])
})

test('columns of common exports are recognised in five languages, with the labels of numbers', async () => {
  const files: [string, string, string][] = [
    ['First Name\tLast Name\tMobile Phone', 'Tab\tAbove\t+491701110003', 'Tab Above | +491701110003 (mobile)'],
    [
      'Anrede;Vorname;Weitere Vornamen;Nachname;Firma;Telefon geschäftlich;Telefon (privat);Mobiltelefon;E-Mail-Adresse;E-Mail 2: Adresse;Straße geschäftlich;Ort geschäftlich;Postleitzahl geschäftlich;Land/Region geschäftlich',
      'Frau;Anna;Maria;Schmidt;Muster GmbH;+49301110001;+49301110002;+491701110001;a@example.com;b@example.com;Hauptstraße 1;Berlin;10115;Deutschland',
      'Anna Maria Schmidt | +49301110001 (work) | +49301110002 (home) | +491701110001 (mobile) | a@example.com | b@example.com | Hauptstraße 1, Berlin, 10115, Deutschland (work)',
    ],
    ['Vorname;Name;Handy', 'Jörg;Müßig;+491701110001', 'Jörg Müßig | +491701110001 (mobile)'],
    [
      'Prénom;Nom;Téléphone (bureau);Tél. mobile;Adresse de messagerie;Rue (domicile);Ville (domicile);Code postal (domicile)',
      'François;Lefèvre;+33123456789;+33612345678;f@example.com;1 rue de la Paix;Paris;75002',
      'François Lefèvre | +33123456789 (work) | +33612345678 (mobile) | f@example.com | 1 rue de la Paix, Paris, 75002 (home)',
    ],
    [
      'Nombre,Apellidos,Teléfono del trabajo,Teléfono particular,Móvil,Dirección de correo electrónico',
      'José,Muñoz,+34911234567,+34911234568,+34612345678,j@example.com',
      'José Muñoz | +34911234567 (work) | +34911234568 (home) | +34612345678 (mobile) | j@example.com',
    ],
    [
      'Nome;Sobrenome;Telefone comercial;Telefone residencial;Celular;Endereço de e-mail',
      'João;Conceição;+351211234567;+351211234568;+351912345678;j@example.com',
      'João Conceição | +351211234567 (work) | +351211234568 (home) | +351912345678 (mobile) | j@example.com',
    ],
    ['Nome;Telemóvel', 'João Conceição;+351912345678', 'João Conceição | +351912345678 (mobile)'],
    [
      'Name,Given Name,Family Name,E-mail 1 - Type,E-mail 1 - Value,Phone 1 - Type,Phone 1 - Value,Phone 2 - Type,Phone 2 - Value,Address 1 - Type,Address 1 - Formatted,Address 1 - Street,Address 1 - City',
      'Ada Lovelace,Ada,Lovelace,* Home,a@example.com,Mobile,+447700900123,Reception,+447700900124 ::: +447700900125,Home,"1 High Street, Leeds",1 High Street,Leeds',
      'Ada Lovelace | a@example.com (home) | +447700900123 (mobile) | +447700900124 (Reception) | +447700900125 (Reception) | 1 High Street, Leeds (home)',
    ],
    [
      'First Name,Last Name,Phone 1 - Label,Phone 1 - Value,Address 1 - Label,Address 1 - Street,Address 1 - City,Address 1 - Postal Code,Address 1 - Country',
      'Ada,Lovelace,* Work,+447700900123,Work,1 High Street,Leeds,LS1 1AA,GB',
      'Ada Lovelace | +447700900123 (work) | 1 High Street, Leeds, LS1 1AA, GB (work)',
    ],
    [
      'name,contact_number,Street,Street 2,City',
      'Ada,"+447700900123; +447700900124",1 High Street,Flat 2,Leeds',
      'Ada | +447700900123 | +447700900124 | 1 High Street, Flat 2, Leeds',
    ],
  ]
  for (const [head, line, person] of files) {
    const { people, body } = await send(`${head}\r\n${line}\r\n`)
    assert.deepEqual(people, [person], JSON.stringify(body))
  }
})

const outlook =
  '"Title","First Name","Middle Name","Last Name","Suffix","Company","Department","Job Title","Business Street","Business City","Business Country/Region","Home Street","Home City","Business Fax","Business Phone","Business Phone 2","Home Phone","Mobile Phone","Other Phone","Pager","Primary Phone","Account","Anniversary","E-mail Address","E-mail Type","E-mail Display Name","E-mail 2 Address","Notes"\r\n' +
  '"Dr","Ada","K.","Byron","","Engines Ltd","R&D","Lead","1 Example Street","London","United Kingdom","2 Home Lane","Leeds","+44 20 7946 0100","+44 20 7946 0101","","+44 113 496 0001","+44 7911 100001","","","","","0/0/00","ada@example.com","SMTP","Ada Byron (ada@example.com)","ada2@example.com","line one\r\nline two, with ""quotes"""\r\n'

test('a row without any text is no bad line, and the lines after it keep their numbers', async () => {
  const rows = [';;', 'Vorname;Telefon;E-Mail', ';;', 'Ada;+447700900123;', ' ; ;', '', 'Eve;12;', ';;', '']
  const { status, body } = await send(rows.join('\r\n'))
  assert.equal(status, 400)
  assert.match(body.error_message, /\b7\b/)
  assert.deepEqual(await peopleOf(rows.filter((row) => !row.startsWith('Eve')).join('\r\n')), ['Ada | +447700900123'])
})

test('columns with values that are not taken over are named', async () => {
  const { body, people } = await send(outlook)
  assert.deepEqual(people, [
    'Ada K. Byron | +442079460101 (work) | +441134960001 (home) | +447911100001 (mobile) | ada@example.com | ada2@example.com | ' +
      '1 Example Street, London, United Kingdom (work) | 2 Home Lane, Leeds (home)',
  ])
  assert.deepEqual(body.ignored_columns, [
    'Title',
    'Company',
    'Department',
    'Job Title',
    'Business Fax',
    'Anniversary',
    'E-mail Type',
    'E-mail Display Name',
    'Notes',
  ])
  const card =
    'BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ada\r\nTEL:+447700900123\r\nNOTE:shy\r\nBDAY:1815-12-10\r\nEND:VCARD\r\n'
  assert.deepEqual((await send(card, '', 'text/vcard')).body.ignored_columns, ['NOTE', 'BDAY'])
})

const icloud = [
  ...['BEGIN:VCARD', 'VERSION:3.0', 'PRODID:-//Apple Inc.//iOS 15.5//EN', 'N:Lovett;Ann;Mary;;', 'FN:Ann Mary Lovett'],
  ...['TEL;type=CELL;type=VOICE;type=pref:07911 100011', 'item1.TEL:0113 496 0011', 'item1.X-ABLabel:_$!<Other>!$_'],
  ...['item2.TEL:*21#', 'item2.X-ABLabel:Forward', 'item3.TEL:+44 20 7946 0111,,4711#', 'item3.X-ABLabel:Conference'],
  ...[
    'TEL;type=WORK:150',
    'item4.ADR;type=HOME:;;1 High\\nStreet;Leeds;;LS1 1AA;UK',
    'REV:2026-01-15T01:00:46Z',
    'END:VCARD',
    '',
  ],
].join('\r\n')

test('a person with a bad number is kept, and the number is reported with its line', async () => {
  const { status, body, people } = await send(icloud, '?country=GB', 'text/vcard')
  assert.equal(status, 201, JSON.stringify(body))
  assert.deepEqual(people, [
    'Ann Mary Lovett | +447911100011 (mobile) | +441134960011 (other) | +442079460111,,4711# (Conference) | ' +
      '1 High\nStreet, Leeds, LS1 1AA, UK (home)',
  ])
  assert.deepEqual([body.created, body.bad_lines, body.bad_details], [1, 0, 2])
  assert.deepEqual(
    body.lines.map(({ line, error }: { line: number; error: string }) => [line, error.split(' ')[0]]),
    [
      [9, '"*21#"'],
      [13, '"150"'],
    ],
  )
  const csv = await send(
    'name,phone,email,profile_pic_url\nAda,+447700900123,nobody,ftp://x\nBob,150,nobody,\n',
    '?bad_lines=skip',
  )
  assert.deepEqual([csv.people, csv.body.bad_lines, csv.body.bad_details], [['Ada | +447700900123'], 1, 2])
  assert.deepEqual(
    csv.body.lines.map(({ line }: { line: number }) => line),
    [2, 2, 3],
  )
})

test('pauses and extensions are kept with the number, which alone is matched', async () => {
  const file =
    'name,phone\nA,"+44 20 7946 0111,,4711#"\nB,+44 20 7946 0111;ext=12\nC,+44 20 7946 0111 ext. 13\nD,+44 20 7946 0111p4w5\nE,+44 20 7946 0111 x12\nF,+44 20 7946 0111x13\n'
  const { people, body, who } = await send(file)
  // People of one company share its number: F is C again.
  assert.deepEqual(people, [
    'A | +442079460111,,4711#',
    'B | +442079460111;ext=12',
    'C | +442079460111x13',
    'D | +442079460111p4w5',
    'E | +442079460111x12',
  ])
  assert.deepEqual([body.created, body.skipped], [5, 1])
  const { total } = (await call(who, 'GET', '/open/contacts/search?q=2079460111')).body
  assert.equal(total, 5)
})

test('labels, pauses and extensions return from an exported file', async () => {
  const details = [
    { type: 'PH', value: '+447700900123', label: 'mobile' },
    { type: 'PH', value: '+442079460111', label: 'work', extension: ',,4711#' },
    { type: 'PH', value: '+442079460111', label: 'Front desk, 2nd floor', extension: ';ext=12' },
    { type: 'PH', value: '+442079460112' },
    { type: 'PH', value: '+442079460113', label: 'home fax' },
    { type: 'E', value: 'ada@example.com', label: 'home' },
    { type: 'A', value: '1 High Street; Leeds', label: 'main' },
  ]
  const who = await tenant()
  const made = await call(who, 'POST', '/open/contacts', { first_name: 'Ada', contact_details: details })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  for (const [format, type] of [
    ['csv', 'text/csv'],
    ['vcf', 'text/vcard'],
  ] as const) {
    const file: string = (await call(who, 'GET', `/open/contacts/export?format=${format}`)).body
    const { status, who: other } = await send(file, '', type)
    assert.equal(status, 201)
    const [contact] = (await call(other, 'GET', '/open/contacts')).body.contacts
    assert.deepEqual(
      contact.details.map(({ id, created_at, updated_at, ...detail }: Detail & Record<string, unknown>) => detail),
      details,
      file,
    )
  }
})

test('a client that knows no labels and extensions changes a contact without losing them', async () => {
  const who = await tenant()
  const first = { type: 'PH', value: '+442079460111', label: 'work', extension: 'x12' }
  const { contact } = (await call(who, 'POST', '/open/contacts', { first_name: 'Ada', contact_details: [first] })).body
  const put = async (contact_details: object[]): Promise<Detail & { id: number }> => {
    const { status, body } = await call(who, 'PUT', `/open/contacts/${contact.uuid}`, { contact_details })
    assert.equal(status, 200, JSON.stringify(body))
    return body.contact.details[0]
  }
  const old = await put([
    { type: 'PH', value: '+442079460111' },
    { type: 'E', value: 'a@example.com' },
  ])
  assert.deepEqual([old.id, old.label, old.extension], [contact.details[0].id, 'work', 'x12'])
  const renamed = await put([{ type: 'PH', value: '+442079460111', label: 'main' }])
  assert.deepEqual([renamed.id, renamed.label, renamed.extension], [old.id, 'main', 'x12'])
  const bare = await put([{ type: 'PH', value: '+442079460111', label: null, extension: null }])
  assert.deepEqual([bare.label, bare.extension], [undefined, undefined])
})

test('a preview shows how a file would be read, and a request changes the meanings of its columns', async () => {
  const who = await tenant()
  const preview = async (payload: Buffer | string, type = 'text/csv') => {
    const headers = { 'x-user-api-key': who.key, 'content-type': type }
    const answer = await app.inject({ method: 'POST', url: '/open/contacts/import/preview', headers, payload })
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json()
  }
  const file = encode(
    'Vorname;Kürzel;Telefon privat;Straße;Ort\r\nJörg;JM;+491701110001;Weg 1;Köln\r\n',
    'windows-1252',
  )
  const { encoding, separator, columns, rows } = await preview(file)
  assert.deepEqual([encoding, separator], ['windows-1252', ';'])
  assert.deepEqual(
    columns.map(({ title, meaning }: { title: string; meaning: string }) => `${title} ${meaning}`),
    ['Vorname first_name', 'Kürzel ignore', 'Telefon privat phone', 'Straße recognised', 'Ort recognised'],
  )
  assert.deepEqual(rows[1], { line: 2, cells: ['Jörg', 'JM', '+491701110001', 'Weg 1', 'Köln'] })
  const cut = Buffer.from(`name,phone\n${'Ada,+447700900123\n'.repeat(20_000)}"`)
  assert.equal((await preview(cut)).rows.length, 21)
  const card = 'BEGIN:VCARD\nVERSION:2.1\nFN;QUOTED-PRINTABLE:J=F6rg\nTEL:+491701110001\nEND:VCARD\nBEGIN:VCARD\n'
  assert.deepEqual((await preview(card, 'text/vcard')).rows, [{ line: 1, cells: ['Jörg', '+491701110001', ''] }])
  assert.equal((await call(who, 'GET', '/open/contacts')).body.total, 0)

  assert.deepEqual(await peopleOf(file, '?columns=,last_name,,ignore'), ['Jörg JM | +491701110001 (home)'])
  const headless = 'Ada;+447700900123;ada@example.com\nBob;+447700900124;\n'
  assert.deepEqual(await peopleOf(headless, '?header=false&columns=name,phone,email'), [
    'Ada | +447700900123 | ada@example.com',
    'Bob | +447700900124',
  ])
  const { status, body } = await send(headless, '?columns=name,nonsense')
  assert.deepEqual([status, body.field], [400, '/query/columns'])
})

test('vCards of old telephones are decoded by their labels, over folded lines and soft breaks', async () => {
  const card = (...lines: string[]) => ['BEGIN:VCARD', 'VERSION:2.1', ...lines, 'END:VCARD', ''].join('\r\n')
  const files: [Buffer | string, string][] = [
    [
      card(
        'N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:;=D0=93=D0=BE=D1=80=D0=BE=D0=B4=D1=81=D0=BA=D0=BE=D0=B9=20=D0=',
        '=B0=D0=B2=D1=82=D0=BE=D0=B1=D1=83=D1=81=',
        ';;;',
        'TEL;CELL:+79123456702',
      ),
      'Городской автобус | +79123456702 (mobile)',
    ],
    [
      card(
        'N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:=D0=A1=D0=BE=D1=82=D0=BD=D0=B8=D0=',
        ' =BA=D0=BE=D0=B2;=D0=92=D0=B8=D0=BA=D1=82=D0=BE=D1=80',
        'TEL;TYPE=CELL:+79123456703',
      ),
      'Виктор Сотников | +79123456703 (mobile)',
    ],
    [
      card('N;ENCODING=QUOTED-PRINTABLE:Byron;Ada of the very=', ' long house of Byron', 'TEL;WORK;FAX:+447700900123'),
      'Ada of the very long house of Byron Byron | +447700900123 (work fax)',
    ],
    [
      card('FN;CHARSET=ISO-8859-1;QUOTED-PRINTABLE:J=F6rg M=FC=DFig', 'TEL:+491701110001'),
      'Jörg Müßig | +491701110001',
    ],
    [card('FN;QUOTED-PRINTABLE:J=F6rg M=FC=DFig', 'TEL:+491701110001'), 'Jörg Müßig | +491701110001'],
    [card('FN;CHARSET=KOI8-R;ENCODING=QUOTED-PRINTABLE:=E9=D7=C1=CE', 'TEL:+79123456701'), 'Иван | +79123456701'],
    [encode(card('FN;CHARSET=windows-1251:Ян', 'TEL:+79123456701'), 'windows-1251'), 'Ян | +79123456701'],
    [encode(card('FN:Jörg Müßig', 'TEL:+491701110001'), 'windows-1252'), 'Jörg Müßig | +491701110001'],
    [utf16(card('FN:Jörg Müßig', 'TEL:+491701110001')), 'Jörg Müßig | +491701110001'],
    [
      // A line folded within a character.
      Buffer.from(card('FN:J\u00c3', ' \u00b6rg', 'TEL:+491701110001'), 'latin1'),
      'Jörg | +491701110001',
    ],
    [
      'begin:vcard\r\nfn;quoted-printable:D=C3=BCmmy GmbH\r\nemail;internet:d@example.com\r\nversion:2.1\r\nend:vcard\r\n',
      'Dümmy GmbH | d@example.com',
    ],
  ]
  for (const [payload, person] of files) assert.deepEqual(await peopleOf(payload, '', 'text/vcard'), [person])
})

test('a broken quotation mark loses no other line', async () => {
  const number = (i: number) => `+4477009001${String(i).padStart(2, '0')}`
  const rows = ['first_name,phone', `Z,${number(1)}`, `"C" d,${number(2)}`, `"D, e" ,${number(3)}`, `E,${number(4)}`]
  assert.deepEqual(await peopleOf(rows.join('\n')), [
    `Z | ${number(1)}`,
    `"C" d | ${number(2)}`,
    `D, e | ${number(3)}`,
    `E | ${number(4)}`,
  ])
  // The line is longer than the parser takes, so that it stops there.
  const { status, body, people } = await send(`${rows.join('\n')}\n"F,${'f'.repeat(70_000)}`, '?bad_lines=skip')
  assert.deepEqual([status, body.created, people.length, body.lines[0].line], [201, 4, 4, 6], JSON.stringify(body))
})

test('a card without an end and text between cards are reported, and the cards after them are read', async () => {
  const cards = [
    ...['BEGIN:VCARD', 'FN:Ada', 'TEL:+447700900101', 'AGENT:', 'BEGIN:VCARD', 'FN:Agent', 'AGENT:', 'BEGIN:VCARD'],
    ...['END:VCARD', 'TEL:+447700900102', 'END:VCARD', 'EMAIL:ada@example.com', 'END:VCARD'],
    ...['BEGIN:VCARD', 'FN:Bob', 'TEL:+447700900103'],
    ...['BEGIN:VCARD', 'FN:Cid', 'TEL:+447700900104', 'END:VCARD', 'END:VCARD', 'junk'],
    ...['BEGIN:VCARD', 'FN:Dot', 'TEL:+447700900105', 'END:VCARD', 'BEGIN:VCARD', 'FN:Eve', ''],
  ].join('\r\n')
  const { body, people } = await send(cards, '?bad_lines=skip', 'text/vcard')
  assert.deepEqual(people, ['Ada | +447700900101 | ada@example.com', 'Cid | +447700900104', 'Dot | +447700900105'])
  assert.deepEqual(
    body.lines.map(({ line }: { line: number }) => line),
    [14, 21, 27],
  )
})

test('the first column of a meaning counts, and another one with other values is named', async () => {
  const { body, people } = await send(
    'First Name,first_name,Vorname,phone\nAnn,Bea,Ann,+447700900101\n,Cid,,+447700900102\n',
  )
  assert.deepEqual(people, ['Ann | +447700900101', 'Cid | +447700900102'])
  assert.deepEqual(body.ignored_columns, ['first_name'])
})

test('Turkish names are not read as Arabic', async () => {
  for (const name of ['Şükrü Işık Çiğdem', 'Şükrü Çelik', 'Işık Çelik'])
    assert.deepEqual(await peopleOf(encode(`name,phone\n${name},+905321110001\n`, 'windows-1254')), [
      `${name} | +905321110001`,
    ])
})

test('the protocol that Outlook has for an address of e-mail is no label', async () => {
  for (const head of ['E-Mail-Adresse,E-Mail-Typ', 'E-mail Address,E-mail Type', 'E-mail 2 Address,E-mail 2 Type'])
    assert.deepEqual(await peopleOf(`first_name,${head}\nAda,ada@example.com,SMTP\n`), ['Ada | ada@example.com'])
})

test('text of a vCard in base64 is decoded', async () => {
  const name = Buffer.from('Jörg Müßig').toString('base64')
  for (const parameter of ['ENCODING=BASE64', 'ENCODING=b', 'BASE64']) {
    const card = `BEGIN:VCARD\r\nFN;CHARSET=UTF-8;${parameter}:${name}\r\nTEL:+491701110001\r\nEND:VCARD\r\n`
    assert.deepEqual(await peopleOf(card, '', 'text/vcard'), ['Jörg Müßig | +491701110001'])
  }
})
