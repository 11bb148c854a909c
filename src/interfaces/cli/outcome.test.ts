import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { contracts } from '../../contracts.ts'
import { makeShell } from './testing.ts'

// The results that a script sees of a command: the exit status, and errors as JSON.

const serve = async (t: TestContext, status: number, body: object) => {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  return makeShell(contracts, { environment: { TRUNKLINE_OPERATOR_KEY: 'key', TRUNKLINE_URL: url } })
}

const connection = 'CNX01a1fcca-93ab-7cbc-9f10-be702f775479'

for (const [working, status] of [
  [true, 0],
  [false, 1],
] as const)
  test(`connections test and trunk check end with status ${status} when working is ${working}`, async (t) => {
    const tested = await serve(t, 200, { success: true, working, message: 'm' })
    for (const more of [[], ['--json']])
      assert.equal((await tested('connections', 'test', connection, ...more)).status, status)
    const checked = await serve(t, 200, { success: true, working, findings: [] })
    const { status: found, out, err } = await checked('trunk', 'check', 'carrier', '--json')
    assert.deepEqual([found, JSON.parse(out).working, err], [status, working, ''])
  })

test('with --json, a refusal, a usage error and an unreachable server are errors in JSON', async (t) => {
  const refusal = { success: false, error_message: 'No such account', error_code: 'not_found', request_id: 'REQ1' }
  const shell = await serve(t, 404, refusal)
  const refused = await shell('accounts', 'show', 'ACC1', '--json')
  assert.deepEqual([refused.status, refused.out, JSON.parse(refused.err)], [1, '', refusal])
  const wrong = await shell('accounts', 'lst', '--json')
  assert.equal(wrong.status, 2)
  assert.match(JSON.parse(wrong.err).error_message, /did you mean "accounts list"/)
  const away = await shell('accounts', 'list', '--json', '--url', 'http://127.0.0.1:1')
  assert.equal(away.status, 1)
  assert.match(JSON.parse(away.err).error_message, /cannot be reached/)
  assert.match((await shell('accounts', 'show', 'ACC1')).err, /^trunkline: No such account/)
})
