import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import type { getInfo } from '../src/domains/accounts/contract.ts'
import { type Capability, capabilities } from '../src/platform/http/capability.ts'
import type { Contract } from '../src/platform/http/endpoint.ts'
import { recipes } from './recipes/all.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { send } from './recipes/send.ts'

// Tests tenant endpoints with a key that has every scope except the required one, and with a key that has only that one.

const world = await makeRecipeWorld()
const scene = await makeScene(world, 'scopes')

const keyWith = async (scopes: readonly Capability[]): Promise<string> => {
  const made = await world.call('operator', 'POST', `/operator/accounts/${scene.tenant.uuid}/keys`, {
    label: 'scoped',
    scopes,
  })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body.key
}
const allOthers = (...without: Capability[]) => capabilities.filter((one) => !without.includes(one))
const only = new Map<Capability, string>()
const allBut = new Map<Capability, string>()
for (const one of capabilities) {
  only.set(one, await keyWith([one]))
  allBut.set(one, await keyWith(allOthers(one)))
}

type ContractWithScope = Extract<Contract, { auth: 'account' }>
const walked = contracts.filter((contract): contract is ContractWithScope => contract.auth === 'account')

// The compiler refuses a contract for accounts without a stated capability.
type ContractWithoutScope = Omit<typeof getInfo, 'needs'>
const isRefused: ContractWithoutScope extends Contract ? false : true = true

test('every endpoint for accounts states a known capability', () => {
  assert.ok(isRefused)
  assert.ok(walked.length >= 100, `saw only ${walked.length} endpoints`)
  for (const { id, needs } of walked) assert.ok(capabilities.includes(needs), `${id} needs ${needs}`)
  assert.deepEqual([...new Set(walked.map(({ needs }) => needs))].sort(), [
    'account',
    'develop',
    'inbox',
    'money',
    'numbers',
    'people',
    'read_only',
    'team_settings',
  ])
})

/** A member may not be given, or have, rights that the key lacks: with this scope alone, the next check refuses. */
const grantingRights = new Set(['createMember', 'changeMember', 'inviteMember'])

for (const contract of walked) {
  const { id, needs, orNeeds } = contract

  test(`${id} is refused to a key that has every scope but ${needs}${orNeeds ? ` and ${orNeeds}` : ''}, and succeeds with a key that has only that scope`, async () => {
    const recipe = recipes[id]
    assert.ok(recipe, `${id} has no recipe: give it one in test/recipes`)
    const request = await recipe.ok(scene)
    const without = orNeeds === undefined ? allBut.get(needs) : await keyWith(allOthers(needs, orNeeds))
    const refused = await send(world, contract, scene.tenant, request, { key: without ?? '' })
    assert.equal(refused.status, 403, refused.text)
    const { error_code, error_message } = JSON.parse(refused.text)
    assert.equal(error_code, 'scope_missing')
    assert.match(error_message, new RegExp(`lacks the scope ${needs}:`))
    const answer = await send(world, contract, scene.tenant, request, { key: only.get(needs) ?? '' })
    if (orNeeds !== undefined) {
      const other = await send(world, contract, scene.tenant, request, { key: only.get(orNeeds) ?? '' })
      assert.equal(other.status, contract.status, other.text)
    }
    // An endpoint of a person refuses every key, after the check of its scope.
    if (request.cookie !== undefined) assert.equal(JSON.parse(answer.text).error_code, 'no_person', answer.text)
    else if (!grantingRights.has(id)) assert.equal(answer.status, contract.status, answer.text)
    else assert.match(answer.text, /Your rights do not include those of the role agent/)
  })
}

test('a foreign capability is refused before the existence of a thing is checked', async () => {
  const path = '/open/sms/message/SMO01a1fcca-93ab-7cbc-9f10-be702f775479'
  const ask = async (key = '') =>
    (await world.app.inject({ method: 'GET', url: path, headers: { 'x-user-api-key': key } })).statusCode
  assert.deepEqual([await ask(only.get('money')), await ask(only.get('inbox'))], [403, 404])
})
