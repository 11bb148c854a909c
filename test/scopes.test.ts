import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { getInfo } from '../src/accounts/contract.ts'
import { contracts } from '../src/contracts.ts'
import { type Capability, capabilities } from '../src/http/capability.ts'
import type { Contract } from '../src/http/endpoint.ts'
import { recipes } from './recipes/all.ts'
import { makeScene, makeScenery } from './recipes/scene.ts'
import { send } from './recipes/send.ts'

// Each endpoint for tenants, with a key that has every scope but the one it needs, and with a key that has only that one.

const world = await makeScenery()
const scene = await makeScene(world, 'scopes')

const keyWith = async (scopes: readonly Capability[]): Promise<string> => {
  const made = await world.call('operator', 'POST', `/operator/accounts/${scene.tenant.uuid}/keys`, {
    label: 'scoped',
    scopes,
  })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body.key
}
const only = new Map<Capability, string>()
const allBut = new Map<Capability, string>()
for (const one of capabilities) {
  only.set(one, await keyWith([one]))
  allBut.set(one, await keyWith(capabilities.filter((other) => other !== one)))
}

type Stated = Extract<Contract, { auth: 'account' }>
const walked = contracts.filter((contract): contract is Stated => contract.auth === 'account')

// The compiler refuses a contract for accounts that does not state what it needs.
type Unstated = Omit<typeof getInfo, 'needs'>
const isRefused: Unstated extends Contract ? false : true = true

test('every endpoint for accounts states a known capability', () => {
  assert.ok(isRefused)
  assert.ok(walked.length >= 100, `saw only ${walked.length} endpoints`)
  for (const { id, needs } of walked) assert.ok(capabilities.includes(needs), `${id} needs ${needs}`)
  assert.deepEqual([...new Set(walked.map(({ needs }) => needs))].sort(), [
    'develop',
    'inbox',
    'numbers',
    'people',
    'read_only',
  ])
})

for (const contract of walked) {
  const { id, needs } = contract

  test(`${id} is refused to a key that has every scope but ${needs}, and answers a key that has only that`, async () => {
    const recipe = recipes[id]
    assert.ok(recipe, `${id} has no recipe: give it one in test/recipes`)
    const request = await recipe.ok(scene)
    const refused = await send(world, contract, scene.tenant, request, { key: allBut.get(needs) ?? '' })
    assert.equal(refused.status, 403, refused.text)
    const { error_code, error_message } = JSON.parse(refused.text)
    assert.equal(error_code, 'scope_missing')
    assert.match(error_message, new RegExp(`lacks the scope ${needs}:`))
    const answer = await send(world, contract, scene.tenant, request, { key: only.get(needs) ?? '' })
    assert.equal(answer.status, contract.status, answer.text)
  })
}

test('a foreign capability is refused before the existence of a thing is looked at', async () => {
  const path = '/open/sms/message/SMO01a1fcca-93ab-7cbc-9f10-be702f775479'
  const ask = async (key = '') =>
    (await world.app.inject({ method: 'GET', url: path, headers: { 'x-user-api-key': key } })).statusCode
  assert.deepEqual([await ask(only.get('money')), await ask(only.get('inbox'))], [403, 404])
})
