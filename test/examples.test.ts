import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import { requestExample } from '../src/platform/http/openapi.ts'
import { everyFifth } from './needs.ts'
import { recipes } from './recipes/all.ts'
import { makeRecipeWorld, makeScene, type Scene } from './recipes/scene.ts'
import { type Node, nodeOf, prefixOf } from './recipes/schema.ts'
import { send } from './recipes/send.ts'

// The example of each operation is sent as openapi.json shows it. Only what belongs to one installation is replaced:
// ids, the account's numbers, addresses of receivers, and names that must be unique. The recipe of the operation has
// values that exist.

const world = await makeRecipeWorld()
const scene = await makeScene(world, 'example')

/** Fields that name a thing of this installation without an id of ours. */
const isOwn = (name: string, node: Node): boolean =>
  node.format === 'phone' ||
  node.format === 'email' ||
  /^(?:group_id|number|numbers|to|hook_url|url|account_uuids|requirement_id|region|code|token|email|name|host|port|endpoint|p256dh|auth)$/.test(
    name,
  )

const replaced = (node: Node, name: string, example: unknown, existing: unknown): unknown => {
  // The answer of a passkey signs a challenge.
  if (name === 'credential') return existing
  if (Array.isArray(example)) {
    if (existing !== undefined && node.items && (prefixOf(node.items) || isOwn(name, node.items))) return existing
    const list = Array.isArray(existing) ? existing : []
    return example.map((one, n) => replaced(node.items ?? {}, name, one, list[n]))
  }
  if (example !== null && typeof example === 'object') {
    const given = Object(existing)
    return Object.fromEntries(
      Object.entries(example).map(([key, value]) => [
        key,
        replaced(node.properties?.[key] ?? {}, key, value, given[key]),
      ]),
    )
  }
  return existing !== undefined && (prefixOf(node) || isOwn(name, node)) ? existing : example
}

const exampleRequest = async (contract: (typeof contracts)[number], at: Scene) => {
  const request = await recipes[contract.id]?.ok(at)
  assert.ok(request, `${contract.id} has no recipe`)
  const { body } = contract
  if (!body || contract.media || contract.stream || 'contentMediaType' in body) return request
  return { ...request, body: replaced(nodeOf(body), '', requestExample(body), request.body) }
}

for (const [n, contract] of contracts.entries())
  test(`the example of ${contract.id} is answered with ${contract.status}`, everyFifth(n), async () => {
    const answer = await send(world, contract, scene.tenant, await exampleRequest(contract, scene))
    assert.equal(answer.status, contract.status, answer.text)
  })
