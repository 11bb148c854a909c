import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../test/world.ts'
import { auditSystem, differences } from '../../platform/http/audit.ts'
import { uuid } from '../../platform/lib/id.ts'
import { auditRetention } from './jobs.ts'

const world = await makeWorld()
const { db, app, call, operatorKey, tenant } = world
const [ada, bob] = [await tenant(), await tenant()]

type Act = {
  uuid: string
  at: string
  actor: { kind: string; uuid?: string; label?: string; last_four?: string }
  account_uuid?: string
  action: string
  targets: string[]
  changes: { field: string; before?: unknown; after?: unknown }[]
  address?: string
  user_agent?: string
  request_id?: string
}

const acts = async (query: Record<string, string> = {}): Promise<Act[]> =>
  (await call('operator', 'GET', `/operator/audit?${new URLSearchParams(query)}`)).body.acts

const ownActs = async (who: typeof ada, query: Record<string, string> = {}): Promise<Act[]> =>
  (await call(who, 'GET', `/open/audit?${new URLSearchParams(query)}`)).body.acts

const change = (who: typeof ada, body: object) => call('operator', 'PATCH', `/operator/accounts/${who.uuid}`, body)

test('the audit trail shows actor, action, before and after of an operator’s act', async () => {
  const headers = { 'x-operator-key': operatorKey, 'user-agent': 'cli/1' }
  const url = `/operator/accounts/${ada.uuid}`
  const payload = { blocked: true, block_reason: 'unpaid' }
  const answer = await app.inject({ method: 'PATCH', url, headers, payload, remoteAddress: '192.0.2.7' })
  const [act] = await acts({ account_uuid: ada.uuid })
  assert.ok(act)
  assert.equal(act.action, 'changeAccount')
  assert.deepEqual([act.actor.kind, act.actor.label, act.actor.last_four], ['operator', 'test', operatorKey.slice(-4)])
  assert.deepEqual(act.targets, [ada.uuid])
  assert.deepEqual(act.changes, [
    { field: 'blocked', before: false, after: true },
    { field: 'block_reason', before: null, after: 'unpaid' },
  ])
  assert.equal(act.address, '192.0.2.7')
  assert.equal(act.user_agent, 'cli/1')
  assert.equal(act.request_id, answer.headers['x-request-id'])
  await change(ada, { blocked: false })
})

test('the transfer leads to the actor of a credit', async () => {
  await call('operator', 'POST', `/operator/accounts/${ada.uuid}/credit`, { amount: '2.50', note: 'secret friend' })
  const { transfers } = (await call('operator', 'GET', `/operator/accounts/${ada.uuid}/ledger`)).body
  const [act] = await acts({ target: transfers[0].uuid })
  assert.equal(act?.action, 'creditAccount')
  assert.deepEqual(act?.changes, [{ field: 'balance', before: '100.00', after: '102.50' }])
})

test('a changed secret is recorded as changed, without its value', async () => {
  const settings = { host: '127.0.0.1', port: 9, system_id: 'me', password: 'first-pass' }
  const body = { kind: 'smpp', name: 'masked', settings, enabled: false }
  const connection = (await call('operator', 'POST', '/operator/connections', body)).body.connection
  const again = { settings: { password: 'other-pass', port: 10 } }
  await call('operator', 'PATCH', `/operator/connections/${connection.uuid}`, again)
  const [changed, created] = await acts({ target: connection.uuid })
  assert.deepEqual(changed?.changes, [
    { field: 'settings.port', before: 9, after: 10 },
    { field: 'settings.password', before: '•••', after: '•••' },
  ])
  assert.deepEqual(
    created?.changes.find(({ field }) => field === 'settings.password'),
    { field: 'settings.password', after: '•••' },
  )
  const key = (await call('operator', 'POST', '/operator/keys', { label: 'new' })).body.key
  const [{ whole }] = (await db.many<{ whole: string }>`select string_agg(a::text, '') as whole from audit a`) as [
    { whole: string },
  ]
  for (const secret of ['first-pass', 'other-pass', key, operatorKey]) assert.ok(!whole.includes(secret))
})

test('secrets are masked by their names without a schema mark, also in lists', () => {
  const after = { list: [{ api_key: 'a', name: 'b' }], deep: { token: 'c' }, text: 'd', status_text: 'ACTIVE' }
  assert.deepEqual(differences({ after: { a: { b: 1 } } }, new Map([['a', 'whole']])), [{ field: 'a.b', after: '•••' }])
  assert.deepEqual(differences({ after }, new Map()), [
    { field: 'list', after: [{ api_key: '•••', name: 'b' }] },
    { field: 'deep.token', after: '•••' },
    { field: 'text', after: '•••' },
    { field: 'status_text', after: 'ACTIVE' },
  ])
})

test('characters that PostgreSQL cannot store do not fail an act', async () => {
  const name = 'a\u0000b\ud800c'
  await db.begin((tx) => auditSystem(tx, 'odd', { target: 'x', after: { name, list: [name] } }))
  const [act] = await acts({ action: 'odd' })
  assert.equal(act?.changes.length, 2)
})

test('pages continue after their cursor, newest first, without gaps or repeats', async () => {
  for (let i = 0; i < 7; i++) await change(bob, { name: `Bob ${i}` })
  const all = await acts({ account_uuid: bob.uuid })
  const seen: string[] = []
  let cursor = ''
  do {
    const query = { account_uuid: bob.uuid, results_per_page: '3', ...(cursor ? { cursor } : {}) }
    const { body } = await call('operator', 'GET', `/operator/audit?${new URLSearchParams(query)}`)
    assert.equal(body.count, body.acts.length)
    seen.push(...body.acts.map((act: Act) => act.uuid))
    cursor = body.next_cursor ?? ''
  } while (cursor !== '')
  assert.deepEqual(
    seen,
    all.map((act) => act.uuid),
  )
  assert.equal(new Set(seen).size, seen.length)
  assert.equal(all[0]?.changes[0]?.after, 'Bob 6')
})

test('filters narrow the list: actor, action, target, since and until', async () => {
  const { body: second } = await call('operator', 'POST', '/operator/keys', { label: 'second' })
  const headers = { 'x-operator-key': second.key }
  await app.inject({ method: 'PATCH', url: `/operator/accounts/${bob.uuid}`, headers, payload: { name: 'By second' } })
  for (const actor of ['second', second.uuid]) {
    const found = await acts({ actor })
    assert.deepEqual(
      found.map(({ action }) => action),
      ['changeAccount'],
    )
  }
  assert.deepEqual(new Set((await acts({ action: 'createOperatorKey' })).map(({ action }) => action)).size, 1)
  assert.equal((await acts({ target: second.uuid.toUpperCase().replace('KEY', 'KEY') })).length, 1)
  const later = new Date(Date.now() + 60_000).toISOString()
  assert.deepEqual(await acts({ since: later }), [])
  assert.ok((await acts({ until: later })).length > 0)
  assert.equal((await call('operator', 'GET', `/operator/audit?account_uuid=ACC${uuid()}`)).status, 404)
  assert.equal((await call('operator', 'GET', '/operator/audit?cursor=x')).status, 400)
})

test('an account sees its own acts with their keys, and acts of operators without', async () => {
  const headers = { 'x-user-api-key': ada.key }
  const upload = {
    method: 'POST',
    url: '/open/numbers/documents?kind=address&name=bill',
    remoteAddress: '192.0.2.1',
  } as const
  const type = { 'content-type': 'application/pdf' }
  const uploaded = await app.inject({ ...upload, headers: { ...headers, ...type }, payload: '%PDF-1.7 ada' })
  const { uuid: document } = uploaded.json().document
  const url = `/open/numbers/documents/${document}`
  await app.inject({ method: 'DELETE', url, headers, remoteAddress: '192.0.2.1' })
  await change(ada, { name: 'Ada and sons' })
  const answer = await app.inject({ method: 'GET', url: '/open/audit', headers })
  const [byOperator, byKey] = answer.json().acts as Act[]
  assert.deepEqual(byOperator?.actor, { kind: 'operator' })
  assert.deepEqual(
    [byOperator?.address, byOperator?.user_agent, byOperator?.request_id, byOperator?.account_uuid],
    [undefined, undefined, undefined, undefined],
  )
  assert.equal(byOperator?.changes[0]?.after, 'Ada and sons')
  assert.deepEqual([byKey?.action, byKey?.targets], ['deleteDocument', [document]])
  assert.deepEqual([byKey?.actor.kind, byKey?.actor.label, byKey?.address], ['api_key', 'test', '192.0.2.1'])
  assert.equal(byKey?.actor.last_four, ada.key.slice(-4))
  assert.ok(!answer.body.includes(operatorKey.slice(-4)))
})

test('an account sees no act on another account, and cannot find operators by label or id', async () => {
  assert.ok(!JSON.stringify(await ownActs(ada)).includes(bob.uuid))
  const keys = (await call('operator', 'GET', '/operator/keys')).body.keys as { uuid: string; current: boolean }[]
  const current = keys.find((key) => key.current)?.uuid ?? ''
  // The keys of the operator and the account have the same label.
  assert.ok((await ownActs(ada, { actor: 'test' })).every(({ actor }) => actor.kind === 'api_key'))
  assert.deepEqual(await ownActs(ada, { actor: current }), [])
  const byOperators = await ownActs(ada, { actor: 'operator' })
  assert.ok(byOperators.length > 0 && byOperators.every(({ actor }) => actor.kind === 'operator'))
})

test('no filter of an account finds an act of another account, alone or with others', async () => {
  const shared = `CON${uuid()}`
  for (const { id: account } of [ada, bob])
    await db.begin((tx) => auditSystem(tx, 'shared', { account, target: [shared, `ACC${account}`] }))
  const every = async (who: typeof ada) => (await ownActs(who, { results_per_page: '200' })).map((act) => act.uuid)
  const [own, foreign] = [await every(ada), await every(bob)]
  assert.ok(own.length > 2 && foreign.length > 2 && own.every((one) => !foreign.includes(one)))
  const { keys } = (await call(bob, 'GET', '/open/keys')).body
  const values = {
    action: ['', 'shared', 'changeAccount'],
    target: ['', shared, ada.uuid, bob.uuid],
    actor: ['', 'test', 'operator', 'system', keys[0].uuid],
    since: ['', '2026-01-01T00:00:00Z'],
  }
  for (const action of values.action)
    for (const target of values.target)
      for (const actor of values.actor)
        for (const since of values.since) {
          const query = Object.fromEntries(
            Object.entries({ action, target, actor, since }).filter(([, value]) => value),
          )
          const found = (await ownActs(ada, query)).map((act) => act.uuid)
          assert.deepEqual(
            found.filter((one) => !own.includes(one)),
            [],
            JSON.stringify(query),
          )
        }
  assert.equal((await ownActs(ada, { target: shared })).length, 1)
  assert.equal((await acts({ target: shared })).length, 2)
  assert.equal((await acts({ target: shared, account_uuid: bob.uuid })).length, 1)
})

test('rows of the audit trail can be neither changed nor deleted before the retention ends', async () => {
  for (const statement of ["update audit set action = 'x'", 'delete from audit', 'truncate audit'])
    await assert.rejects(db.raw(statement), /append-only/, statement)
})

test('rows beyond the retention are deleted in small batches, and younger rows remain', async () => {
  const add = (days: number) => db.run`
    insert into audit (id, at, actor_kind, actor_label, action, targets, changes)
    values (${uuid()}, now() - make_interval(days => ${days}), 'system', 'system', 'old', '{OLD,OLD}', '[]')`
  for (const days of [401, 500, 399, 40]) await add(days)
  await db.begin((tx) => auditRetention(400).run(tx, new Date()))
  const left = await db.many`select 1 from audit where action = 'old'`
  assert.equal(left.length, 2)
  assert.equal((await db.many`select from audit_targets where target = 'OLD'`).length, 2)
})

test('a page reads an index, so that its cost does not grow with the trail', async () => {
  await db.run`
    insert into audit (account_id, id, at, actor_kind, actor_label, action, targets, changes)
    select case when n % 100 = 0 then ${ada.id}::uuid end, gen_random_uuid(), now() - make_interval(secs => n), 'system', 'system',
      'bulk', '{}', '[]' from generate_series(1, 20000) n`
  await db.raw('analyze audit')
  for (const where of ['true', `account_id = '${ada.id}'`, "action = 'changeAccount'"]) {
    const plan = await db.raw<Record<string, string>>(
      `explain select * from audit where ${where} order by at desc, id desc limit 51`,
    )
    const text = plan.map((line) => Object.values(line)[0]).join('\n')
    assert.match(text, /Index Scan/)
    assert.doesNotMatch(text, /Seq Scan|Sort/)
  }
})
