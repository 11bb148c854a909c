import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import type { Contract } from '../src/http/endpoint.ts'
import { writeCursor } from '../src/lib/cursor.ts'
import { uuid } from '../src/lib/id.ts'
import { recipes } from './recipes/all.ts'
import type { Request } from './recipes/recipe.ts'
import { makeScene, makeScenery } from './recipes/scene.ts'
import { fields, type Node, prefixOf } from './recipes/schema.ts'
import { type Raw, send } from './recipes/send.ts'

// Two tenants, Ada and Bob. Bob has one of everything, with his mark in every text. Whatever Ada asks with what is Bob's
// must be answered as if it had never been, byte for byte but for the id itself.

const mark = 'ZQXBOBSMARKZQX'
const world = await makeScenery()
const ada = await makeScene(world, 'ada')
const bob = await makeScene(world, mark)

const ok = (contract: Contract, scene: typeof ada): Promise<Request> => {
  const recipe = recipes[contract.id]
  assert.ok(recipe, `${contract.id} has no recipe: give it one in test/recipes`)
  return Promise.resolve(recipe.ok(scene))
}

type Part = 'params' | 'query' | 'body'
type Field = { part: Part; name: string; node: Node }

/** The inputs of an endpoint that name a thing. */
const idFields = (contract: Contract): Field[] =>
  (['params', 'query', 'body'] as const).flatMap((part) =>
    fields(contract[part])
      .filter(([name, node]) => prefixOf(node) || node.format === 'phone' || /(?:_uuid|_id|cursor)$/.test(name))
      .map(([name, node]) => ({ part, name, node })),
  )

const given = (request: Request, { part, name }: Field): unknown =>
  new Map<string, unknown>(Object.entries(request[part] ?? {})).get(name)

const withValue = (request: Request, { part, name }: Field, value: unknown): Request => ({
  ...request,
  [part]: { ...Object(request[part]), [name]: value },
})

let invented = 0
/** What never existed, in the form of the real thing. */
const never = (contract: Contract, { name, node }: Field): string => {
  const prefix = prefixOf(node)
  if (prefix) return prefix + uuid()
  if (node.format === 'phone') return `+4416329${String(90_000 + ++invented)}`
  return name === 'cursor' ? writeCursor(contract.id, { time: '2026-01-01T00:00:00.000000Z', id: uuid() }) : uuid()
}

/** What is Bob's in a field of a request: as in his own request, or made for him. */
const bobs = async (contract: Contract, field: Field): Promise<unknown> => {
  const own = given(await ok(contract, bob), field)
  if (own !== undefined && field.node.format !== 'phone') return own
  if (field.node.format === 'phone') return (await bob.number()).number
  if (prefixOf(field.node) === 'USR') return bob.user()
  if (field.name !== 'cursor') return undefined
  const { uuid: message } = await bob.message()
  return writeCursor(contract.id, { time: '2026-01-01T00:00:00.000000Z', id: message.slice(3) })
}

const anyUuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const anyTime = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g
const anyNumber = /\+?441632\d{6}/g
const anyToken = /"token":"[^"]+"/

/** An answer without what differs between any two requests. */
const bare = ({ status, text }: Raw, asked: unknown): string => {
  const rest = text.replaceAll(String(asked), '‹id›').replace(/"request_id":"[^"]*"/, '"request_id":""')
  // A request that was fulfilled made things of Ada's own.
  const made = rest.replace(anyUuid, '‹uuid›').replace(anyTime, '‹time›').replace(anyNumber, '‹number›')
  return `${status} ${status < 300 ? made.replace(anyToken, '"token":""').replace(/(?:ada|ZQX\w+) \d+/g, 'ada') : rest}`
}

const seesNothing = (answer: Raw, asked: unknown) => {
  const text = answer.text.replaceAll(String(asked), '')
  for (const secret of [mark, bob.tenant.id, bob.tenant.key])
    assert.ok(!text.includes(secret), `something of Bob's stands in ${text.slice(0, 500)}`)
}

/** Every endpoint for tenants, and those of the operator that take an account and a thing of it. */
const scoped = contracts.filter(
  (contract) =>
    contract.auth === 'account' ||
    (contract.auth === 'operator' && fields(contract.params).some(([name]) => name === 'account_uuid')),
)
const walked = scoped.flatMap((contract) =>
  idFields(contract)
    .filter(({ name }) => contract.auth === 'account' || name !== 'account_uuid')
    .map((field) => ({ contract, field })),
)

test('Bob has one of everything', async () => {
  for (const contract of contracts) {
    if (contract.auth === 'none') continue
    const answer = await send(world, contract, bob.tenant, await ok(contract, bob))
    assert.equal(answer.status, contract.status, answer.text)
  }
})

test('the walk sees the endpoints and their ids', () => {
  assert.ok(scoped.length >= 25, `saw only ${scoped.length} endpoints`)
  assert.ok(walked.length >= 20, `saw only ${walked.length} ids`)
})

/** A number is one account's in all the world: others who claim it learn that (completions.md part 8), and so does the operator. */
const takenOnce = new Map([
  ['createMsgappChannel: phone_number in body', 403],
  ['createNumberGrant: phone_number in body', 409],
])

for (const { contract, field } of walked) {
  const what = `${contract.id}: ${field.name} in ${field.part}`

  test(`${what}, of another account, is answered as one that never was`, async (t) => {
    const [request, foreign] = [await ok(contract, ada), await bobs(contract, field)]
    if (foreign === undefined || foreign === given(request, field)) return t.diagnostic('shared by all accounts')
    const missing = never(contract, field)
    const asForeign = await send(world, contract, ada.tenant, withValue(request, field, foreign))
    const again = await ok(contract, ada)
    const asMissing = await send(world, contract, ada.tenant, withValue(again, field, missing))
    if (takenOnce.has(what)) assert.equal(asForeign.status, takenOnce.get(what), asForeign.text)
    else assert.equal(bare(asForeign, foreign), bare(asMissing, missing))
    seesNothing(asForeign, foreign)
  })

  if (prefixOf(field.node) === null) continue
  test(`${what}, with the right prefix and an unknown rest, is one that never was; with another prefix it is 400`, async () => {
    const request = await ok(contract, ada)
    const [missing, odd] = [never(contract, field), `${prefixOf(field.node)}0`]
    const asMissing = await send(world, contract, ada.tenant, withValue(request, field, missing))
    const asOdd = await send(world, contract, ada.tenant, withValue(request, field, odd))
    assert.equal(asMissing.status, 404, asMissing.text)
    assert.equal(bare(asOdd, odd), bare(asMissing, missing))
    const asOther = await send(world, contract, ada.tenant, withValue(request, field, `XXX${uuid()}`))
    assert.equal(asOther.status, 400, asOther.text)
  })
}

for (const contract of contracts.filter(({ auth }) => auth === 'account')) {
  test(`${contract.id}: nothing of Bob's is in the answer to Ada`, async () => {
    const answer = await send(world, contract, ada.tenant, await ok(contract, ada))
    assert.equal(answer.status, contract.status, answer.text)
    seesNothing(answer, '')
  })

  test(`${contract.id}: what Ada tries with Bob's things leaves them as they were`, async () => {
    const request = await ok(contract, bob)
    // What she writes herself may well come back to her.
    const hers: Request = JSON.parse(JSON.stringify(request).replaceAll(mark, 'ada'))
    const tried = await send(world, contract, ada.tenant, hers)
    if (contract.method !== 'GET' && tried.status < 300) return // everybody may do this
    seesNothing(tried, '')
    const own = await send(world, contract, bob.tenant, request)
    assert.equal(own.status, contract.status, own.text)
  })
}

for (const contract of contracts.filter(({ auth }) => auth !== 'none')) {
  test(`${contract.id}: the key of the other kind is refused`, async () => {
    const request = await ok(contract, bob)
    const key = contract.auth === 'operator' ? ada.tenant.key : world.operatorKey
    const answer = await send(world, contract, ada.tenant, request, { key })
    assert.equal(answer.status, 401, answer.text)
    const both = { 'x-operator-key': ada.tenant.key, 'x-user-api-key': world.operatorKey }
    const swapped = await send(world, contract, ada.tenant, request, { key: null, headers: both })
    assert.equal(swapped.status, 401, swapped.text)
  })
}

for (const contract of contracts.filter(({ auth }) => auth === 'operator')) {
  for (const field of idFields(contract).filter(({ node }) => prefixOf(node))) {
    test(`${contract.id}: ${field.name} that never was is 404, with another prefix 400`, async () => {
      const request = await ok(contract, ada)
      const missing = never(contract, field)
      const asMissing = await send(world, contract, ada.tenant, withValue(request, field, missing))
      assert.equal(asMissing.status, 404, asMissing.text)
      const asOther = await send(world, contract, ada.tenant, withValue(request, field, `XXX${uuid()}`))
      assert.equal(asOther.status, 400, asOther.text)
    })
  }
}
