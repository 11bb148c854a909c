import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import { uuid } from '../src/platform/lib/id.ts'
import { recipes } from './recipes/all.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { type Node, nodeOf } from './recipes/schema.ts'
import { send } from './recipes/send.ts'

// A filter value that cannot match anything is a mistake: the answer says so instead of returning an empty list.

const scene = await makeScene(await makeRecipeWorld(), 'filters')

const fieldsOf = (node: Node | undefined): Record<string, Node> => node?.properties ?? {}

const filters = contracts
  .filter(({ method, query }) => method === 'GET' && query)
  .flatMap((contract) =>
    Object.entries(fieldsOf(nodeOf(contract.query))).map(([name, node]) => ({ contract, name, node })),
  )

/** Free-text filters, which may match nothing, and parameters that are not filters. */
const free = new Set([
  'number_contains',
  'contains',
  'city_name_or_prefix',
  'actor',
  'contact_number',
  'error_code',
  'name',
  'name_contains',
  'target',
  'prefix',
  'to_number',
  'from_number',
  'phone_number',
  'number',
  // Places of the catalogue: a search for one of another country returns nothing.
  'region_id',
  'city_id',
  'q',
  'query',
  // Past requests, also by routes and codes of earlier versions.
  'route',
  'error_code',
  'request_id',
  'key_last_four',
  'since',
  'until',
  'before_ts',
  'cursor',
  'page',
  'page_number',
  'per_page',
  'results_per_page',
  'extra-information',
])

/** Filters of one list that may match nothing: a kind of jobs need not have a dead one. */
const freeOfList = new Set(['listDeadJobs kind'])
const isFree = ({ contract: { id }, name }: (typeof filters)[number]) =>
  free.has(name) || freeOfList.has(`${id} ${name}`)

/** A value that does not exist. */
const strange = ({ pattern }: Node, name: string): string => {
  const prefix = /^\^([A-Z]{3})$/.exec(pattern ?? '')?.[1]
  if (prefix) return prefix + uuid()
  return name === 'country' ? 'QQ' : 'zebra'
}

test('the walk sees the filters', () => {
  const seen = filters.filter((one) => !isFree(one))
  assert.ok(seen.length >= 25, `saw only ${seen.length} filters`)
})

for (const { contract, name, node } of filters.filter((one) => !isFree(one)))
  test(`${contract.id} refuses a ${name} that does not exist`, async () => {
    const recipe = recipes[contract.id]
    assert.ok(recipe, `${contract.id} has no recipe: give it one in test/recipes`)
    const request = await recipe.ok(scene)
    const query = { ...request.query, [name]: strange(node, name) }
    const { status, body, text } = await send(scene.world, contract, scene.tenant, { ...request, query })
    assert.ok(status === 400 || status === 404, text)
    const { error_message: message }: { error_message: string } = Object(body)
    for (const word of node.enum ?? []) assert.ok(message.includes(String(word)), `${message} does not name ${word}`)
  })
