import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operations as accountOperations } from '../../packages/client/src/account-operations.gen.ts'
import { Trunkline } from '../../packages/client/src/index.ts'
import { Operator } from '../../packages/client/src/operator.ts'
import { operations as operatorOperations } from '../../packages/client/src/operator-operations.gen.ts'
import { Sandbox } from '../../packages/client/src/sandbox.ts'
import { operations as sandboxOperations } from '../../packages/client/src/sandbox-operations.gen.ts'
import { contracts } from '../../src/contracts.ts'
import type { Contract } from '../../src/platform/http/endpoint.ts'
import { everyFifth } from '../needs.ts'
import { recipes } from '../recipes/all.ts'
import { answerFault } from '../recipes/answer.ts'
import type { Request } from '../recipes/recipe.ts'
import { makeRecipeWorld, makeScene } from '../recipes/scene.ts'
import { nodeOf } from '../recipes/schema.ts'

// @trunkline/client calls each operation on a running platform, with the request of its recipe.

const world = await makeRecipeWorld()
const scene = await makeScene(world, 'client')
const baseUrl = await world.app.listen({ host: '127.0.0.1', port: 0 })

type Client = Record<string, Record<string, (args: object) => Promise<unknown> & { page?: () => Promise<unknown> }>>

const clients: readonly { covers: (contract: Contract) => boolean; table: Record<string, string>; client: Client }[] = [
  {
    covers: ({ url }) => url.startsWith('/sandbox/'),
    table: sandboxOperations,
    client: new Sandbox({ apiKey: scene.tenant.key, baseUrl }) as unknown as Client,
  },
  {
    covers: ({ url }) => url.startsWith('/operator/'),
    table: operatorOperations,
    client: new Operator({ apiKey: world.operatorKey, baseUrl }) as unknown as Client,
  },
  {
    covers: () => true,
    table: accountOperations,
    client: new Trunkline({ apiKey: scene.tenant.key, baseUrl }) as unknown as Client,
  },
]

const entryOf = (contract: Contract) => {
  const entry = clients.find(({ covers }) => covers(contract))
  assert.ok(entry)
  return entry
}

/** The fields of path, query and body in one object, as the client takes them. */
const argumentsOf = (contract: Contract, { params, query, body }: Request): object => {
  const type = contract.media?.[0] ?? nodeOf(contract.body).contentMediaType
  const content = type === undefined ? body : { file: body, media_type: type }
  return { ...params, ...query, ...(content as object | undefined) }
}

const listed = contracts.filter(({ client }) => client !== undefined)

test('every operation that takes a key has a method of its own', () => {
  assert.ok(listed.length >= 170, `saw only ${listed.length} operations`)
  for (const { covers, table } of clients) {
    const names = listed.filter((contract) => entryOf(contract).covers === covers).map(({ client }) => String(client))
    assert.equal(new Set(names).size, names.length, 'two operations have one name')
    assert.deepEqual(Object.keys(table).sort(), names.sort())
    for (const name of names) assert.match(name, /^[a-z]\w*\.[a-z]\w*$/)
  }
})

for (const [n, contract] of listed.entries())
  test(`${contract.client} performs ${contract.method} ${contract.url}`, everyFifth(n), async () => {
    const recipe = recipes[contract.id]
    assert.ok(recipe)
    const [group = '', method = ''] = String(contract.client).split('.')
    const { client } = entryOf(contract)
    const call = client[group]?.[method]
    assert.ok(call)
    const request = await recipe.ok(scene)
    const made = call(argumentsOf(contract, request))
    const given = Promise.resolve(made.page?.() ?? made)
    // Some things belong to persons, and keys are none.
    if (request.cookie !== undefined) return assert.rejects(given, { code: 'no_person' })
    const answer = await given
    if (answer instanceof Response) return assert.ok((await answer.arrayBuffer()).byteLength > 0)
    const { status } = contract
    assert.equal(answerFault(contract, { status, text: JSON.stringify(answer), body: answer, headers: {} }), null)
  })

test('a list is read to its end, and by its limit', async () => {
  const client = new Trunkline({ apiKey: (await world.tenant()).key, baseUrl })
  for (let i = 0; i < 7; i++)
    await client.contacts.create({
      first_name: `Ada ${i}`,
      contact_details: [{ type: 'E', value: `ada${i}@example.com` }],
    })
  const all = client.contacts.list({ results_per_page: 3 })
  const names: string[] = []
  for await (const { first_name } of all) names.push(String(first_name))
  assert.equal(new Set(names).size, 7)
  assert.equal((await all.toArray({ limit: 4 })).length, 4)
  assert.equal((await all.toArray()).length, 7, 'without a limit all rows')
  const { contacts, count } = await all
  assert.deepEqual([contacts.length, count], [3, 3], 'awaited it is its first page')
  await assert.rejects(async () => await client.contacts.list({ results_per_page: 0 }), { code: 'invalid_request' })
  const found = await client.contacts.search({ query: 'Ada', results_per_page: 2 }).toArray({ limit: 100 })
  assert.equal(new Set(found.map(({ uuid }) => uuid)).size, 7)
})
