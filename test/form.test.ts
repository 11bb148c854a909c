import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import { bodyReader } from '../src/platform/http/body-reader.ts'
import type { Contract } from '../src/platform/http/endpoint.ts'
import { exampleOf } from '../src/platform/http/openapi.ts'
import { everyFifth } from './needs.ts'
import { recipes } from './recipes/all.ts'
import { allows, answerFault } from './recipes/answer.ts'
import type { Request } from './recipes/recipe.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { type Node, nodeOf } from './recipes/schema.ts'
import { send } from './recipes/send.ts'

// Form tools send every field: empty strings for absent fields, and strings for numbers.

const scene = await makeScene(await makeRecipeWorld(), 'form')

const isRecord = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

const variantsOf = (node: Node): Node[] => node.anyOf?.flatMap(variantsOf) ?? [node]

const takesNull = (node: Node): boolean =>
  variantsOf(node).some(
    ({ type, enum: values, const: value }) => type === 'null' || value === null || values?.includes(null),
  )

/** A value with every optional field that it omits; nested objects are filled field by field. */
const filledUp = (node: Node, value: unknown, empty: (field: Node) => unknown): unknown => {
  const variants = variantsOf(node)
  const items = variants.find(({ items }) => items)?.items
  if (Array.isArray(value)) return items ? value.map((item) => filledUp(items, item, empty)) : value
  const group = variants.find(({ properties }) => properties)
  if (!isRecord(value) || !group?.properties) return value
  const whole = { ...value }
  for (const [name, field] of Object.entries(group.properties)) {
    if (name in value) whole[name] = filledUp(field, value[name], empty)
    else if (!group.required?.includes(name)) {
      const filler = empty(field)
      if (filler !== undefined) whole[name] = filler
    }
  }
  return whole
}

/** A value with every number and boolean as a string where the schema allows no string. */
const asStrings = (node: Node, value: unknown): unknown => {
  const variants = variantsOf(node)
  const types = variants.flatMap(({ type, enum: values }) => type ?? (values ? 'string' : []))
  if (typeof value === 'number' || typeof value === 'boolean') return types.includes('string') ? value : String(value)
  const items = variants.find(({ items }) => items)?.items
  if (Array.isArray(value)) return items ? value.map((item) => asStrings(items, item)) : value
  const properties = variants.find(({ properties }) => properties)?.properties
  if (!isRecord(value) || !properties) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, properties[name] ? asStrings(properties[name], inner) : inner]),
  )
}

const isForm = ({ body }: Contract): boolean => nodeOf(body).type === 'object'

const requestOf = async (contract: Contract): Promise<Request> => {
  const recipe = recipes[contract.id]
  assert.ok(recipe, `${contract.id} has no recipe`)
  return await recipe.ok(scene)
}

const accepted = async (contract: Contract, request: Request): Promise<void> => {
  const answer = await send(scene.world, contract, scene.tenant, request)
  assert.ok([contract.status, ...Object.keys(contract.also ?? {}).map(Number)].includes(answer.status), answer.text)
  assert.equal(answerFault(contract, answer), null)
}

test('the walk sees forms and queries of many endpoints', () => {
  assert.ok(contracts.filter(isForm).length >= 50)
})

for (const [n, contract] of contracts.entries()) {
  const options = everyFifth(n)
  if (isForm(contract)) {
    const schema = nodeOf(contract.body)
    const isUpdate = contract.method === 'PUT' || contract.method === 'PATCH'

    test(
      `${contract.id} treats blank optional fields as absent, and reads numbers and booleans from strings`,
      options,
      async () => {
        const request = await requestOf(contract)
        const body = filledUp(schema, asStrings(schema, request.body ?? {}), () => '')
        if (JSON.stringify(body) !== JSON.stringify(request.body)) await accepted(contract, { ...request, body })
      },
    )

    test(`${contract.id} treats null optional fields as absent where null does not clear`, options, async () => {
      const request = await requestOf(contract)
      const nulls = (node: Node, value: unknown) =>
        filledUp(node, value, (field) => (takesNull(field) ? undefined : null))
      // Operator updates reject null where a field cannot be cleared; list items are always given whole.
      if (isUpdate && contract.auth === 'operator')
        for (const [name, field] of Object.entries(schema.properties ?? {})) {
          if (takesNull(field) || schema.required?.includes(name)) continue
          const body = { ...Object(request.body), [name]: null }
          const { status, text } = await send(scene.world, contract, scene.tenant, { ...request, body })
          assert.equal(status, 400, text)
        }
      else {
        const body = nulls(schema, request.body ?? {})
        if (JSON.stringify(body) !== JSON.stringify(request.body)) await accepted(contract, { ...request, body })
      }
    })

    test(`${contract.id} reads every number and boolean of its example from a string`, options, () => {
      const everything = (node: Node): unknown => {
        const [variant = node] = variantsOf(node)
        if (variant.properties)
          return Object.fromEntries(
            Object.entries(variant.properties).map(([name, field]) => [name, everything(field)]),
          )
        return variant.items ? [everything(variant.items)] : exampleOf(Object.assign({}, node))
      }
      const example = everything(schema)
      if (!allows(schema, example)) return
      const given = asStrings(schema, example)
      assert.deepEqual(bodyReader(contract)?.(given) ?? given, example)
    })

    if (isUpdate)
      test(`${contract.id} changes nothing if every field is blank`, options, async () => {
        const read = contracts.find(({ method, url }) => method === 'GET' && url === contract.url)
        const { required = [], properties = {} } = schema
        if (!read || required.length > 0) return
        const { params = {} } = await requestOf(contract)
        const look = async () => {
          const { status, body, text } = await send(scene.world, read, scene.tenant, { params })
          assert.equal(status, read.status, text)
          return JSON.stringify(body, (name, value) =>
            /^(?:updated_at|last_updated|state)$/.test(name) ? null : value,
          )
        }
        const before = await look()
        const blank = Object.fromEntries(Object.keys(properties).map((name) => [name, '']))
        await accepted(contract, { params, body: blank })
        assert.equal(await look(), before)
      })
  }

  if (contract.query)
    test(`${contract.id} treats blank parameters as absent`, options, async () => {
      const request = await requestOf(contract)
      const names = Object.keys(nodeOf(contract.query).properties ?? {})
      const blanks = Object.fromEntries(names.map((name) => [name, '']))
      await accepted(contract, { ...request, query: { ...blanks, ...request.query } })
    })
}

test('a string is never read as a number where a string is allowed, or where it is not a decimal', () => {
  const of = (id: string) => {
    const contract = contracts.find((one) => one.id === id)
    assert.ok(contract)
    return bodyReader(contract)
  }
  assert.deepEqual(of('creditAccount')?.({ amount: '12.50' }), { amount: '12.50' })
  assert.deepEqual(of('sendSms')?.({ text: '12', to_number: '447700900123' }), {
    text: '12',
    to_number: '447700900123',
  })
  for (const ttl of ['0x10', '1e3', ' 5', '5.0', 'Infinity', 'NaN', '1_000', '12345678901234567'])
    assert.deepEqual(of('mintToken')?.({ ttl }), { ttl })
  assert.deepEqual(of('sendMessage')?.({ pin: { latitude: '51.5', longitude: '-0.12', name: '7' } }), {
    pin: { latitude: 51.5, longitude: -0.12, name: '7' },
  })
})

test('an empty group of fields is absent, and a blank required field is not', async () => {
  const { world, tenant } = scene
  const chat = scene.chatNumber()
  await scene.chat(chat)
  const blank = { to_group_uuid: '', to_remote_id: '', url: '', pin: { latitude: '', longitude: '', name: '' } }
  const text = { from_number: chat, to_number: '+447400123456', text: 'Hello', ...blank }
  assert.equal((await world.call(tenant, 'POST', '/open/msgapp/send-message', text)).status, 202)
  const pin = { ...text, text: '', pin: { latitude: '51.5', longitude: '-0.12', name: '' } }
  assert.equal((await world.call(tenant, 'POST', '/open/msgapp/send-message', pin)).status, 202)
  const none = await world.call(tenant, 'POST', '/open/msgapp/send-message', { ...text, text: '' })
  assert.equal(none.status, 400)
  const sms = await world.call(tenant, 'POST', '/open/sms/send', { from_number: chat, to_number: chat, text: '' })
  assert.deepEqual(
    [sms.status, sms.body.error_message],
    [400, 'text must not be empty, unless the message has media_urls'],
  )
})

test('an update leaves blank fields as they are, and clears with null', async () => {
  const { world, tenant } = scene
  const details = [{ type: 'E', value: 'form@example.com' }]
  const made = { first_name: 'Ada', last_name: 'Lovelace', profile_pic_url: 'https://example.com/a.jpg' }
  const { body } = await world.call(tenant, 'POST', '/open/contacts', { ...made, contact_details: details })
  const url = `/open/contacts/${body.contact.uuid}`
  const change = async (fields: object) => (await world.call(tenant, 'PUT', url, fields)).body.contact
  const blank = { first_name: '', last_name: '', profile_pic_url: '', channel_uuid: '', contact_details: '' }
  assert.partialDeepStrictEqual(await change(blank), made)
  assert.partialDeepStrictEqual(await change({ first_name: null, last_name: null, profile_pic_url: null }), {
    first_name: 'Ada',
    last_name: '',
    profile_pic_url: null,
  })
})
