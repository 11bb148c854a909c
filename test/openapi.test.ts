import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Type } from 'typebox'
import { commandsText, openapiText } from '../scripts/openapi.ts'
import { compatContracts, contracts } from '../src/contracts.ts'
import { eventDocuments } from '../src/event-payloads.ts'
import { errorCodesOf } from '../src/platform/http/error-codes.ts'
import { makeComponents } from '../src/platform/http/openapi-components.ts'
import { Named } from '../src/platform/http/schema.ts'
import { tagDescriptions } from '../src/tags.ts'
import { allows } from './recipes/answer.ts'

type Json = { [name: string]: Json }

const text = openapiText()
const document: Json = JSON.parse(text)
const { paths = {}, components = {}, webhooks = {} } = document

/** Visits each object of the document except examples. */
const walk = (node: unknown, visit: (node: Json, path: string) => void, path = ''): void => {
  if (node === null || typeof node !== 'object') return
  if (!Array.isArray(node)) visit(node as Json, path) // any object of the document
  for (const [key, inner] of Object.entries(node))
    if (!/^(?:example|examples|default|enum|const)$/.test(key) || path.endsWith('/properties'))
      walk(inner, visit, `${path}/${key}`)
}

const operations = Object.values(paths).flatMap((path) => Object.values(path))

/** Unions of replies whose limits hold: every writer of the values is a request with the same schema. */
const limitedReplies = /^\/properties\/limits\/properties\//

const limitsOfValues = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'pattern', 'format']

test('no union of a reply limits its values: a value beyond a limit would be answered 500', () => {
  const found: string[] = []
  for (const { id, reply } of contracts)
    walk(reply, (node, path) => {
      if (!path.includes('/anyOf/') || limitedReplies.test(path)) return
      // Every id has the prefix of its kind.
      if (/^\^[A-Z]{3}$/.test(String(node.pattern))) return
      for (const limit of limitsOfValues)
        if (['string', 'number'].includes(typeof node[limit])) found.push(`${id} ${path} ${limit}`)
    })
  assert.deepEqual(found, [])
})

test('a named schema keeps its name under Type.Optional and Type.Array, and becomes a reference', () => {
  const Thing = Named('Thing', Type.Object({ name: Type.String() }))
  const { referenced, schemas } = makeComponents({})
  const whole = Type.Object({ one: Type.Optional(Thing), list: Type.Array(Thing) })
  assert.deepEqual(JSON.parse(JSON.stringify(referenced(whole))), {
    type: 'object',
    required: ['list'],
    properties: {
      one: { $ref: '#/components/schemas/Thing' },
      list: { type: 'array', items: { $ref: '#/components/schemas/Thing' } },
    },
  })
  assert.deepEqual(Object.keys(schemas), ['Thing'])
})

test('two different schemas under one name are refused', () => {
  const { referenced } = makeComponents({})
  referenced(Named('Thing', Type.Object({ name: Type.String() })))
  assert.throws(
    () => referenced(Named('Thing', Type.Object({ name: Type.Integer() }))),
    /Two different schemas .* Thing/,
  )
})

test('neither openapi.json nor the contracts of the CLI contain the keyword that names schemas', () => {
  assert.ok(!text.includes('x-name'))
  assert.ok(!commandsText().includes('x-name'))
})

test('each reference in openapi.json leads to a component, and each component is used', () => {
  const used = new Set<string>()
  walk(document, ({ $ref }) => {
    if (typeof $ref === 'string') used.add($ref)
  })
  const kinds = ['schemas', 'responses', 'parameters']
  const present = kinds.flatMap((kind) =>
    Object.keys(components[kind] ?? {}).map((name) => `#/components/${kind}/${name}`),
  )
  assert.deepEqual([...used].sort(), present.sort())
})

test('openapi.json has the form of OpenAPI 3.1', () => {
  assert.match(String(document.openapi), /^3\.1\.\d+$/)
  const ids = [...operations, ...Object.values(webhooks).flatMap((path) => Object.values(path))].map(
    ({ operationId }) => String(operationId),
  )
  assert.equal(new Set(ids).size, ids.length, 'two operations have one operationId')
  const tags = new Set(Object.values(document.tags ?? {}).map(({ name }) => String(name)))
  for (const [path, methods] of Object.entries(paths))
    for (const [method, operation] of Object.entries(methods)) {
      const place = `${method} ${path}`
      assert.match(method, /^(?:get|post|put|patch|delete)$/, place)
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      const given = Object.values(operation.parameters ?? {})
        .filter((one) => String(one.in) === 'path')
        .map(({ name }) => String(name))
      assert.deepEqual(given.sort(), named.sort(), place)
      for (const tag of Object.values(operation.tags ?? {})) assert.ok(tags.has(String(tag)), place)
      for (const response of Object.values(operation.responses ?? {}))
        assert.ok('$ref' in response || 'description' in response, place)
    }
  for (const name of Object.values(components).flatMap((kind) => Object.keys(kind))) assert.match(name, /^[\w.-]+$/)
})

test('openapi.json stays small: at most 2.9 MB, with at most 440 object schemas outside components', () => {
  assert.ok(text.length <= 2_900_000, `${text.length} bytes`)
  let inline = 0
  walk(document, (node, path) => {
    const isComponent = /^\/components\/schemas\/\w+$/.test(path)
    if (String(node.type) === 'object' && node.properties && !isComponent) inline++
  })
  assert.ok(inline <= 440, `${inline} object schemas`)
  assert.ok(Object.keys(components.schemas ?? {}).length >= 90)
})

test('each operation has a description that differs from its summary', () => {
  for (const { id, summary, description } of [...contracts, ...compatContracts]) {
    assert.ok(description.length >= 20, id)
    assert.notEqual(description, summary, id)
    assert.match(description, /\.$/, id)
  }
})

test('each error code of a contract is explained in docs/errors.md', () => {
  const table = readFileSync(join(import.meta.dirname, '../docs/errors.md'), 'utf8')
  const explained = new Set([...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code))
  const codes = new Set(contracts.flatMap((contract) => Object.values(errorCodesOf(contract)).flat()))
  assert.ok(codes.size >= 100, `saw only ${codes.size}`)
  assert.deepEqual(
    [...codes].filter((code) => !explained.has(code)),
    [],
  )
})

test('each example of a request matches the schema of its operation', () => {
  for (const contract of contracts) {
    if (!contract.body || contract.media || contract.stream || 'contentMediaType' in contract.body) continue
    const path = paths[contract.url.replace(/:(\w+)/g, '{$1}')]?.[contract.method.toLowerCase()]
    const example = path?.requestBody?.content?.['application/json']?.example
    assert.ok(example !== undefined && allows(contract.body, example), `${contract.id}: ${JSON.stringify(example)}`)
  }
})

test('each example of a response matches the schema of its operation', () => {
  for (const { id, url, method, reply, status } of contracts) {
    const { responses } = paths[url.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()] ?? {}
    const [media] = Object.values(responses?.[status]?.content ?? {})
    assert.ok(media && 'example' in media && allows(reply, media.example), `${id}: ${JSON.stringify(media?.example)}`)
  }
})

test('each tag has a description and is used', () => {
  const used = new Set(operations.flatMap(({ tags }) => Object.values(tags ?? {}).map(String)))
  used.add('Events')
  // The document of the other interface.
  for (const { tag } of compatContracts) used.add(tag)
  assert.deepEqual([...used].sort(), [...tagDescriptions.keys()].sort())
})

test('each answer with success has one media type, so that a generated client has one type for it', () => {
  for (const { operationId, responses = {} } of operations)
    for (const [status, { content }] of Object.entries(responses))
      if (status.startsWith('2')) assert.equal(Object.keys(content ?? {}).length, 1, `${operationId} ${status}`)
})

test('each example of an event matches its schema', () => {
  for (const { name, body } of eventDocuments) {
    const example = webhooks[name]?.post?.requestBody?.content?.['application/json']?.example
    assert.ok(example !== undefined && allows(body, example), `${name}: ${JSON.stringify(example)}`)
  }
})
