import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { quoteIdentifier } from '../../platform/db/identifier.ts'

const world = await makeWorld()
const { db, call, app } = world
const [ada, bob] = [await world.tenant(), await world.tenant()]

const mebibyte = 1024 * 1024
const begin = {
  'application/pdf': Buffer.from('%PDF-1.7\n'),
  'image/jpeg': Buffer.from([0xff, 0xd8, 0xff, 0xe0]),
  'image/png': Buffer.from('89504e470d0a1a0a', 'hex'),
}
type Type = keyof typeof begin

const upload = async (who: Tenant, file: Buffer | Readable, type = 'application/pdf', headers = {}) => {
  const answer = await app.inject({
    method: 'POST',
    url: '/open/numbers/documents?kind=identity&name=Pass%20%C3%9Cber.pdf',
    headers: { 'x-user-api-key': who.key, 'content-type': type, ...headers },
    payload: file,
  })
  return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
}
const download = (who: Tenant, uuid: string) =>
  app.inject({ url: `/open/numbers/documents/${uuid}/content`, headers: { 'x-user-api-key': who.key } })

const filled = (type: Type, size: number) => Buffer.concat([begin[type], randomBytes(size - begin[type].length)])

/** True if any column of any table holds the bytes, as text or as bytea. */
const standsInDatabase = async (bytes: Buffer): Promise<boolean> => {
  const columns = await db.many<{ table: string; column: string; type: string }>`
    select table_name as table, column_name as column, data_type as type from information_schema.columns
    where table_schema = 'public'`
  assert.ok(columns.length > 100)
  for (const { table, column, type } of columns) {
    const looked = type === 'bytea' ? quoteIdentifier(column) : `convert_to(${quoteIdentifier(column)}::text, 'UTF8')`
    const sql = `select 1 from ${quoteIdentifier(table)} where position('\\x${bytes.toString('hex')}'::bytea in ${looked}) > 0 limit 1`
    if ((await db.raw(sql)).length > 0) return true
  }
  return false
}

test('a download equals the uploaded file, for each type and up to 16 MiB', async () => {
  for (const [type, size] of [
    ['application/pdf', 16 * mebibyte],
    ['image/jpeg', mebibyte],
    ['image/png', mebibyte + 1],
    ['application/pdf', 9],
  ] as const) {
    const file = filled(type, size)
    const { status, body } = await upload(ada, file, type)
    assert.equal(status, 201, JSON.stringify(body))
    assert.deepEqual([body.document.size, body.document.media_type, body.document.kind], [size, type, 'identity'])
    const answer = await download(ada, body.document.uuid)
    assert.equal(answer.statusCode, 200)
    assert.ok(answer.rawPayload.equals(file))
    assert.equal(answer.headers['content-type'], type)
    assert.equal(answer.headers['content-disposition'], "attachment; filename*=UTF-8''Pass%20%C3%9Cber.pdf")
    assert.equal(answer.headers['x-content-type-options'], 'nosniff')
    assert.deepEqual(
      (await call(ada, 'GET', `/open/numbers/documents/${body.document.uuid}`)).body.document,
      body.document,
    )
  }
})

test('a file over 16 MiB is refused with 413, with or without content-length, and other types with 415', async () => {
  const big = filled('application/pdf', 16 * mebibyte + 1)
  assert.deepEqual([(await upload(ada, big)).status, (await upload(ada, big)).body.error_code], [413, 'body_too_large'])
  assert.equal((await upload(ada, Readable.from([big.subarray(0, mebibyte), big.subarray(mebibyte)]))).status, 413)
  for (const type of ['text/plain', 'image/gif', 'text/csv', 'application/json'])
    assert.equal((await upload(ada, Buffer.from('{}'), type)).status, 415, type)
  // Endpoints without files refuse a file.
  const answer = await app.inject({
    method: 'POST',
    url: '/open/numbers/purchase',
    headers: { 'x-user-api-key': ada.key, 'content-type': 'application/pdf' },
    payload: begin['application/pdf'],
  })
  assert.equal(answer.statusCode, 415)
})

test('a file that does not match its content-type is refused', async () => {
  for (const type of Object.keys(begin) as Type[])
    for (const other of Object.keys(begin) as Type[]) {
      const { status, body } = await upload(ada, filled(other, 2000), type)
      assert.equal(status, type === other ? 201 : 400, `${other} as ${type}`)
      if (type !== other) assert.equal(body.error_code, 'invalid_document')
    }
  assert.equal((await upload(ada, Buffer.alloc(0))).status, 400)
})

test('the database holds no plain bytes of a file', async () => {
  const secret = randomBytes(24).toString('base64url')
  const file = Buffer.from(`%PDF-1.7 ${secret}${' '.repeat(mebibyte)}${secret}`)
  assert.equal((await upload(ada, file)).status, 201)
  assert.equal(await standsInDatabase(Buffer.from('Pass Über.pdf')), true)
  assert.equal(await standsInDatabase(Buffer.from(secret)), false)
})

test('a sealed part that was moved to another position does not open', async () => {
  const { body } = await upload(ada, filled('application/pdf', 2 * mebibyte))
  const id = body.document.uuid.slice(3)
  await db.run`
    update document_parts a set sealed = b.sealed from document_parts b
    where a.document_id = ${id} and a.part = 1 and b.document_id = ${id} and b.part = 0`
  await assert.rejects(download(ada, body.document.uuid))
})

test('documents of other accounts answer 404; own ones are listed newest first and deleted permanently', async () => {
  const [old, young] = [await upload(bob, begin['application/pdf']), await upload(bob, begin['image/png'], 'image/png')]
  const uuids = [young, old].map(({ body }) => body.document.uuid)
  const list = await call(bob, 'GET', '/open/numbers/documents')
  assert.deepEqual(
    list.body.documents.map((row: { uuid: string }) => row.uuid),
    uuids,
  )
  for (const url of uuids.map((uuid) => `/open/numbers/documents/${uuid}`)) {
    for (const path of [url, `${url}/content`]) assert.equal((await call(ada, 'GET', path)).status, 404)
    assert.equal((await call(ada, 'DELETE', url)).status, 404)
    assert.equal((await call(bob, 'DELETE', url)).status, 200)
    assert.equal((await call(bob, 'GET', `${url}/content`)).status, 404)
  }
  const left = await db.one`select count(*) as parts from document_parts where account_id = ${bob.id}`
  assert.deepEqual(left, { parts: 0 })
})

test('concurrent uploads cannot exceed the byte limit of an account', async () => {
  const eve = await world.tenant()
  const row = { account: eve.id, size: 128 * mebibyte }
  await db.run`
    insert into documents (account_id, id, name, kind, media_type, size)
    select ${row.account}, gen_random_uuid(), 'large', 'proof', 'application/pdf', ${row.size} - 16 * 1024 * 1024 * (n - 1)
    from generate_series(1, 2) n`
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => upload(eve, filled('application/pdf', 12 * mebibyte))),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409])
})

test('uploads beyond the share of an account are refused with Retry-After; those of other accounts wait', async () => {
  const file = filled('application/pdf', 16 * mebibyte)
  const [eager, ...others] = await Promise.all(Array.from({ length: 10 }, () => world.tenant()))
  assert.ok(eager)
  const own = Array.from({ length: 10 }, () => upload(eager, file))
  const answers = await Promise.all(others.map((tenant) => upload(tenant, file)))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201])
  const refused = (await Promise.all(own)).filter(({ status }) => status !== 201)
  assert.ok(refused.length >= 1)
  for (const { status, body, headers } of refused)
    assert.deepEqual([status, body.error_code, headers['retry-after']], [503, 'too_many_uploads', '1'])
  assert.equal((await upload(eager, file)).status, 201, 'the memory is free again')
})

test('a repeated upload with the same Idempotency-Key is stored once', async () => {
  const twin = { 'idempotency-key': 'scan-1' }
  const file = filled('application/pdf', 3 * mebibyte)
  const [first, second] = [
    await upload(bob, file, 'application/pdf', twin),
    await upload(bob, file, 'application/pdf', twin),
  ]
  assert.deepEqual([first.status, second.body], [201, first.body])
  assert.equal(second.headers['idempotent-replayed'], 'true')
  assert.equal((await upload(bob, begin['application/pdf'], 'application/pdf', twin)).status, 409)
})
