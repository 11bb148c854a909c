import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compatContracts, contracts } from '../src/contracts.ts'
import { withCsv } from '../src/platform/http/csv-export.ts'
import { type Contract, type Endpoint, isMetered, needsOperator, refusalsOf } from '../src/platform/http/endpoint.ts'
import { type ProblemName, problems } from '../src/platform/http/problem.ts'
import { everyFifth, fullForm } from './needs.ts'
import { recipes } from './recipes/all.ts'
import { answerFault } from './recipes/answer.ts'
import { isOfKind, type RefusalWorlds, refusalOf } from './recipes/common-refusals.ts'
import { makeBrokenWorld, makeCutWorld } from './recipes/faulty-worlds.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { send } from './recipes/send.ts'
import { walkedContracts } from './walked-contracts.ts'
import { makeWorld } from './world.ts'

const [world, broken, cut, strict] = await Promise.all([
  makeRecipeWorld(),
  makeBrokenWorld(),
  makeCutWorld(),
  makeWorld({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_WRONG_KEYS_PER_MINUTE: '1' }),
])
const stages: RefusalWorlds = { scene: await makeScene(world, 'recipe'), broken, cut, strict }

const recipeOf = (id: string) => {
  const recipe = recipes[id]
  assert.ok(recipe, `${id} has no recipe: give it one in test/recipes`)
  return recipe
}

test('every recipe is of an endpoint', () => {
  assert.ok(contracts.length >= 50, `saw only ${contracts.length} contracts`)
  const every = [...contracts, ...compatContracts]
  const ids = new Set(every.map(({ id }) => id))
  assert.equal(ids.size, every.length, 'two endpoints have one id')
  assert.deepEqual(
    Object.keys(recipes).filter((id) => !ids.has(id)),
    [],
  )
})

/** What the hooks of an endpoint depend on. Endpoints of one kind get common refusals from the same code. */
const kindOf = (contract: Contract): string => {
  const { auth, shape, method, body, stream, media, bodyLimit, browser, opensSession, waits } = contract
  const flags = [body !== undefined, stream, media !== undefined, bodyLimit !== undefined, browser, opensSession, waits]
  const limits = [isMetered(contract), needsOperator(contract)]
  return JSON.stringify([auth, shape, method === 'GET', ...[...flags, ...limits].map(Boolean)])
}

const seenKinds = new Set<string>()

/** In the fast form the first endpoint of a kind proves its common refusals, and every fifth its own. */
const isMain = (contract: Contract, n: number, name: ProblemName): boolean => {
  if (!isOfKind.has(name) || recipes[contract.id]?.[name]) return everyFifth(n).skip === false
  const kind = `${name} ${kindOf(contract)}`
  const isFirst = !seenKinds.has(kind)
  seenKinds.add(kind)
  return isFirst
}

test('every other method of every path answers 405 with the methods that it has', async () => {
  const endpoints = [...contracts, ...compatContracts].map(
    (contract): Endpoint => ({ contract, transaction: 'none', handle: () => ({}) }),
  )
  const served = Map.groupBy(
    endpoints.flatMap(withCsv).map(({ contract }) => contract),
    ({ url }) => url.replaceAll(/:\w+/g, 'x'),
  )
  const { world } = stages.scene
  for (const [url, same] of served) {
    const allowed = same.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    const isForBrowsers = same.some(({ browser }) => browser)
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
      if (allowed.includes(method)) continue
      const { statusCode, headers } = await world.app.inject({ method, url })
      const expected = isForBrowsers && method === 'OPTIONS' ? [204, undefined] : [405, allowed.toSorted().join(', ')]
      const named = headers.allow?.toString().split(', ').toSorted().join(', ')
      assert.deepEqual([statusCode, named], expected, `${method} ${url}`)
    }
  }
})

for (const [n, contract] of walkedContracts.entries()) {
  test(`${contract.id} answers ${contract.status}`, async () => {
    const { scene } = stages
    const answer = await send(scene.world, contract, scene.tenant, await recipeOf(contract.id).ok(scene))
    assert.equal(answer.status, contract.status, answer.text)
    assert.equal(answerFault(contract, answer), null)
    assert.match(String(answer.headers['x-request-id']), /^req_/)
  })

  for (const status of Object.keys(contract.also ?? {}).map(Number))
    test(`${contract.id} answers ${status} when it is repeated`, async () => {
      const { scene } = stages
      const { ok, again } = recipeOf(contract.id)
      const request = await (again ?? ok)(scene)
      if (!again) await send(scene.world, contract, scene.tenant, request)
      const answer = await send(scene.world, contract, scene.tenant, request)
      assert.equal(answer.status, status, answer.text)
      assert.equal(answerFault(contract, answer), null)
    })

  for (const name of Object.keys(refusalsOf(contract)) as ProblemName[]) {
    const { status } = problems[name]
    const options = fullForm(
      'refusals of each endpoint; the fast form has one of each kind, and those of every fifth',
      isMain(contract, n, name),
    )
    test(`${contract.id} answers ${status}`, options, async () => {
      const answer = await refusalOf(stages, contract, recipeOf(contract.id), name)
      assert.ok(answer, `${contract.id} has no recipe for ${name}: give it one in test/recipes`)
      assert.equal(answer.status, status, answer.text)
      assert.equal(answerFault(contract, answer), null)
      if (status === 429) assert.match(String(answer.headers['retry-after']), /^\d+$/)
    })
  }
}
