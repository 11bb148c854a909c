import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compatContracts, contracts } from '../src/contracts.ts'
import type { getInfo } from '../src/domains/accounts/contract.ts'
import { type Capability, capabilities } from '../src/platform/http/capability.ts'
import type { Contract } from '../src/platform/http/endpoint.ts'
import { roleCapabilities } from '../src/platform/http/role.ts'
import { uuid } from '../src/platform/lib/id.ts'
import { everyFifth, fullForm } from './needs.ts'
import { type Browser, member } from './persons.ts'
import { recipes } from './recipes/all.ts'
import { naming, needed, ofOneThing, type WalkedRequest, withoutInputs } from './recipes/naming.ts'
import type { Request } from './recipes/recipe.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { makeSecrets } from './recipes/secrets.ts'
import { send } from './recipes/send.ts'
import { anyRequest } from './recipes/usable.ts'
import { walkedCompatContracts, walkedContracts } from './walked-contracts.ts'

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
const walked = [...contracts, ...compatContracts].filter(
  (contract): contract is ContractWithScope => contract.auth === 'account',
)

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

/** Refusals after the check of the scope: a key with scopes makes no people, and changes none with rights that it lacks. */
const laterRefusals = new Map([
  ['createMember', /The API key is limited by scopes/],
  ['inviteMember', /The API key is limited by scopes/],
  ['changeMember', /Your rights do not include those of the role agent/],
  // The token has the scopes of the key that made it.
  ['revokeCompatCredentials', /Revoke it with a key that has all of its scopes/],
])

/** The address of a webhook reads its events from then on, and `develop` alone shows no contents. */
const choosingAddresses = new Set(['subscribeWebhook', 'createEndpoint', 'changeWebhook'])

for (const [n, contract] of walked
  .filter((one) => walkedContracts.includes(one) || walkedCompatContracts.includes(one))
  .entries()) {
  const { id, needs, orNeeds } = contract
  const others = orNeeds ? `${needs} and ${orNeeds}` : needs

  test(
    `${id} is refused to a key that has every scope but ${others}, and succeeds with a key that has only that scope`,
    everyFifth(n),
    async () => {
      const recipe = recipes[id]
      assert.ok(recipe, `${id} has no recipe: give it one in test/recipes`)
      const request = await recipe.ok(scene)
      const without = orNeeds === undefined ? allBut.get(needs) : await keyWith(allOthers(needs, orNeeds))
      const refused = await send(world, contract, scene.tenant, request, { key: without ?? '' })
      assert.equal(refused.status, 403, refused.text)
      const { error_code, error_message, code, message } = JSON.parse(refused.text)
      assert.equal(error_code ?? code, contract.shape === 'compat' ? 20403 : 'scope_missing')
      assert.match(error_message ?? message, new RegExp(`lacks the scope ${needs}:`))
      const answer = await send(world, contract, scene.tenant, request, { key: only.get(needs) ?? '' })
      if (orNeeds !== undefined) {
        const other = await send(world, contract, scene.tenant, request, { key: only.get(orNeeds) ?? '' })
        assert.equal(other.status, contract.status, other.text)
      }
      // An endpoint of a person refuses every key, after the check of its scope.
      if (request.cookie !== undefined) assert.equal(JSON.parse(answer.text).error_code, 'no_person', answer.text)
      else if (choosingAddresses.has(id)) assert.equal(JSON.parse(answer.text).error_code, 'contents_not_visible')
      else {
        const refusal = laterRefusals.get(id)
        if (refusal) assert.match(answer.text, refusal)
        else assert.equal(answer.status, contract.status, answer.text)
      }
    },
  )
}

test('a foreign capability is refused before the existence of a thing is checked', async () => {
  const path = '/open/sms/message/SMO01a1fcca-93ab-7cbc-9f10-be702f775479'
  const ask = async (key = '') =>
    (await world.app.inject({ method: 'GET', url: path, headers: { 'x-user-api-key': key } })).statusCode
  assert.deepEqual([await ask(only.get('money')), await ask(only.get('inbox'))], [403, 404])
})

// An account whose agents see only their own conversations. A colleague has some of every kind; nothing of them may be in
// an answer to another agent. Endpoints that are added later are walked, too.

/** The same request for things that never existed. */
const forMissing = ({ params = {}, ...rest }: Request): Request => {
  const missing = Object.entries(params).map(([name, value]) => {
    if (name === 'session_key') return [name, value.replace(/(WPN.{36}-).*/, '$115550001111@c.us')]
    return [name, ofOneThing.includes(name) ? value.slice(0, 3) + uuid() : value]
  })
  return { ...rest, params: Object.fromEntries(missing) }
}

test(
  'no answer to an agent contains anything of a conversation that the agent may not see',
  fullForm('answers of every endpoint to an agent'),
  async () => {
    const mine = await makeScene(world, 'plain')
    const { tenant } = mine
    const [agent, colleague] = [await member(world, tenant, 'agent'), await member(world, tenant, 'agent')]
    const { sets, words } = await makeSecrets(world, tenant, colleague.user)
    const key = (
      await world.call('operator', 'POST', `/operator/accounts/${tenant.uuid}/keys`, { label: 'k', scopes: ['inbox'] })
    ).body.key
    // With `agents_see_log`, agents read the log, too.
    const agentMay: readonly Capability[] = [...(roleCapabilities.agent ?? []), 'read_only']
    // The interface in the shape of Twilio takes no sessions.
    const callable = contracts
      .filter((contract): contract is ContractWithScope => contract.auth === 'account')
      .filter(({ needs, orNeeds = needs }) => agentMay.includes(needs) || agentMay.includes(orNeeds))
    assert.ok(callable.length >= 70, `saw only ${callable.length} endpoints`)

    const variantsOf = async (contract: ContractWithScope): Promise<WalkedRequest[]> => {
      const recipe = recipes[contract.id] ?? assert.fail(`${contract.id} has no recipe: give it one in test/recipes`)
      const { cookie: _, ...given } = await anyRequest(recipe, mine)
      const request = needed(contract, given)
      const csv = contract.csv ? [{ ...request, query: { ...request.query, format: 'csv' } }] : []
      const all = [
        ...[request, ...csv].map((one) => ({ request: one, isOne: false })),
        ...sets.flatMap((set) => naming(contract, request, set)),
      ]
      return [...new Map(all.map((one) => [JSON.stringify(one.request), one])).values()]
    }
    const leaksTo = async (by: Browser | null, contract: ContractWithScope): Promise<string[]> => {
      const ask = (request: Request) =>
        by === null
          ? send(world, contract, tenant, request, { key })
          : send(world, contract, tenant, { ...request, cookie: by.cookie })
      const leaks: string[] = []
      for (const { request, isOne } of await variantsOf(contract)) {
        const answered = await ask(request)
        assert.ok(answered.status < 500, `${contract.id}: ${JSON.stringify(request)}: ${answered.text}`)
        const answer = withoutInputs(answered, request)
        leaks.push(
          ...words.filter((word) => answer.includes(word)).map((word) => `${contract.id} shows ${word}: ${answer}`),
        )
        if (!isOne || by === colleague || leaks.length > 0) continue
        const missing = forMissing(request)
        assert.equal(answer, withoutInputs(await ask(missing), missing), contract.id)
      }
      return leaks
    }

    await world.call(tenant, 'PATCH', '/open/account', { agents_see_all: false, agents_see_log: true })
    const shown: ContractWithScope[] = []
    for (const contract of callable)
      if (contract.method === 'GET' && (await leaksTo(colleague, contract)).length > 0) shown.push(contract)
    assert.ok(shown.length >= 15, `the colleague sees the conversations by only ${shown.map(({ id }) => id)}`)
    for (const contract of callable) assert.deepEqual(await leaksTo(agent, contract), [])
    // A key without inbox.all is no agent, and has no conversations of its own.
    for (const contract of shown) assert.deepEqual(await leaksTo(null, contract), [])
    const own = sets[1]?.params.call_uuid ?? ''
    await world.db.run`update calls set user_id = ${agent.user.slice(3)} where id = ${own.slice(3)}`
    const { cdrs } = (await agent.call('GET', '/open/voip/call-history')).body
    assert.ok(
      cdrs.some(({ uuid: one }: { uuid: string }) => one === own),
      'an own call is shown to its agent',
    )
  },
)
