import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import { uuid } from '../src/platform/lib/id.ts'
import { recipes } from './recipes/all.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { type Node, nodeOf } from './recipes/schema.ts'
import { send } from './recipes/send.ts'
import type { Answer } from './world.ts'

// A filter value that cannot match anything is a mistake: the answer says so instead of returning an empty list.

const world = await makeRecipeWorld()
const scene = await makeScene(world, 'filters')

// Another account. Every string of it has the mark.
const mark = 'zqxforeignzqx'
const foreign = await makeScene(world, mark)
const make = async (url: string, body: object): Promise<Answer['body']> => {
  const made = await world.call(foreign.tenant, 'POST', url, body)
  assert.ok(made.status < 300, `${url}: ${JSON.stringify(made.body)}`)
  return made.body
}

/** Ids, numbers and words of things of the other account, by which a filter may look. */
const foreignThings = async (): Promise<readonly string[]> => {
  const [contact, user, { number }] = [await foreign.contact(), await foreign.user(), await foreign.number()]
  const { tag } = await make('/open/tags', { name: mark })
  const { view } = await make('/open/views', { name: mark, page: 'inbox', query: { status: 'open' }, shared: true })
  const { conversation } = await make('/open/conversations', { number: '+447911888999' })
  await world.call(foreign.tenant, 'PATCH', `/open/conversations/${conversation.uuid}`, { assignee_uuid: user })
  const { key, uuid: keyId } = await make('/open/keys', { label: mark })
  const { targets } = await world.db.one<{ targets: string[] }>`
    select array_agg(target) as targets from (
      select distinct on (left(target, 3)) target from audit_targets
      where owner_id = ${foreign.tenant.id} order by left(target, 3), target) of_each_kind`
  const ids = [contact, user, tag.uuid, view.uuid, conversation.uuid, keyId, foreign.tenant.uuid, ...targets]
  return [...new Set<string>([...ids, number, '+447911888999', mark, key.slice(-4)])]
}
const things = await foreignThings()

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

/** Filters that name a thing, or look for words. Ids with a pattern of their own are in test/isolation.test.ts. */
const naming = ['actor', 'target', 'assignee', 'views', 'q', 'query', 'contact_number', 'key_last_four', 'name']

/** A value of the same form that nothing has. */
const unknownLike = (value: string): string => {
  if (/^[A-Z]{3}[0-9a-f]{8}-/.test(value)) return value.slice(0, 3) + uuid()
  if (value.startsWith('+')) return '+447911888000'
  return value.length === 4 ? 'zzzz' : 'zqxnothingzqx'
}

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

for (const { contract, name } of filters.filter(
  ({ contract, name }) => contract.auth === 'account' && naming.includes(name),
))
  test(`${contract.id} finds nothing of another account by its ${name}`, async () => {
    const { query, ...request } = (await recipes[contract.id]?.ok(scene)) ?? assert.fail(contract.id)
    const ask = async (value: string) => {
      const given = name === 'assignee' || name === 'views' ? { [name]: value } : { ...query, [name]: value }
      const { status, body, text } = await send(world, contract, scene.tenant, { ...request, query: given })
      const { error_code: code, count, total, groups }: Answer['body'] = Object(body)
      return { outcome: { status, code, count, total, groups: groups?.length }, text: text.replaceAll(value, '') }
    }
    for (const value of things) {
      const [found, missing] = [await ask(value), await ask(unknownLike(value))]
      assert.deepEqual(found.outcome, missing.outcome, value)
      for (const one of things) assert.ok(one.length < 10 || !found.text.includes(one), `${value}: ${found.text}`)
    }
  })
