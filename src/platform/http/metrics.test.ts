import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../test/world.ts'
import { formerGauges } from './metrics.ts'

const { app, call, db, tenant, operatorKey } = await makeWorld()

/** Returns the lines of a metric that are not 0. */
const linesOf = async (name: string): Promise<string[]> =>
  String((await call(null, 'GET', '/metrics')).body)
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) && !line.endsWith(' 0'))
    .sort()

test('requests are counted by route, method and status, never by path', async () => {
  const who = await tenant()
  const created = await call(who, 'POST', '/open/contacts', {
    first_name: 'Ada',
    contact_details: [{ type: 'E', value: 'ada@example.com' }],
  })
  const { uuid } = created.body.contact
  for (let i = 0; i < 2; i++) assert.equal((await call(who, 'GET', `/open/contacts/${uuid}?a=${i}`)).status, 200)
  assert.equal((await call(who, 'GET', `/open/contacts/${uuid.slice(0, -12)}000000000000`)).status, 404)
  assert.equal((await call(null, 'GET', `/open/contacts/${uuid}`)).status, 401)
  for (const path of ['/nowhere', '/open/contacts/a/b/c', `/${'x'.repeat(2_000)}`]) await call(who, 'GET', path)
  await app.inject({ method: 'DELETE', url: '/operator/accounts', headers: { 'x-operator-key': operatorKey } })
  assert.deepEqual(await linesOf('trunkline_http_request_duration_seconds_count'), [
    'trunkline_http_request_duration_seconds_count{method="GET",route="/open/contacts/:contact_uuid",status="200"} 2',
    'trunkline_http_request_duration_seconds_count{method="GET",route="/open/contacts/:contact_uuid",status="401"} 1',
    'trunkline_http_request_duration_seconds_count{method="GET",route="/open/contacts/:contact_uuid",status="404"} 1',
    'trunkline_http_request_duration_seconds_count{method="POST",route="/open/contacts",status="201"} 1',
  ])
})

test('jobs are counted by kind and state, and database connections by state', async () => {
  const kind = 'numbers.rested'
  await db.run`
    insert into jobs (id, kind, payload, run_at, leased_until, created_at)
    select gen_random_uuid(), ${kind}, '{}', now() + wait, until, now() from (values
      (interval '-90 seconds', null::timestamptz), ('-9 seconds', null), ('-1 second', null), ('1 hour', null), ('2 hours', null),
      ('-1 second', now() + interval '1 hour')) j (wait, until)`
  const states = (await linesOf('trunkline_jobs')).filter((line) => line.includes(kind))
  assert.deepEqual(states, [
    `trunkline_jobs{kind="${kind}",state="delayed"} 2`,
    `trunkline_jobs{kind="${kind}",state="due"} 3`,
    `trunkline_jobs{kind="${kind}",state="leased"} 1`,
  ])
  const [oldest = ''] = await linesOf('trunkline_jobs_oldest_seconds')
  assert.match(oldest, /^trunkline_jobs_oldest_seconds\{kind="numbers.rested"\} 9\d/)
  const { total, waiting } = db.load()
  const connections = await linesOf('trunkline_database_connections')
  assert.ok(connections.includes(`trunkline_database_connections{state="total"} ${total}`), connections.join('\n'))
  assert.equal(waiting, 0)
})

test('a renamed gauge is served under its former name too, as deprecated', async () => {
  const text = String((await call(null, 'GET', '/metrics')).body)
  for (const [name, former] of formerGauges) {
    assert.ok(text.includes(`# HELP ${former} Deprecated: use ${name}\n`), former)
    const values = (of: string) => text.split('\n').filter((line) => new RegExp(`^${of}[ {]`).test(line))
    assert.deepEqual(
      values(former),
      values(name).map((line) => line.replace(name, former)),
    )
  }
})
