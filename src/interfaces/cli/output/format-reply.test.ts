import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { Ok, Time } from '../../../platform/http/schema.ts'
import { checkColumns, formatReply } from './format-reply.ts'

const row = Type.Object({ at: Time, name: Type.String(), inner: Type.Object({ state: Type.String() }) })
const reply = Ok({ count: Type.Integer(), rows: Type.Array(row) })
const rows = [
  { at: '2026-01-01T00:00:00Z', name: 'first', inner: { state: 'up' } },
  { at: '2026-01-02T00:00:00Z', name: 'second' },
]

test('lists are tables below the other fields, with times last', () => {
  const text = formatReply(reply, { success: true, count: 2, rows }, Number.POSITIVE_INFINITY)
  assert.equal(
    text,
    [
      'count  2',
      '',
      'name    inner.state  at',
      'first   up           2026-01-01T00:00:00Z',
      'second               2026-01-02T00:00:00Z',
    ].join('\n'),
  )
})

test('a table is no wider than the terminal, and lists the omitted columns', () => {
  const lines = formatReply(reply, { success: true, rows }, 24).split('\n')
  assert.equal(lines[0], 'name    inner.state')
  assert.match(lines.at(-1) ?? '', /not shown: at/)
})

test('columns that a schema names form the table, also of lists within a row', () => {
  const item = Type.Object(
    { at: Time, uuid: Type.String(), changes: Type.Array(Type.Object({ field: Type.String() })) },
    { 'x-columns': ['at', 'changes.field'] },
  )
  const acts = [{ at: '2026-01-01T00:00:00Z', uuid: 'AUD1', changes: [{ field: 'name' }, { field: 'blocked' }] }]
  const text = formatReply(Ok({ acts: Type.Array(item) }), { success: true, acts }, Number.POSITIVE_INFINITY)
  assert.equal(text, 'at                    changes.field\n2026-01-01T00:00:00Z  name,blocked')
})

test('an object is a record, and an empty reply is reported too', () => {
  const schema = Ok({ row })
  assert.equal(
    formatReply(schema, { success: true, row: { name: 'x', inner: { state: 'up' } } }, 80),
    'name         x\ninner.state  up',
  )
  assert.equal(formatReply(schema, { success: true }, 80), 'done')
  assert.equal(formatReply(reply, { success: true, rows: [] }, 80), '(none)')
})

test('a name cannot move the cursor of the terminal', () => {
  const text = formatReply(Ok({ row }), { success: true, row: { name: 'a\u001b[2Jb\u0007' } }, 80)
  assert.equal(text, 'name  a\\x1b[2Jb\\x07')
})

const wide = Type.Object(Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`c${i}`, Type.Integer()])))
const wideReply = Ok({ rows: Type.Array(wide) })
const wideRows = [Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`c${i}`, i]))]

test('a table has seven columns, and names the others', () => {
  const [head, , last] = formatReply(wideReply, { success: true, rows: wideRows }, Number.POSITIVE_INFINITY).split('\n')
  assert.equal(head, 'c0  c1  c2  c3  c4  c5  c6')
  assert.match(last ?? '', /^\(not shown: c7, c8; --columns/)
})

test('the columns that the user names form the table; an unknown one is refused with the known ones', () => {
  const reply = { success: true, rows: wideRows }
  assert.equal(formatReply(wideReply, reply, 3, ['c8', 'c0']), 'c8  c0\n8   0')
  assert.throws(() => checkColumns(wideReply, ['c9']), /there is no column "c9".*The columns are c0, c1/)
})

test('a null value is shown as the default in force, and marked', () => {
  const limits = Type.Object({ calls: Type.Union([Type.Integer(), Type.Null()]), spend: Type.String() })
  const schema = Ok({ limits, defaults: Type.Object({ calls: Type.Integer() }, { 'x-defaults-of': 'limits' }) })
  const reply = { success: true, limits: { calls: null, spend: '5' }, defaults: { calls: 20, spend: '50' } }
  assert.equal(formatReply(schema, reply, Number.POSITIVE_INFINITY), 'calls  20 (default)\nspend  5')
})
