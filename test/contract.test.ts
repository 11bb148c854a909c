import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import { refusalsOf } from '../src/platform/http/endpoint.ts'
import { type ProblemName, problems } from '../src/platform/http/problem.ts'
import { recipes } from './recipes/all.ts'
import { answerFault } from './recipes/answer.ts'
import { type RefusalWorlds, refusalOf } from './recipes/common-refusals.ts'
import { makeBrokenWorld, makeCutWorld } from './recipes/faulty-worlds.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { send } from './recipes/send.ts'
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
  const ids = new Set(contracts.map(({ id }) => id))
  assert.equal(ids.size, contracts.length, 'two endpoints have one id')
  assert.deepEqual(
    Object.keys(recipes).filter((id) => !ids.has(id)),
    [],
  )
})

for (const contract of contracts) {
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
      const request = await recipeOf(contract.id).ok(scene)
      await send(scene.world, contract, scene.tenant, request)
      const answer = await send(scene.world, contract, scene.tenant, request)
      assert.equal(answer.status, status, answer.text)
      assert.equal(answerFault(contract, answer), null)
    })

  for (const name of Object.keys(refusalsOf(contract)) as ProblemName[]) {
    const { status } = problems[name]
    test(`${contract.id} answers ${status}`, async () => {
      const answer = await refusalOf(stages, contract, recipeOf(contract.id), name)
      assert.ok(answer, `${contract.id} has no recipe for ${name}: give it one in test/recipes`)
      assert.equal(answer.status, status, answer.text)
      assert.equal(answerFault(contract, answer), null)
      if (status === 429) assert.match(String(answer.headers['retry-after']), /^\d+$/)
    })
  }
}
