import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { makeInboundReceiver } from '../inbound/inbound-receiver.ts'
import { contact, giveNumber, setPrices } from '../sms-testing.ts'

const world = await makeWorld()
const { app, call, db, parts, tenant } = world
await setPrices(world)
const inbound = makeInboundReceiver(db, parts)
const other = '+447911999999'

const send = async (who: Tenant, payload: string | Buffer | Readable, query = '') => {
  const headers = { 'x-user-api-key': who.key, 'content-type': 'text/csv' }
  const answer = await app.inject({ method: 'POST', url: `/open/sms/opt-outs/import${query}`, headers, payload })
  return { status: answer.statusCode, body: answer.json() }
}

const listed = async (who: Tenant): Promise<string[]> =>
  (await call(who, 'GET', '/open/sms/opt-outs?results_per_page=200')).body.opt_outs
    .map((one: Record<string, string>) =>
      [one.contact_number, one.phone_number ?? 'all', one.reason, one.note].filter(Boolean).join(' '),
    )
    .sort()

const outcome = async (who: Tenant, from: string, to = contact) => {
  const body = { from_number: from, to_number: to, text: 'hello' }
  const answer = await call(who, 'POST', '/open/sms/send', body)
  return answer.body.error_code ?? answer.status
}

test('a list of numbers is imported; repeated numbers are counted, and messages to them are refused', async () => {
  const who = await tenant()
  const { number } = await giveNumber(world, who)
  const file = `\ufeff${contact}\r\n+44 (0)7911 999-999\n\n${contact.slice(1)}\n`
  const { status, body } = await send(who, file, '?country=GB')
  assert.deepEqual([status, body], [201, { success: true, read: 3, created: 2, skipped: 1, bad_lines: 0, lines: [] }])
  assert.deepEqual(await listed(who), [`${contact} all import`, `${other} all import`])
  assert.deepEqual([await outcome(who, number), await outcome(who, number, other)], ['opted_out', 'opted_out'])
  const again = await send(who, `${contact}\n${other}\n+447911000001\n`)
  assert.deepEqual([again.body.created, again.body.skipped], [1, 2])
})

test('bad lines are reported with line and field, and the others are imported', async () => {
  const [who, neighbour] = [await tenant(), await tenant()]
  const [{ number }, theirs] = [await giveNumber(world, who), await giveNumber(world, neighbour)]
  const lines = [
    'note,Contact_Number,shoe size,phone_number',
    // A comma at the end of a line is no field.
    `"Asked, by mail",${contact},4,${number},`,
    `,nobody,,${number}`,
    `,${other},,${theirs.number}`,
    `${'x'.repeat(501)},${other},,none`,
    // A row without any text is none.
    ',,,',
    `,${other},,,,more`,
    `,'${other},,`,
  ]
  const { status, body } = await send(who, lines.join('\n'))
  assert.deepEqual([status, body.read, body.created, body.skipped, body.bad_lines], [201, 6, 2, 0, 4])
  assert.deepEqual(body.lines, [
    { line: 3, error: 'contact_number: "nobody" is not a phone number in E.164 format, such as +447700900123' },
    { line: 4, error: `phone_number: ${theirs.number} is not an SMS-capable number of this account` },
    {
      line: 5,
      error:
        'phone_number: "none" is not a phone number in E.164 format, such as +447700900123; note: it is longer than 500 characters',
    },
    { line: 7, error: 'there are 6 fields, but 4 columns' },
  ])
  assert.deepEqual(await listed(who), [`${contact} ${number} import Asked, by mail`, `${other} all import`])
})

test('a list of a German spreadsheet is read in its encoding and with its separator', async () => {
  const who = await tenant()
  const file = Buffer.from(`contact_number;note\r\n${contact};Per Telefon, für Müller\r\n`, 'latin1')
  assert.equal((await send(who, file)).status, 201)
  assert.deepEqual(await listed(who), [`${contact} all import Per Telefon, für Müller`])
})

test('a file without a single opt-out is refused with its bad lines', async () => {
  const who = await tenant()
  for (const [file, error] of [
    ['', 'the file has no opt-outs'],
    ['contact_number\n', 'the file has no opt-outs'],
    ['first_name\nAda\n', 'contact_number: the first line must name this column, or be a phone number'],
    ['contact_number\n"torn', 'the CSV cannot be read beyond this line: '],
  ] as const) {
    const { status, body } = await send(who, file)
    assert.deepEqual([status, body.error_code, body.bad_lines], [400, 'invalid_file', 1], JSON.stringify(body))
    assert.ok(body.lines[0].error.startsWith(error), body.lines[0].error)
  }
  assert.equal((await send(who, contact, '?country=ZZ')).body.field, '/query/country')
  assert.deepEqual(await listed(who), [])
})

test('an export of the list is imported by another account', async () => {
  const [who, next] = [await tenant(), await tenant()]
  await send(who, `contact_number,note\n${contact},"a ""note"", with ünïcode"\n${other},=1+1\n`)
  const { body } = await call(who, 'GET', '/open/sms/opt-outs?format=csv')
  const imported = await send(next, body)
  assert.deepEqual([imported.status, imported.body.created, imported.body.bad_lines], [201, 2, 0])
  assert.deepEqual(await listed(next), await listed(who))
})

test('START lifts an imported opt-out of its number, and none of all numbers', async () => {
  const who = await tenant()
  const { number } = await giveNumber(world, who)
  await send(who, `contact_number,phone_number\n${contact},${number}\n${other},\n`)
  for (const source of [contact, other])
    await inbound.add({ connection: uuid(), source, destination: number, text: 'START', concat: null, link: 'a' })
  assert.deepEqual([await outcome(who, number), await outcome(who, number, other)], [202, 'opted_out'])
})

test('imports at once in any order end without a deadlock, and add each number once', async () => {
  const who = await tenant()
  const numbers = Array.from({ length: 2_000 }, (_, i) => `+44791${String(i).padStart(7, '0')}`)
  const files = [numbers, [...numbers].reverse(), numbers]
  const answers = await Promise.all(files.map((file) => send(who, Readable.from([file.join('\n')]))))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 201, 201],
  )
  assert.equal(
    answers.reduce((sum, { body }) => sum + body.created, 0),
    2_000,
  )
  assert.equal(
    answers.reduce((sum, { body }) => sum + body.skipped, 0),
    4_000,
  )
})

test('an import beyond the quota is refused and leaves the list, and its row of the audit trail counts what it added', async () => {
  const who = await tenant()
  await call('operator', 'PATCH', `/operator/accounts/${who.uuid}`, { quotas: { opt_outs: 2 } })
  const refused = await send(who, `${contact}\n${other}\n+447911000001\n`)
  assert.deepEqual([refused.status, refused.body.limit, await listed(who)], [403, 'opt_outs', []])
  assert.equal((await send(who, `${contact}\nnobody\n`)).status, 201)
  const rows = await db.many<{ changes: { field: string; after: unknown }[] }>`
    select changes from audit where account_id = ${who.id} and action = 'importOptOuts'`
  assert.deepEqual(
    rows.map(({ changes }) => changes.map(({ field, after }) => [field, after])),
    [
      [
        ['created', 1],
        ['skipped', 0],
        ['bad_lines', 1],
      ],
    ],
  )
})
