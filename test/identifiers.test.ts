import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { quoteIdentifier } from '../src/platform/db/identifier.ts'
import { templatesOf } from './templates.ts'

// SQL is text, and a name that is joined into it is SQL too. Each one passes through quoteIdentifier().

const root = join(import.meta.dirname, '..')
const files = globSync('{src,simulator,scripts,bench,test,packages}/**/*.{ts,mjs}', {
  cwd: root,
  exclude: (name) => name === 'node_modules',
}).sort()

/** A text in SQL begins with one of these words. */
const isSql = (text: string): boolean =>
  /^[\s(]*(?:select|insert into|update|delete from|create|alter|drop|truncate|copy|lock table|analyze|vacuum|declare|with|begin|do|explain|set|grant|revoke|reindex|comment on)\b/.test(
    text,
  )

const words = [
  ...['(?<!distinct )from', 'join', 'into', 'update', 'table', 'only', 'truncate', 'copy', 'analyze', 'vacuum'],
  ...['\\(analyze\\)', 'index', 'schema', 'database', 'role', 'sequence', 'view', 'trigger', 'constraint', 'column'],
  ...['extension', 'function', 'rename to', 'owner to', 'on', 'set', 'template', 'exists', 'declare', 'cascade'],
]
/** The end of a text after which SQL expects a name, or that quotes one by hand. */
const expectsName = new RegExp(`(?:(?:^|[\\s(])(?:${words.join('|')})\\s+|"|\\w\\.)$`)
const quoted = /^\s*quoteIdentifiers?\(/

/** Values that are a row source or an assignment in the code, never a name from elsewhere. */
const sources = new Map<string, readonly string[]>([
  ['bench/database.ts', ['series']],
  ['scripts/console-data/fill-inbox.ts', ['joined']],
  ['src/platform/db/list-query.ts', ['rowsOfTable', 'each']],
  ['test/console/full-account.ts', ['change']],
  ['test/list-rows.ts', ['columns']],
])

type JoinedValue = { readonly place: string; readonly file: string; readonly value: string }

const joined: JoinedValue[] = files.flatMap((file) =>
  templatesOf(readFileSync(join(root, file), 'utf8'))
    .filter(({ isTagged, texts }) => !isTagged && isSql(texts[0] ?? ''))
    .flatMap(({ line, texts, values }) =>
      values
        .filter((_, at) => expectsName.test(texts[at] ?? '') || texts[at + 1]?.startsWith('.'))
        .map((value) => ({ place: `${file}:${line}`, file, value: value.trim() })),
    ),
)

test('each identifier that is joined into SQL passes through quoteIdentifier()', () => {
  const isQuoted = ({ value }: JoinedValue) => quoted.test(value)
  assert.ok(joined.filter(isQuoted).length >= 30, `saw only ${joined.filter(isQuoted).length} quoted identifiers`)
  const open = joined.filter((one) => !isQuoted(one))
  const faults = open.filter(({ file, value }) => !sources.get(file)?.includes(value))
  assert.deepEqual(
    faults.map(({ place, value }) => `${place}: \${${value}}`),
    [],
  )
  for (const [file, values] of sources)
    for (const value of values)
      assert.ok(
        open.some((one) => one.file === file && one.value === value),
        `${file} has no ${value} any more`,
      )
})

test('no SQL is built by adding a name to a text', () => {
  const added = /(?:\s|['"])(?:from|join|into|update|table|truncate|copy)\s+['"]\s*\+/
  assert.ok(added.test("'select * from ' + name"))
  const faults = files.filter(
    (file) => !file.startsWith('test/identifiers') && added.test(readFileSync(join(root, file), 'utf8')),
  )
  assert.deepEqual(faults, [])
})

test('the check finds a name in each place, and passes values and quoted names', () => {
  const found = (source: string) =>
    templatesOf(source.replaceAll('<', '${').replaceAll('>', '}')).filter(
      ({ isTagged, texts, values }) =>
        !isTagged &&
        isSql(texts[0] ?? '') &&
        values.some((value, at) => expectsName.test(texts[at] ?? '') && !quoted.test(value)),
    ).length
  for (const source of [
    '`select * from <a>`',
    '`copy <a> from stdin`',
    '`select 1 where "<a>" = 1`',
    '`do <f(`alter table <a>`)>`',
    '/* ` */ const b = /`/; `truncate <a>`',
  ])
    assert.equal(found(source), 1, source)
  for (const source of [
    'sql.many`select * from <a>`',
    '`select * from <quoteIdentifier(a)> where b = <c>`',
    '`from <a>`',
  ])
    assert.equal(found(source), 0, source)
})

test('a quoted identifier is one name, whatever it holds', () => {
  assert.equal(quoteIdentifier('a"b; drop table c --'), '"a""b; drop table c --"')
  for (const name of ['', 'a\0b', 'x'.repeat(64)]) assert.throws(() => quoteIdentifier(name), /cannot be the name/)
})
