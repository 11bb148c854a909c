import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { contracts } from '../src/contracts.ts'
import { upsertConnection } from '../src/domains/connections/ops.ts'
import { numberJobs } from '../src/domains/numbers/jobs.ts'
import { smsJobs } from '../src/domains/sms/jobs.ts'
import { makeLog } from '../src/log.ts'
import { quoteIdentifier } from '../src/platform/db/identifier.ts'
import { startWorker } from '../src/platform/jobs/consume/worker.ts'
import { recipes } from './recipes/all.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { send } from './recipes/send.ts'

// A walk through every endpoint with marked secrets; afterwards the whole database and log are searched for them.

const mark = 'ZQXSECRETTEXTZQX'
const lines: string[] = []
const log = makeLog('trace', { write: (line) => void lines.push(line) })

const world = await makeRecipeWorld({ log })
const { db, parts, carrier, operatorKey } = world
const scene = await makeScene(world, mark)

/** Keys and passwords that may occur only in the answer that shows them. */
const secrets = new Map([
  ['the key of the tenant', scene.tenant.key],
  ['the key of the operator', operatorKey],
  ['the password of the carrier', carrier.password],
  ['the password of a connection', `${mark}-password`],
])
const handset = '+447700900777'

const settings = { host: '127.0.0.1', port: carrier.smppPort, system_id: 'trunkline', password: carrier.password }
const sandbox = await db.begin((tx) =>
  upsertConnection(tx, parts.seal, parts.changes, {
    kind: 'smpp',
    name: 'sandbox',
    settings: { ...settings, sandbox: true },
  }),
)
/** Starts what carries texts, after the walk: its recipes expect that nothing is submitted. */
const startCarrying = async () => {
  await parts.carriers.start()
  const worker = startWorker({ db, log, kinds: [...numberJobs(parts), ...smsJobs(parts)] })
  after(async () => {
    await worker.stop()
    await parts.carriers.close()
  })
  assert.equal((await parts.carriers.whenSettled(sandbox, 10))?.state, 'up')
}

const until = async (what: string, isSo: () => Promise<boolean>) => {
  const end = Date.now() + 10_000
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`)
    await pause(20)
  }
}

test('a walk through every endpoint, with secrets in every request', async () => {
  for (const contract of contracts) {
    const recipe = recipes[contract.id]
    assert.ok(recipe, `${contract.id} has no recipe: give it one in test/recipes`)
    const headers = { 'idempotency-key': randomUUID() }
    const request = await recipe.ok(scene)
    const answer = await send(world, contract, scene.tenant, request, { headers })
    assert.equal(answer.status, contract.status, answer.text)
    for (const [, name = '', secret = ''] of answer.text.matchAll(/"(key|token|password)":"([^"]{20,})"/g))
      secrets.set(`${name} of ${contract.id}`, secret)
    // Refused requests count, too: wrong keys, and secrets in unexpected places.
    await send(world, contract, scene.tenant, { ...request, body: { [mark]: secrets.get('the key of the tenant') } })
    await send(world, contract, scene.tenant, request, { key: `${scene.tenant.key}x` })
  }
  assert.ok(secrets.size >= 6, `saw only ${[...secrets.keys()].join(', ')}`)
})

test('messages are sent to a handset and received from it', async () => {
  await startCarrying()
  const { number } = await scene.number()
  const text = `${mark} ${'long '.repeat(60)}`
  const sent = await world.call(scene.tenant, 'POST', '/open/sms/send', {
    from_number: number,
    to_number: handset,
    text,
  })
  assert.equal(sent.status, 202)
  const shown = async () => (await world.call(scene.tenant, 'GET', `/open/sms/message/${sent.body.message_uuid}`)).body
  await until('the text is delivered', async () => (await shown()).message.status === 'delivered')
  const back = await world.call(scene.tenant, 'POST', `/sandbox/handsets/%2B${handset.slice(1)}/sms`, {
    to: number,
    text,
  })
  assert.equal(back.status, 202)
  await until('the answer is here', async () => {
    const rows = await db.many`select 1 from sms_messages where direction = 'inbound' and text = ${text}`
    return rows.length === 1
  })
})

test('faults are logged whose errors contain rows of the database', async () => {
  const { number } = await scene.number()
  await db.raw(`alter table sms_messages add constraint never check (text = '') not valid`)
  await db.raw(`alter table users add constraint never check (email = '') not valid`)
  const sms = { from_number: number, to_number: handset, text: mark }
  assert.equal((await world.call(scene.tenant, 'POST', '/open/sms/send', sms)).status, 500)
  const user = { first_name: mark, last_name: mark, email: 'marked@example.com' }
  const url = `/operator/accounts/${scene.tenant.uuid}/users`
  assert.equal((await world.call('operator', 'POST', url, user)).status, 500)
  await db.raw('alter table sms_messages drop constraint never; alter table users drop constraint never')
  assert.ok(lines.some((line) => line.includes('request failed')))
})

/** Encodings in which a secret could hide. */
const forms = (secret: string): string[] => {
  const bytes = Buffer.from(secret)
  return [secret, bytes.toString('hex'), bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url')]
}

test('the database contains no key and no password', async () => {
  const tables = await db.many<{ schema: string; name: string }>`
    select schemaname as schema, tablename as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema') and schemaname not like 'pg\\_temp\\_%'`
  assert.ok(tables.length >= 20, `saw only ${tables.length} tables`)
  let whole = ''
  for (const { schema, name } of tables) {
    const rows = await db.raw<{ row: string }>(
      `select t::text as row from ${quoteIdentifier(schema)}.${quoteIdentifier(name)} t limit 5000`,
    )
    whole += rows.map(({ row }) => row).join('\n')
  }
  assert.ok(whole.includes(mark), 'the walk left nothing in the database')
  for (const [name, secret] of secrets)
    for (const form of forms(secret)) assert.ok(!whole.includes(form), `${name} is in the database`)
})

test('the log contains no key, password, message text or complete number', () => {
  const whole = lines.join('')
  assert.ok(lines.length >= 3, `saw only ${lines.length} lines`)
  for (const [name, secret] of secrets)
    for (const form of forms(secret)) assert.ok(!whole.includes(form), `${name} is in the log`)
  const found = lines.filter((line) => line.includes(mark) || /44(?:7700900|1632)\d+/.test(line))
  assert.deepEqual(found, [])
})
