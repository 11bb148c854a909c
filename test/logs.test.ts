import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { quoteIdentifier } from '../src/platform/db/identifier.ts'
import { apiKey, buyNumber, operatorKey, startPlatform, until } from './platform.ts'

// The whole program at log level debug: the output of the program, its carriers and its PostgreSQL is searched.

/** Part of every message text; short, so that an excerpt in an error contains it. */
const mark = 'ZQXMQ'
const secrets = { hook: 'hooksecretZQXHOOK', app: 'app-secret-ZQXAPP', access: 'access-token-ZQXTOKEN' }
const handset = '+447700900777'
const platform = await startPlatform(undefined, { TRUNKLINE_LOG: 'trace' })
after(() => platform.end())
const { call, output, url, home } = platform

const folder = join(home, 'postgres/18')
const sql = new pg.Client({
  ...{ host: join(folder, 'data'), user: 'trunkline', database: 'trunkline' },
  password: readFileSync(join(folder, 'password'), 'utf8').trim(),
})
await sql.connect()

const must = async (method: string, path: string, body?: object) => {
  const answer = await call(method, path, body)
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}
const logged = (text: string) => until(async () => output().includes(text), 40)
const { number } = await buyNumber(platform)
const chat = (await must('GET', '/open/msgapp/get-numbers')).numbers[0]
const sms = { from_number: number, to_number: handset, text: `${mark} out` }
const fromHandset = (what: string, to: string) =>
  call('POST', `/sandbox/handsets/${handset}/${what}`, { to, text: `${mark} in` })
const messages = async (from: string, text: string) =>
  (await sql.query(`select from ${quoteIdentifier(from)} where text = $1`, [text])).rowCount ?? 0

test('messages go out and come in, and webhooks fail', async () => {
  const hook_url = `http://127.0.0.1:1024/hook?token=${secrets.hook}`
  await must('POST', '/open/webhooks/subscribe/sms.message.received', {
    hook_url,
    channel_uuid: (await must('GET', '/open/sms/channels')).channels[0].uuid,
  })
  const { message_uuid } = await must('POST', '/open/sms/send', { ...sms, text: `${mark} ${'long '.repeat(90)}` })
  await until(async () => (await must('GET', `/open/sms/message/${message_uuid}`)).message.status === 'delivered')
  assert.equal((await fromHandset('sms', number)).status, 202)
  await until(() => messages('sms_messages', `${mark} in`))
  await until(async () => (await must('GET', `/open/msgapp/channel/${chat.uuid}/status`)).connection_status === 'C')
  const said = { from_number: chat.phone_number, to_number: handset, text: `${mark} chat` }
  await must('POST', '/open/msgapp/send-message', said)
  assert.equal((await fromHandset('msgapp', chat.phone_number)).status, 202)
  await until(() => messages('msgapp_messages', `${mark} in`))
})

test('requests are refused for every reason', async () => {
  const headers = { 'x-user-api-key': apiKey, 'content-type': 'application/json' }
  const post = (path: string, body: string, more = {}) =>
    fetch(url + path, { method: 'POST', body, headers: { ...headers, ...more } })
  const bodies = [
    `{"text":"${mark}`,
    mark,
    `"${mark}"`,
    JSON.stringify({ ...sms, to_number: mark }),
    JSON.stringify({ ...sms, from_number: handset }),
    JSON.stringify({ ...sms, text: mark.repeat(1_000) }),
    JSON.stringify({ ...sms, text: `${mark}\0\ud800` }),
    JSON.stringify({ [mark]: mark }),
  ]
  for (const body of bodies)
    for (const path of [
      '/open/sms/send',
      '/open/msgapp/send-message',
      `/open/${mark}?${mark}=${mark}`,
      `/sandbox/handsets/${handset}/sms`,
    ])
      assert.ok((await post(path, body)).status >= 400, `${path} ${body}`)
  for (const wrong of [
    { 'x-user-api-key': `UAK${mark}` },
    { 'x-user-api-key': '', authorization: `Bearer ${mark}` },
    { 'content-type': mark },
  ])
    assert.ok((await post('/open/sms/send', JSON.stringify(sms), wrong)).status >= 400)
  const got = await fetch(`${url}/open/sms/message/${mark}?text=${mark}`, { headers })
  assert.ok(got.status >= 400)
})

test('forged and broken callbacks of networks are refused', async () => {
  const { connection } = await must('POST', '/operator/connections', {
    kind: 'whatsapp-cloud',
    name: 'cloud',
    settings: {
      ...{ business_account_id: '1234567', access_token: secrets.access, app_secret: secrets.app },
      ...{ verify_token: 'verify-token-ZQX', base_url: 'http://127.0.0.1:9' },
    },
  })
  const body = JSON.stringify({ entry: [{ changes: [{ value: { messages: [{ text: { body: mark } }] } }] }] })
  const sign = (text: string, key: string) => `sha256=${createHmac('sha256', key).update(text).digest('hex')}`
  for (const text of [body, mark, `{"text":"${mark}`, `{"entry":"${mark}"}`])
    for (const key of ['wrong', secrets.app]) {
      const answer = await fetch(`${url}/callbacks/msgapp/${connection.uuid}`, {
        method: 'POST',
        body: text,
        headers: { 'x-hub-signature-256': sign(text, key) },
      })
      await answer.text()
      assert.ok(key === secrets.app || answer.status === 401)
    }
})

test('the database refuses messages in our statements and in other clients’', async () => {
  const tables = ['sms_messages', 'msgapp_messages']
  for (const table of tables)
    await sql.query(`alter table ${quoteIdentifier(table)} add constraint never check (text = '') not valid`)
  const count = () => output().split('request failed').length
  const before = count()
  assert.equal((await call('POST', '/open/sms/send', sms)).status, 500)
  await until(async () => count() > before)
  await fromHandset('sms', number)
  await fromHandset('msgapp', chat.phone_number)
  await logged('moved to dead letters')
  await logged('smpp: persist-failed')
  // A client with its own session sees the values; the server log does not.
  for (const failing of [`select '${mark}'::integer`, `insert into sms_messages (text) values ('${mark}')`])
    await assert.rejects(sql.query(failing))
  await assert.rejects(sql.query('select $1::text::integer', [mark]), new RegExp(mark))
  await sql.query('select pg_sleep(0.1), $1::text', [mark])
  for (const table of tables) await sql.query(`alter table ${quoteIdentifier(table)} drop constraint never`)
})

test('requests, retries and carrier sessions are logged at level debug, without contents', async () => {
  const search = `/open/contacts/search?query=${mark}&results_per_page=3`
  assert.equal((await call('GET', search)).status, 200)
  assert.equal((await fetch(`${url}/nowhere/${mark}`)).status, 404)
  type Line = Record<string, unknown>
  // Lines of our log are JSON; lines of other programs are not.
  const linesOf = (msg: string): Line[] =>
    output()
      .split('\n')
      // The last line may not be whole yet.
      .slice(0, -1)
      .filter((line) => line.startsWith('{') && line.includes(msg))
      .map((line) => JSON.parse(line) as Line)
  const requests = await until(async () => {
    const lines = linesOf('http: request')
    const isWhole =
      lines.some(({ route }) => route === '/open/contacts/search') &&
      lines.some(({ route, status }) => route === null && status === 404)
    return isWhole && lines
  })
  const { method, status, query, ms, request_id, account } =
    requests.find(({ route }) => route === '/open/contacts/search') ?? assert.fail()
  assert.deepEqual(
    { method, status, query },
    { method: 'GET', status: 200, query: { query: '•••', results_per_page: 3 } },
  )
  assert.equal(typeof ms, 'number')
  assert.match(String(request_id), /^req_/)
  assert.match(String(account), /^ACC/)
  assert.ok(requests.some(({ route }) => route === '/open/sms/message/:message_uuid'))
  assert.ok(linesOf('networks: connection started').length > 0)
  assert.ok(linesOf('smpp: bound').length > 0)
})

/** Encodings in which a text could hide: plain, as octets of GSM, UTF-8 and UTF-16, and as base64 at every offset. */
const forms = (text: string): string[] => {
  const hex = Buffer.from(text).toString('hex')
  const wide = Buffer.from(text, 'utf16le').swap16().toString('hex')
  const base64 = [0, 1, 2].map((offset) =>
    Buffer.from(`${' '.repeat(offset)}${text}`)
      .toString('base64')
      .slice(offset + 1, -4),
  )
  return [text, hex, hex.toUpperCase(), wide, wide.toUpperCase(), ...base64]
}

test('the log contains no message text, key, token or complete number', async () => {
  await sql.end()
  await platform.end()
  const lines = output().split('\n')
  assert.ok(lines.length > 10, `saw only ${lines.length} lines`)
  for (const secret of [mark, apiKey, operatorKey, ...Object.values(secrets)])
    for (const form of forms(secret))
      assert.deepEqual(
        lines.filter((line) => line.includes(form)),
        [],
        `${secret} as ${form}`,
      )
  assert.deepEqual(
    lines.filter((line) => /44(?:7700900|1632)\d+/.test(line)),
    [],
  )
})
