import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { connect } from '../../platform/db/sql.ts'
import type { AccountKey } from '../../platform/http/auth.ts'
import { purgeRequests } from './jobs.ts'
import { refusalBurst, sampleBurst } from './limits.ts'
import { makeRequestRecorder } from './request-recorder.ts'

const { call, db, parts, tenant } = await makeWorld()

const logged = async (who: Tenant, query = '') => {
  await parts.requestLog.flush()
  const { status, body } = await call(who, 'GET', `/open/requests?${query}`)
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

test('requests of an account are listed with their route, status, code and key, and those of others are not', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  await call(bob, 'GET', '/open/info')
  const created = await call(ada, 'GET', '/open/contacts')
  const missing = await call(ada, 'GET', '/open/contacts/CON01a1fcca-93ab-7cbc-9f10-be702f775479')
  const { requests } = await logged(ada)
  assert.equal(requests.length, 2)
  const [refused, listed] = requests
  assert.deepEqual(
    { ...refused, ms: 0, at: '' },
    {
      request_id: missing.headers['x-request-id'],
      at: '',
      method: 'GET',
      route: '/open/contacts/:contact_uuid',
      status: 404,
      error_code: 'not_found',
      key_last_four: ada.key.slice(-4),
      ms: 0,
    },
  )
  assert.deepEqual(
    [listed.request_id, listed.status, listed.error_code],
    [created.headers['x-request-id'], 200, undefined],
  )
  assert.ok(!JSON.stringify(requests).includes('01a1fcca'), 'a path is never stored')
  assert.equal((await logged(bob)).count, 1)
})

test('refusals before the handler are recorded: a scope, a quota, a rate, a body', async () => {
  const ada = await tenant({ requestsPerMinute: 4 })
  const key = (
    await call('operator', 'POST', `/operator/accounts/${ada.uuid}/keys`, { label: 'few', scopes: ['inbox'] })
  ).body.key
  const few = { ...ada, key }
  await call(few, 'GET', '/open/webhooks')
  const body = { label: 'old', expires_at: new Date(Date.now() + 60_000).toISOString() }
  const old = (await call('operator', 'POST', `/operator/accounts/${ada.uuid}/keys`, body)).body.key
  await db.run`update api_keys set expires_at = now() - interval '1 day' where account_id = ${ada.id} and label = 'old'`
  await call({ ...ada, key: old }, 'GET', '/open/webhooks')
  await call(ada, 'POST', '/open/contacts', [])
  for (let n = 0; n < 4; n++) await call(ada, 'GET', '/open/info')
  await parts.requestLog.flush()
  const rows = await db.many<{ status: number; error_code: string | null }>`
    select status, error_code from api_requests where account_id = ${ada.id} order by id`
  assert.deepEqual(
    rows.map(({ status, error_code: code }) => `${status} ${code}`),
    [
      '403 scope_missing',
      '401 key_expired',
      '400 invalid_request',
      '200 null',
      '200 null',
      '429 too_many_requests',
      '429 too_many_requests',
    ],
  )
})

test('a list is filtered, and read to its end by cursors', async () => {
  const ada = await tenant()
  for (let n = 0; n < 5; n++) await call(ada, 'GET', '/open/info')
  await call(ada, 'GET', '/open/contacts?results_per_page=x')
  const count = async (query: string) => (await logged(ada, query)).count
  assert.equal(await count('outcome=refused'), 1)
  assert.equal(await count('status=400&error_code=invalid_request&method=GET'), 1)
  assert.equal(await count('route=/open/info'), 5)
  assert.equal(await count(`key_last_four=${ada.key.slice(-4)}&route=/open/info`), 5)
  assert.equal(await count('key_last_four=none'), 0)
  const later = new Date(Date.now() + 60_000).toISOString()
  assert.equal(await count(`since=${later}`), 0)
  assert.equal(await count(`until=${later}&route=/open/info`), 5)
  const ids: string[] = []
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const page: { requests: { request_id: string }[]; next_cursor?: string } = await logged(
      ada,
      `route=/open/info&results_per_page=2${cursor && `&cursor=${cursor}`}`,
    )
    ids.push(...page.requests.map((one) => one.request_id))
    cursor = page.next_cursor
  }
  assert.deepEqual([ids.length, new Set(ids).size], [5, 5])
})

const keyOf = (account: string): AccountKey =>
  // The recorder reads only the ids.
  ({ id: account, account: { id: account } }) as AccountKey

test('a flood of one account is bounded, counted, and takes nothing from another account', async () => {
  const [ada, bob] = [await tenant(), await tenant()]
  const dropped = new Map<string, number>()
  const metrics = {
    counter: () => (labels: Record<string, string>) => {
      const { reason = '' } = labels
      dropped.set(reason, (dropped.get(reason) ?? 0) + 1)
    },
  }
  const log = makeRequestRecorder({ db, metrics })
  const refusal = {
    requestId: 'req_x',
    method: 'GET',
    route: '/open/x',
    status: 404,
    errorCode: 'not_found',
    elapsed: 1,
  }
  for (let n = 0; n < 20_000; n++) log.record({ ...refusal, key: keyOf(ada.id) })
  const sampled = Array.from({ length: 5_000 }, () => log.isSampled(ada.id)).filter(Boolean).length
  log.record({ ...refusal, key: keyOf(bob.id) })
  await log.flush()
  const rows = await db.one<{ ada: number; bob: number }>`
    select count(*) filter (where account_id = ${ada.id})::integer as ada,
      count(*) filter (where account_id = ${bob.id})::integer as bob from api_requests where route = '/open/x'`
  assert.ok(rows.ada >= refusalBurst && rows.ada <= refusalBurst + 10, `${rows.ada}`)
  assert.equal(rows.bob, 1)
  assert.ok(sampled >= sampleBurst && sampled <= sampleBurst + 5, `${sampled}`)
  assert.equal(dropped.get('share'), 20_000 - rows.ada)
})

test('requests that the database does not take are dropped and counted, and requests go on', async () => {
  const dropped: string[] = []
  // No server listens on port 1.
  const away = connect({ url: 'postgres://nobody@127.0.0.1:1/none', connections: 1, onError: () => {} })
  const log = makeRequestRecorder({
    db: away,
    metrics: {
      counter:
        () =>
        ({ reason = '' }) =>
          void dropped.push(reason),
    },
  })
  const finished = { requestId: 'r', method: 'GET', route: '/', status: 200, errorCode: null, elapsed: 1 }
  log.record({ ...finished, key: keyOf('a') })
  await log.flush()
  assert.deepEqual(dropped, ['database'])
  await away.end()
})

test('requests are deleted after seven days', async () => {
  const ada = await tenant()
  await call(ada, 'GET', '/open/info')
  await parts.requestLog.flush()
  await db.run`update api_requests set at = at - interval '8 days' where account_id = ${ada.id}`
  await db.begin((tx) => purgeRequests.run(tx, new Date()))
  assert.deepEqual(await db.many`select from api_requests where account_id = ${ada.id}`, [])
})
