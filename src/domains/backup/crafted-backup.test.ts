import assert from 'node:assert/strict'
import { chmodSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { testDatabase } from '../../../test/database.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { compressed, load, type Part, partsOf, replaceIn, seal, tarOf, writeChecksum } from './archive-testing.ts'
import { BadBackup } from './format/envelope.ts'
import { readPlainBackup } from './format/read-backup.ts'
import { backups } from './ops.ts'
import { makeInstallation, passphrase, runCli, runControl } from './testing.ts'

// A passphrase proves no author. These backups open, and their digests are right.

const { settings, db, file } = await makeInstallation()
// Small, as it is read often.
await db.raw('delete from document_parts; delete from documents')
await backups.create(settings, file, passphrase, '1.2.3', runControl())
const parts = await partsOf(file)
const [manifest, summary] = ['manifest.json', 'summary.json']
const media = parts.find(({ name }) => name.startsWith('media/')) ?? assert.fail('no file')
const rows = parts.find(({ name }) => name === 'database/accounts/000001') ?? assert.fail('no rows')

const insert = (before: Part, ...added: Part[]): Part[] =>
  parts.flatMap((one) => (one === before ? [...added, one] : [one]))
const without = (absent: string): Part[] => parts.filter(({ name }) => name !== absent)
const json = (name: string) => JSON.parse(String(parts.find((one) => one.name === name)?.bytes))

/** A command that PostgreSQL would run, and whether it did. */
const makeMark = () => {
  const folder = temporaryFolder()
  // PostgreSQL runs as another account where root runs the tests.
  chmodSync(folder, 0o777)
  const mark = join(folder, 'mark')
  return { command: `program 'touch ${mark}'`, hasRun: () => existsSync(mark) }
}

const write = async (crafted: readonly Part[]): Promise<string> => {
  const path = join(temporaryFolder(), 'crafted.backup')
  await seal(path, await tarOf(crafted))
  return path
}

test('SQL in the name of a table, or in an id, runs no command: verify and restore refuse it by its place', async () => {
  const { command, hasRun } = makeMark()
  const table = `accounts from ${command.replaceAll('/', '\\057').replace("'", "E'")} --`
  const uuid = '00000000-0000-0000-0000-000000000000'
  const crafted: [Part[], RegExp][] = [
    [
      replaceIn(
        insert(rows, { name: `database/${table}/000001`, bytes: Buffer.from('1\n') }),
        manifest,
        '"tables": [',
        `"tables": [{"name": ${JSON.stringify(table)}, "columns": []},`,
      ),
      // The check of the tar file reads ahead: the sizes of the entries decide which fault it meets first.
      /an entry "database\/accounts from program.*" with a name that no version gives|"\/tables\/0\/name" must match/,
    ],
    [
      replaceIn(parts, manifest, '"name": "accounts"', `"name": ${JSON.stringify(table)}`),
      /manifest\.json of the backup: "\/tables\/\d+\/name" must match/,
    ],
    [
      replaceIn(
        parts,
        manifest,
        '"recordings_id": null',
        `"recordings_id": "${uuid}'::uuid; copy accounts from ${command} --"`,
      ),
      /manifest\.json of the backup: "\/recordings_id" must /,
    ],
  ]
  for (const [changed, fault] of crafted) {
    const path = await write(changed)
    for (const command of changed === crafted[0]?.[0] ? [['backup', 'verify'], ['restore']] : [['backup', 'verify']]) {
      const home = temporaryFolder()
      const { status, err } = await runCli(home, [...command, path]).ended
      assert.equal(hasRun(), false, 'PostgreSQL ran the command')
      assert.match(err, fault)
      assert.deepEqual([status, readdirSync(home).filter((name) => !/^(?:lock|holder\.json)$/.test(name))], [1, []])
    }
  }
})

const refusesEntries = async (tar: Buffer, fault: RegExp, name: string): Promise<void> => {
  const nothing = { begin: async () => {}, entry: async () => {} }
  await assert.rejects(
    readPlainBackup(compressed(tar), nothing),
    (error) => error instanceof BadBackup && fault.test(error.message),
    name,
  )
}

test('an entry that is no plain file of a known name and size is refused, also by backup tar', async () => {
  const unknown = /with a name that no version gives/
  const file = (name: string, header = {}): Part[] => insert(media, { name, bytes: Buffer.from('x'), header })
  const link = (type: 'symlink' | 'link') =>
    insert(media, { name: 'media/out', bytes: Buffer.alloc(0), header: { type, linkname: '/etc' } })
  const crafted: [Part[], RegExp][] = [
    ...[
      '../out',
      '/etc/out',
      'media/../../out',
      `${media.name}/../out`,
      'keys/other',
      'media/out',
      'database/accounts/1',
    ].map((name): [Part[], RegExp] => [file(name), unknown]),
    [file(media.name.replace('media/', 'recordings/')), unknown],
    [file(`${media.name}\u0007`), /an entry ".*\\u0007" with/],
    [link('symlink'), /"media\/out" that is not a plain file/],
    [link('link'), /"media\/out" that is not a plain file/],
    [insert(media, { ...media, bytes: Buffer.alloc(0), header: { type: 'fifo' } }), /not a plain file/],
    [file(media.name, { pax: { path: '../out' } }), /not a plain file/],
    [insert(media, { name: 'recordings/id', bytes: Buffer.alloc(65) }), /has 65 bytes; 64 are allowed/],
    [[...parts.slice(0, 1), { name: 'keys/master', bytes: Buffer.alloc(33) }], /has 33 bytes; 32 are allowed/],
    [[{ name: manifest, bytes: Buffer.alloc(4_194_305, ' ') }], /has 4,194,305 bytes; 4,194,304 are allowed/],
  ]
  for (const [changed, fault] of crafted) await refusesEntries(await tarOf(changed), fault, String(fault))
  const path = await write(link('symlink'))
  const { status, err } = await runCli(temporaryFolder(), ['backup', 'tar', path]).ended
  assert.deepEqual([status, /not a plain file, such as a link/.test(err)], [1, true])
})

test('a tar header with another size, format or end is refused', async () => {
  const tar = await tarOf(parts)
  const change = (at: number, text: string): Buffer => {
    const changed = Buffer.from(tar)
    changed.write(text, at, 'latin1')
    const header = changed.subarray(0, 512)
    writeChecksum(header)
    return changed
  }
  const crafted: [Buffer, RegExp][] = [
    [change(124, '77777777777 '), /"manifest\.json" has 8,589,934,591 bytes/],
    [
      change(124, '\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff'),
      /The size of the entry "manifest\.json" is not a number/,
    ],
    [change(124, '-1          '), /is not a number/],
    [change(257, 'ustar  \0'), /not a tar file inside/],
    [tar.subarray(0, tar.length - 2_000), /ends too early/],
    [tar.subarray(0, tar.indexOf(0)), /ends too early/],
    [Buffer.concat([tar, tar.subarray(0, 512)]), /data after the end of its tar file/],
  ]
  for (const [changed, fault] of crafted) await refusesEntries(changed, fault, String(fault))
})

test('entries in another order, twice or missing are refused', async () => {
  const [first, key, ...others] = parts
  const last = others.at(-1)
  assert.ok(first && key && last?.name === summary)
  const part = (number: number): Part => ({ ...rows, name: `database/accounts/${String(number).padStart(6, '0')}` })
  const crafted: [Part[], RegExp][] = [
    [[], /ends without its summary/],
    [[key, first, ...others], /does not begin with its manifest/],
    [[first, ...others], /no master key after its manifest/],
    [[first, key, first, ...others], /a second entry manifest\.json/],
    [insert(media, key), /a second entry keys\/master/],
    [[...parts, last], /summary\.json after its summary/],
    [without(summary), /ends without its summary/],
    [without(media.name), /The backup has \d+ files of \d+ bytes; its summary says/],
    [insert(last, rows), /rows after its files: database\/accounts\/000001/],
    [insert(rows, part(2)), /database\/accounts\/000002 where the part 1 is due/],
    [insert(rows, part(1)), /database\/accounts\/000001 where the part 2 is due/],
    [insert(media, part(2)), /of a table that its manifest does not name, or names earlier/],
    [insert(rows, { ...rows, name: 'database/processes/000001' }), /of a table that its manifest does not name/],
  ]
  for (const [changed, fault] of crafted) await refusesEntries(await tarOf(changed), fault, String(fault))
  const many = Array.from({ length: 1_001 }, (_, at) => part(at + 1))
  const undigested = await tarOf([first, key, ...many].map((one) => ({ ...one, isListed: false })))
  await refusesEntries(undigested, /more than 1000 entries without their digests/, 'digests')
})

test('a manifest or summary of another form is refused with the field', async () => {
  const deep = `${'['.repeat(100_000)}`
  const crafted: [string, string | RegExp, string, RegExp][] = [
    [manifest, /^/, deep, /manifest\.json of the backup is nested more than 8 deep/],
    [manifest, /^\{/, '', /manifest\.json of the backup is not JSON/],
    [manifest, '"format": 1', '"format": 2', /made by Trunkline "1\.2\.3", in a form that this version does not know/],
    [manifest, '"format"', '"__proto__": {"format": 1}, "format"', /"\/__proto__" is not known to this version/],
    [manifest, '"version": "1.2.3"', '"version": "\\u001b[2J"', /"\/version" must/],
    [manifest, /"database_bytes": \d+/, '"database_bytes": -1', /"\/database_bytes" must be >= 0/],
    [manifest, /"files_bytes": \d+/, '"files_bytes": 1e300', /"\/files_bytes" must be/],
    [manifest, /"migrations": \[[^\]]*\]/, '"migrations": []', /"\/migrations" must not have fewer than 1 items/],
    [manifest, /"columns": \[[^\]]*\]/, '"columns": []', /"\/tables\/0\/columns" must not have fewer than 1 items/],
    [manifest, /"name": "accounts"/, '"name": "accounts; drop table jobs"', /"\/tables\/\d+\/name" must match/],
    [manifest, /"transferred": "[^"]*"/, '"transferred": "NaN"', /"\/money\/transferred" must match/],
    [summary, /"accounts": \d+/, '"constructor": 1.5', /"\/rows\/constructor" must be/],
    [summary, '"sequences": [', '"sequences": [{"name": "a; b", "value": "1"}', /"\/sequences\/0\/name" must match/],
    [summary, '"missing": [', '"missing": [7', /"\/missing\/0" must be string/],
  ]
  for (const [name, text, by, fault] of crafted)
    await refusesEntries(await tarOf(replaceIn(parts, name, text, by)), fault, String(fault))
})

test('other tables, columns, rows, sequences or migrations than those of the schema are refused, and nothing is lost', async () => {
  const table = json(manifest).tables.find(({ name }: { name: string }) => name === 'accounts')
  const columns = JSON.stringify(table.columns, null, 2)
  const withColumns = (change: (all: string[]) => string[]): Part[] =>
    replaceIn(
      parts,
      manifest,
      /("name": "accounts",\s*"columns": )\[[^\]]*\]/,
      `"name": "accounts", "columns": ${JSON.stringify(change(table.columns))}`,
    )
  assert.ok(columns.includes('requests_per_minute'))
  const accounts = await db.many`select * from accounts order by id`
  const target = await testDatabase()
  await load(target.url, await tarOf(parts))
  const crafted: [Part[], RegExp][] = [
    [
      replaceIn(parts, manifest, '"name": "accounts"', '"name": "pg_authid"'),
      /names the table "pg_authid", which the migrations of the backup do not make/,
    ],
    [replaceIn(parts, manifest, '"name": "accounts"', '"name": "processes"'), /names the table "processes"/],
    [replaceIn(parts, manifest, '"name": "audit"', '"name": "accounts"'), /names the table "accounts" twice/],
    [
      replaceIn(parts, manifest, /\{\s*"name": "audit",\s*"columns": \[[^\]]*\]\s*\},/, ''),
      /does not name the table "audit"/,
    ],
    [withColumns((all) => [...all, 'ctid']), /names the column of accounts "ctid"/],
    [withColumns((all) => [...all, 'id']), /names the column of accounts "id" twice/],
    [withColumns((all) => all.slice(1)), /does not name the column of accounts "id"/],
    [
      replaceIn(parts, rows.name, /^/, 'no id\n'),
      /do not fit the table accounts: invalid input syntax for type uuid: "…"/,
    ],
    [
      parts.map((one) => (one === rows ? { ...one, bytes: Buffer.concat([rows.bytes, rows.bytes]) } : one)),
      /do not fit the table accounts: duplicate key/,
    ],
    [without(rows.name), /The rows of the backup do not fit the table \w+: .*violates foreign key/],
    [
      replaceIn(parts, summary, /"accounts": \d+/, '"accounts": 99'),
      /The table accounts has \d+ rows; the backup has 99/,
    ],
    [replaceIn(parts, summary, /"rows": \{[^}]*\}/, '"rows": {}'), /has \d+ rows; the backup has no number/],
    [
      replaceIn(parts, summary, '"rows": {', '"rows": {"__proto__": 1,'),
      /counts rows of "__proto__", which is no table/,
    ],
    [
      replaceIn(parts, summary, '"sequences": [', '"sequences": [{"name": "pg_class", "value": "1"}'),
      /sets a sequence "pg_class"/,
    ],
    [
      replaceIn(
        parts,
        summary,
        '"sequences": [',
        '"sequences": [{"name": "number_city_ids", "value": "999999999999999999"}',
      ),
      /sets a sequence "number_city_ids"/,
    ],
    [replaceIn(parts, manifest, /"transferred": "[^"]*"/, '"transferred": "1"'), /Money: transferred is/],
    [replaceIn(parts, manifest, '_baseline"', '_other"'), /which this version does not know: a newer version made it/],
    [
      replaceIn(parts, manifest, /"name": "\d+T\d+_baseline"/, '"name": "01_platform"'),
      /up to 01_platform: restore it with commit ab8c613e/,
    ],
  ]
  for (const [changed, fault] of crafted) {
    const tar = await tarOf(changed)
    await assert.rejects(
      load(target.url, tar),
      (error) => error instanceof BadBackup && fault.test(error.message),
      String(fault),
    )
  }
  assert.deepEqual(await target.many`select * from accounts order by id`, accounts)
  // Earlier versions wrote keywords in quotes.
  await load(target.url, await tarOf(replaceIn(parts, manifest, '"position"', '"\\"position\\""')))
})

test('a row that names a file outside of the store is refused, and so is a missing file of such a name', async () => {
  const media = parts.find(({ name }) => name === 'database/msgapp_media/000001') ?? assert.fail('no rows of files')
  const inside = /[0-9a-f-]{36}\/[0-9a-f]{2}\/[0-9a-f]{64}/
  const outside = await tarOf(replaceIn(parts, media.name, inside, '../../secret.txt'))
  const fault = /do not fit the table msgapp_media: .*violates check constraint/
  const { url } = await testDatabase()
  await assert.rejects(load(url, outside), (error) => error instanceof BadBackup && fault.test(error.message))
  const missing = replaceIn(parts, summary, '"missing": []', '"missing": ["media/../../secret.txt"]')
  await refusesEntries(await tarOf(missing), /summary\.json of the backup: "\/missing\/0" must match/, 'missing')
})
