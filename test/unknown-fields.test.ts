import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import { recipes } from './recipes/all.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { fields, type Node, nodeOf } from './recipes/schema.ts'
import { send } from './recipes/send.ts'

const scene = await makeScene(await makeRecipeWorld(), 'unknown')

const isJson = (body: Node) => body.contentMediaType === undefined
const ofOperators = contracts.filter(({ auth, body }) => auth === 'operator' && body && isJson(nodeOf(body)))

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The schema of an object, which may be nullable or a list item; else null. */
const objectOf = (node: Node): Node | null => {
  const whole = node.anyOf?.find(({ type }) => type === 'object') ?? node
  if (whole.type === 'array' && whole.items) return objectOf(whole.items)
  return whole.properties && !whole.patternProperties ? whole : null
}

/** A body with a mistyped field in one of its objects. */
const within = (node: Node, body: Record<string, unknown>, name: string, typo: string) => {
  const inner = body[name]
  const field = { [typo]: 1 }
  if (node.type !== 'array') return { ...body, [name]: { ...Object(inner), ...field } }
  const [first] = Array.isArray(inner) ? inner : []
  return { ...body, [name]: [{ ...Object(first), ...field }] }
}

test('the walk sees operator bodies and nested objects', () => {
  assert.ok(ofOperators.length >= 15, `saw only ${ofOperators.length}`)
  const inner = ofOperators.flatMap(({ body }) => fields(body)).filter(([, node]) => objectOf(node))
  assert.ok(inner.length >= 5, `saw only ${inner.length}`)
})

for (const contract of ofOperators) {
  const names = fields(contract.body)

  test(`${contract.id} refuses a field that it does not know, and names the nearest`, async () => {
    const recipe = recipes[contract.id]
    assert.ok(recipe, `${contract.id} has no recipe: give it one in test/recipes`)
    const request = await recipe.ok(scene)
    const body = isRecord(request.body) ? request.body : {}
    const [known = ''] = names[0] ?? []
    const typo = `${known}x`
    const refused = await send(scene.world, contract, scene.tenant, { ...request, body: { ...body, [typo]: 1 } })
    assert.equal(refused.status, 400, refused.text)
    const message = isRecord(refused.body) ? refused.body.error_message : null
    assert.equal(message, `There is no field ${typo}; did you mean ${known}?`)

    for (const [name, node] of names) {
      const inner = objectOf(node)
      const [first] = Object.keys(inner?.properties ?? {})
      if (!first) continue
      const wrong = within(node, body, name, `${first}x`)
      const answer = await send(scene.world, contract, scene.tenant, { ...request, body: wrong })
      assert.equal(answer.status, 400, answer.text)
      assert.match(answer.text, new RegExp(`There is no field ${name}\\.(?:0\\.)?${first}x; did you mean ${name}\\.`))
    }

    const fulfilled = await send(scene.world, contract, scene.tenant, await recipe.ok(scene))
    assert.ok([contract.status, ...Object.keys(contract.also ?? {}).map(Number)].includes(fulfilled.status))
  })
}

test('clients’ bodies may hold fields that are not known', async () => {
  const contract = contracts.find(({ id }) => id === 'createContact')
  const recipe = recipes.createContact
  assert.ok(contract && recipe)
  const request = await recipe.ok(scene)
  const body = { ...Object(request.body), unknown: 1 }
  const answer = await send(scene.world, contract, scene.tenant, { ...request, body })
  assert.equal(answer.status, contract.status, answer.text)
})
