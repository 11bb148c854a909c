import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { readConfig } from '../src/config.ts'
import { upsertConnection } from '../src/domains/connections/ops.ts'
import type { Tx } from '../src/platform/db/sql.ts'
import { storedBytes } from '../src/platform/http/quotas.ts'
import { type QuotaName, quotaDefinitions, quotaNames } from '../src/platform/lib/quota-definitions.ts'
import { until } from './platform.ts'
import { type Answer, makeWorld, type Tenant } from './world.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_QUOTAS: 'reservations=3,trial.reservations=1' })
const { app, call, db, parts, tenant } = world

const setQuotas = async (who: Tenant, values: { [Name in QuotaName]?: number | null }) => {
  const { status, body } = await call('operator', 'PATCH', `/operator/accounts/${who.uuid}`, { quotas: values })
  assert.equal(status, 200, JSON.stringify(body))
  return body.account.quotas
}

const limited = async (values: { [Name in QuotaName]?: number }) => {
  const who = await tenant()
  await setQuotas(who, values)
  return who
}

const isRefusal = ({ status, body }: Answer, name: QuotaName, value: number) => {
  assert.equal(status, 403, JSON.stringify(body))
  assert.deepEqual([body.error_code, body.limit], ['limit_exceeded', name])
  assert.ok(body.error_message.includes(`${value} ${quotaDefinitions[name].unit}`), body.error_message)
  assert.ok(body.error_message.includes(`raise the limit ${name}`), body.error_message)
}

/** Exactly one of several concurrent requests is fulfilled; the others name the limit. */
const isOneTaken = (answers: readonly Answer[], name: QuotaName, value: number) => {
  const [taken, refused] = [answers.filter(({ status }) => status < 300), answers.filter(({ status }) => status >= 300)]
  assert.equal(taken.length, 1, JSON.stringify(answers.map(({ body }) => body)))
  for (const answer of refused) isRefusal(answer, name, value)
  return taken[0]
}

let made = 0
const takers = 4
const atOnce = (make: () => Promise<Answer>) => Promise.all(Array.from({ length: takers }, make))

const hook = (who: Tenant) =>
  call(who, 'POST', '/open/webhooks/subscribe/contact.created', { hook_url: `http://127.0.0.1:9000/${++made}` })

test('an account may have as many enabled webhooks as its quota, and a deleted or disabled one frees a place', async () => {
  const ada = await limited({ webhooks: 2 })
  const { body } = await hook(ada)
  const taken = isOneTaken(await atOnce(() => hook(ada)), 'webhooks', 2)
  const url = `/open/webhooks/${body.data.uuid}`
  assert.equal((await call(ada, 'PUT', url, { enabled: false })).status, 200)
  assert.equal((await hook(ada)).status, 201)
  isRefusal(await call(ada, 'PUT', url, { enabled: true }), 'webhooks', 2)
  await call(ada, 'DELETE', `/open/webhooks/${taken?.body.data.uuid}`)
  assert.equal((await call(ada, 'PUT', url, { enabled: true })).status, 200)
})

test('a change waits for another of its account and quota that has not committed, and counts it', async () => {
  const { id } = await tenant()
  const holder = { id, onTrial: false, quotas: { webhooks: 1 } }
  const take = async (tx: Tx) => {
    await tx.run`
      insert into webhooks (account_id, id, event, event_name, hook_url, sealed_secret, created_at, updated_at)
      values (${id}, gen_random_uuid(), 'x', 'x', ${`http://127.0.0.1:9000/${++made}`}, '', now(), now())`
    await parts.quotas.check(tx, holder, 'webhooks', async () => {
      const { used } = await tx.one<{ used: number }>`
        select count(*)::integer as used from webhooks where account_id = ${id}`
      return used
    })
  }
  const second = await db.begin(async (tx) => {
    await take(tx)
    const second = assert.rejects(db.begin(take), { code: 'limit_exceeded' })
    await until(async () => db.maybe`select from pg_locks where locktype = 'advisory' and not granted`)
    return { isRefused: second }
  })
  await second.isRefused
})

test('an existing webhook can be subscribed again although the quota is used up', async () => {
  const ada = await limited({ webhooks: 5 })
  const body = { hook_url: 'http://127.0.0.1:9000/same' }
  const subscribe = () => call(ada, 'POST', '/open/webhooks/subscribe/contact.created', body)
  assert.equal((await subscribe()).status, 201)
  await setQuotas(ada, { webhooks: 0 })
  assert.equal((await subscribe()).status, 200)
})

test('disabled webhooks are limited, too: ten of them count as one', async () => {
  const ada = await limited({ webhooks: 1 })
  for (let n = 0; n < 10; n++) {
    const { body } = await hook(ada)
    await call(ada, 'PUT', `/open/webhooks/${body.data.uuid}`, { enabled: false })
  }
  isRefusal(await hook(ada), 'webhooks', 1)
})

test('an account may have as many channels as its quota, and a deleted one frees a place', async () => {
  const settings = { host: '127.0.0.1', port: 9, token: 'a token for these tests' }
  await db.begin((tx) =>
    upsertConnection(tx, parts.seal, parts.changes, { kind: 'sandbox', name: 'chat', settings, shared: true }),
  )
  const ada = await limited({ channels: 2 })
  const create = () => call(ada, 'POST', '/open/msgapp/channel/create', { phone_number: `+4477009${10_000 + ++made}` })
  const first = await create()
  assert.equal(first.status, 201, JSON.stringify(first.body))
  isOneTaken(await atOnce(create), 'channels', 2)
  await call(ada, 'DELETE', `/open/msgapp/channel/${first.body.channel.uuid}`)
  isOneTaken(await atOnce(create), 'channels', 2)
})

const contact = (who: Tenant) =>
  call(who, 'POST', '/open/contacts', {
    first_name: 'Ada',
    contact_details: [{ type: 'PH', value: `+4477${10_000_000 + ++made}` }],
  })

test('an account may have as many contacts as its quota, and a deleted one frees a place', async () => {
  const ada = await limited({ contacts: 3 })
  const first = await contact(ada)
  assert.equal((await contact(ada)).status, 201)
  isOneTaken(await atOnce(() => contact(ada)), 'contacts', 3)
  await call(ada, 'DELETE', `/open/contacts/${first.body.contact.uuid}`)
  isOneTaken(await atOnce(() => contact(ada)), 'contacts', 3)
  assert.equal((await call(ada, 'GET', '/open/contacts')).body.total, 3)
})

const importFile = async (who: Tenant, numbers: readonly number[], query = ''): Promise<Answer> => {
  const lines = numbers.map((n) => `Ada,+4477${10_000_000 + n}`)
  const answer = await app.inject({
    method: 'POST',
    url: `/open/contacts/import${query}`,
    headers: { 'x-user-api-key': who.key, 'content-type': 'text/csv' },
    payload: `first_name,phone\n${lines.join('\n')}\n`,
  })
  return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
}
const numbersFrom = (first: number, count: number) => Array.from({ length: count }, (_, n) => first + n)

test('an import that would exceed the quota of contacts imports nothing, and one that only repeats is fulfilled', async () => {
  const ada = await limited({ contacts: 10 })
  const total = async () => (await call(ada, 'GET', '/open/contacts')).body.total
  assert.equal((await importFile(ada, numbersFrom(1, 8))).body.created, 8)
  for (const query of ['', '?duplicates=merge', '?duplicates=create'])
    isRefusal(await importFile(ada, numbersFrom(101, 3), query), 'contacts', 10)
  isRefusal(await importFile(ada, numbersFrom(101, 1_000)), 'contacts', 10)
  isRefusal(await importFile(ada, numbersFrom(1, 8), '?duplicates=create'), 'contacts', 10)
  assert.equal(await total(), 8)
  const again = await importFile(ada, numbersFrom(1, 10))
  assert.deepEqual([again.body.created, again.body.skipped], [2, 8])
  const { left } = await db.one<{ left: number }>`
    select count(*)::integer as left from contact_import_entries where account_id = ${ada.id}`
  assert.deepEqual([await total(), left], [10, 0])
})

test('an import and single contacts at the same time do not exceed the quota together', async () => {
  const ada = await limited({ contacts: 60 })
  const answers = await Promise.all([
    importFile(ada, numbersFrom(1, 50)),
    ...Array.from({ length: 20 }, () => contact(ada)),
  ])
  const { body } = await call(ada, 'GET', '/open/contacts')
  assert.ok(body.total <= 60, `${body.total} contacts`)
  for (const answer of answers) if (answer.status !== 201) isRefusal(answer, 'contacts', 60)
  const { rows } = await db.one<{ rows: number }>`
    select count(*)::integer as rows from contacts where account_id = ${ada.id}`
  assert.equal(rows, body.total)
})

test('an account may have as many running imports as its quota, and a finished one frees a place', async () => {
  const ada = await limited({ imports: 1 })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const { promise: rest, resolve: finish } = Promise.withResolvers<string>()
  const slow = fetch(`${address}/open/contacts/import`, {
    method: 'POST',
    headers: { 'x-user-api-key': ada.key, 'content-type': 'text/csv' },
    body: Readable.toWeb(
      Readable.from(
        (async function* () {
          yield 'first_name,phone\n'
          yield await rest
        })(),
      ),
    ) as ReadableStream, // Node's stream type is the one that its fetch accepts
    duplex: 'half',
  })
  await until(async () => db.maybe`select from contact_imports where account_id = ${ada.id}`)
  isRefusal(await importFile(ada, [1]), 'imports', 1)
  finish('Ada,+447700900001\n')
  assert.equal((await slow).status, 201)
  await until(async () => (await importFile(ada, [2])).status === 201)
})

test('an import whose process was killed counts as running for half a minute at most', async () => {
  const ada = await limited({ imports: 1 })
  await db.run`
    insert into contact_imports (account_id, id, renewed_at)
    values (${ada.id}, gen_random_uuid(), clock_timestamp() - interval '31 seconds')`
  assert.equal((await importFile(ada, [3])).status, 201)
})

test('an account may reserve as many numbers as its quota, and a cancelled reservation frees a place', async () => {
  await db.run`
    insert into number_groups (id, iso_country_code, type, prefix, location, folded, setup_price, monthly_price, ppm,
      allow_number_selection, is_eligible_for_free_number, supplier)
    values ('rush', 'GB', 'local', '1632', 'Nowhere', 'nowhere', 1, 1.5, 0.005, true, false, 'own')`
  await db.run`
    insert into numbers (number, group_id, shuffle)
    select '+441632' || 100000 + n, 'rush', n from generate_series(1, 50) n`
  await db.run`insert into number_stock (group_id, free) values ('rush', 50)`
  const ada = await tenant({ balance: '0' })
  const reserve = () => call(ada, 'POST', '/open/numbers/reservations', { group_id: 'rush' })
  const first = await reserve()
  assert.equal(first.status, 201, JSON.stringify(first.body))
  assert.equal((await reserve()).status, 201)
  isOneTaken(await atOnce(reserve), 'reservations', 3)
  await call(ada, 'DELETE', `/open/numbers/reservations/${first.body.data.reservation_details.uuid}`)
  isOneTaken(await atOnce(reserve), 'reservations', 3)
  const { free } = await db.one<{ free: number }>`
    select count(*)::integer as free from numbers where group_id = 'rush' and state = 'free'`
  assert.equal(free, 47, 'a refused reservation holds no number')
})

const upload = async (who: Tenant, bytes: number): Promise<Answer> => {
  const file = Buffer.alloc(bytes)
  file.write('%PDF-1.7\n')
  const answer = await app.inject({
    method: 'POST',
    url: '/open/numbers/documents?kind=identity&name=a.pdf',
    headers: { 'x-user-api-key': who.key, 'content-type': 'application/pdf' },
    payload: file,
  })
  return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
}

test('an account may store as many bytes as its quota, and a deleted document frees space', async () => {
  const ada = await limited({ stored_bytes: 2_500 })
  const first = await upload(ada, 1_000)
  isOneTaken(await atOnce(() => upload(ada, 1_000)), 'stored_bytes', 2_500)
  assert.equal(await storedBytes(db, ada.id), 2_000)
  await call(ada, 'DELETE', `/open/numbers/documents/${first.body.document.uuid}`)
  assert.equal(await storedBytes(db, ada.id), 1_000)
  isOneTaken(await atOnce(() => upload(ada, 1_000)), 'stored_bytes', 2_500)
})

test('stored bytes count files of messages and recordings, however they are added and removed', async () => {
  const ada = await tenant()
  const bytes = () => storedBytes(db, ada.id)
  await db.run`
    insert into msgapp_media (account_id, id, channel_id, type, mime_type, name, created_at)
    select ${ada.id}, gen_random_uuid(), gen_random_uuid(), 'image', 'image/png', 'a', now() from generate_series(1, 3)`
  assert.equal(await bytes(), 0)
  await db.run`update msgapp_media set key = account_id || '/00/' || repeat('0', 64), size = 100 where account_id = ${ada.id}`
  assert.equal(await bytes(), 300)
  await db.run`
    update msgapp_media set error = 'too old'
    where id = (select id from msgapp_media where account_id = ${ada.id} limit 1)`
  assert.equal(await bytes(), 200)
  await db
    .begin(async (tx) => {
      await tx.run`delete from msgapp_media where account_id = ${ada.id}`
      throw new Error('undone')
    })
    .catch(() => {})
  assert.equal(await bytes(), 200)
  await db.run`delete from msgapp_media where account_id = ${ada.id}`
  assert.equal(await bytes(), 0)
})

test('quotas come from the account, else the settings, else the defaults, and are shown with their usage', async () => {
  const [ada, eve] = [await tenant(), await tenant({ onTrial: true })]
  const info = async (who: Tenant) => (await call(who, 'GET', '/open/info')).body
  const { requests_per_minute: _, ...limits } = (await info(ada)).limits
  const defaults = Object.fromEntries(quotaNames.map((name) => [name, quotaDefinitions[name].paid]))
  assert.deepEqual(limits, { ...defaults, reservations: 3 })
  const { limits: trial } = await info(eve)
  assert.deepEqual([trial.reservations, trial.webhooks], [1, quotaDefinitions.webhooks.trial])
  await contact(ada)
  await hook(ada)
  await upload(ada, 500)
  const { usage } = await info(ada)
  assert.deepEqual([usage.webhooks, usage.contacts, usage.channels, usage.stored_bytes], [1, 1, 0, 500])

  assert.equal((await setQuotas(ada, { webhooks: 7, contacts: 8 })).webhooks, 7)
  assert.deepEqual((await info(ada)).limits.webhooks, 7, 'a change applies at once')
  const changed = await setQuotas(ada, { webhooks: null })
  assert.deepEqual([changed.webhooks, changed.contacts], [quotaDefinitions.webhooks.paid, 8])
  const made = await call('operator', 'POST', '/operator/accounts', { name: 'New', quotas: { channels: 4 } })
  assert.equal(made.body.account.quotas.channels, 4)
  for (const wrong of [{ webhook: 1 }, { webhooks: -1 }, { webhooks: 1.5 }])
    assert.equal((await call('operator', 'PATCH', `/operator/accounts/${ada.uuid}`, { quotas: wrong })).status, 400)
})

test('refusals are counted by the name of the limit', async () => {
  const read = async () =>
    Number(/quota_refusals_total{limit="webhooks"} (\d+)/.exec(await parts.metrics.registry.metrics())?.[1])
  const before = await read()
  await hook(await limited({ webhooks: 0 }))
  assert.equal(await read(), before + 1)
})

test('the manual lists every quota with its defaults', () => {
  const manual = readFileSync(join(import.meta.dirname, '../docs/operating/quotas.md'), 'utf8')
  for (const name of quotaNames) {
    const { paid, trial, description } = quotaDefinitions[name]
    assert.ok(manual.includes(`| \`${name}\` | ${paid} | ${trial} | ${description} |`), name)
  }
})

test('a quota of 0 is refused if it would block work forever', async () => {
  assert.throws(
    () => readConfig({ TRUNKLINE_QUOTAS: 'trial.fanouts=0' }),
    /TRUNKLINE_QUOTAS must give fanouts at least 1/,
  )
  const who = await world.tenant()
  const { status, body } = await call('operator', 'PATCH', `/operator/accounts/${who.uuid}`, { quotas: { fanouts: 0 } })
  assert.equal(status, 400)
  assert.match(body.error_message, /fanouts/)
})
