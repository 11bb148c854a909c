import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import { quoteIdentifier } from '../src/platform/db/identifier.ts'
import { type Contract, isAudited, isRepeatable } from '../src/platform/http/endpoint.ts'
import { keyHash } from '../src/platform/lib/secret.ts'
import { recipes } from './recipes/all.ts'
import type { Request } from './recipes/recipe.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { send } from './recipes/send.ts'

// Every audited contract writes one row per performed action, and none for a refused one.

const world = await makeRecipeWorld()
const { db, operatorKey } = world
const scene = await makeScene(world, 'audited')

const key = await db.one<{ id: string; last_four: string }>`
  select id, last_four from operator_keys where hash = ${keyHash(operatorKey)}`
const apiKey = await db.one<{ id: string; last_four: string }>`
  select id, last_four from api_keys where hash = ${keyHash(scene.tenant.key)}`

const requestOf = (contract: Contract): Promise<Request> => {
  const recipe = recipes[contract.id]
  assert.ok(recipe, `${contract.id} has no recipe: give it one in test/recipes`)
  return Promise.resolve(recipe.ok(scene))
}

type Row = {
  actor_kind: string
  actor_id: string
  actor_label: string
  actor_last_four: string
  account_id: string | null
  address: string
  request_id: string
  action: string
  targets: string[]
  changes: { field: string; before?: unknown; after?: unknown }[]
}

/** Rows of an action, oldest first. */
const rowsOf = (action: string) => db.many<Row>`select * from audit where action = ${action} order by id`

const audited = contracts.filter(isAudited)

test('the walk sees the audited contracts', () => {
  assert.ok(audited.length >= 42, `saw only ${audited.length} audited contracts`)
})

/** Actions that change something: a field has one value before and another after. */
const changing = new Set([
  'changeAccount',
  'changeUser',
  'changeCallLimits',
  'changeConnection',
  'creditAccount',
  'debitAccount',
  'correctBalance',
  'setPrices',
  'setNumberPrices',
  'suspendNumber',
  'reinstateNumber',
  'approveRegistration',
  'refuseRegistration',
  'changeWebhook',
  'changeVirtualNumber',
  'verifyCallerId',
])

/** A second request that differs from the recipe's, for recipes that always write the same values. */
const otherOf: Record<string, (request: Request) => Request> = {
  setPrices: (request) => ({ ...request, body: { prices: [{ kind: 'sms_in', prefix: '999', price: '0.02' }] } }),
  setNumberPrices: (request) => ({
    ...request,
    body: { prices: [{ country: 'GB', type: 'mobile', prefix: '74', monthly_price: '3' }] },
  }),
}

for (const contract of audited) {
  const isOperator = contract.auth === 'operator'
  test(`${contract.id} writes one audit row with actor, action and target`, async () => {
    const other = otherOf[contract.id]
    const request = await requestOf(contract)
    if (other) assert.equal((await send(world, contract, scene.tenant, request)).status, contract.status)
    const asked = other ? other(request) : request
    const before = (await rowsOf(contract.id)).length
    const answer = await send(world, contract, scene.tenant, asked)
    assert.equal(answer.status, contract.status, answer.text)
    const [row, ...others] = (await rowsOf(contract.id)).slice(before)
    assert.ok(row, 'no row was written')
    assert.deepEqual(others, [])
    const actor = isOperator ? key : apiKey
    assert.equal(row.actor_kind, isOperator ? 'operator' : 'api_key')
    assert.equal(row.actor_id, actor.id)
    assert.equal(row.actor_last_four, actor.last_four)
    assert.equal(row.actor_label, 'test')
    assert.equal(row.address, '127.0.0.1')
    assert.equal(row.request_id, answer.headers['x-request-id'])
    if (!isOperator || contract.url.includes(':account_uuid'))
      assert.equal(row.account_id, asked.params?.account_uuid?.slice(3) ?? scene.tenant.id)
    // Price lists belong to the installation and have no id.
    if (!/Prices?$/.test(contract.id)) assert.ok(row.targets.length > 0 && !row.targets.includes(''), 'no target')
    const differing = row.changes.filter(
      (one) => 'before' in one && 'after' in one && (one.before !== one.after || /•••$/.test(String(one.after))),
    )
    if (changing.has(contract.id)) assert.ok(differing.length > 0, JSON.stringify(row.changes))
    if (contract.id.startsWith('create')) assert.ok(row.changes.every((one) => !('before' in one)))
    if (/^(?:delete|revoke)/.test(contract.id)) {
      assert.ok(row.changes.length > 0)
      assert.ok(row.changes.every((one) => !('after' in one)))
    }
  })

  if (isRepeatable(contract))
    test(`${contract.id}, repeated with its Idempotency-Key, writes no second audit row`, async () => {
      const headers = { 'idempotency-key': randomUUID() }
      const request = await requestOf(contract)
      const before = (await rowsOf(contract.id)).length
      for (const replayed of [undefined, 'true']) {
        const answer = await send(world, contract, scene.tenant, request, { headers })
        assert.equal(answer.status, contract.status, answer.text)
        assert.equal(answer.headers['idempotent-replayed'], replayed)
      }
      assert.equal((await rowsOf(contract.id)).length, before + 1)
    })

  const refusals = Object.entries(recipes[contract.id] ?? {}).filter(([problem]) =>
    ['invalid', 'notFound', 'conflict', 'unprocessable'].includes(problem),
  )
  for (const [problem, make] of refusals)
    test(`${contract.id}, refused as ${problem}, writes no audit row`, async () => {
      const request = await make(scene)
      const before = (await rowsOf(contract.id)).length
      const answer = await send(world, contract, scene.tenant, request)
      assert.ok(answer.status >= 400, answer.text)
      assert.equal((await rowsOf(contract.id)).length, before)
    })
}

test('an action and its audit row share one transaction: when either fails at commit, neither is stored', async () => {
  await db.raw(
    `create function fail_late() returns trigger language plpgsql as $$ begin raise exception 'late'; end $$`,
  )
  const contract = contracts.find(({ id }) => id === 'changeAccount')
  assert.ok(contract)
  const state = async () => [
    await db.one`select name from accounts where id = ${scene.tenant.id}`,
    (await rowsOf('changeAccount')).length,
  ]
  const before = await state()
  for (const table of ['audit', 'accounts']) {
    // The trigger is deferred: every row has been written when it fails.
    await db.raw(`create constraint trigger fail_late after insert or update on ${quoteIdentifier(table)} deferrable initially deferred
      for each row execute function fail_late()`)
    const request = { ...(await requestOf(contract)), body: { name: 'never' } }
    const answer = await send(world, contract, scene.tenant, request)
    await db.raw(`drop trigger fail_late on ${quoteIdentifier(table)}`)
    assert.equal(answer.status, 500)
    assert.deepEqual(await state(), before, table)
  }
})
