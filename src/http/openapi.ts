import type { TSchema } from 'typebox'
import { quotaNames } from '../lib/quotas.ts'
import { type Contract, isRepeatable, needsOperator, refusals } from './endpoint.ts'
import { isBodyOptional } from './form.ts'
import { problems, type Shape } from './problem.ts'

type Json = Record<string, unknown>

const keys: Record<Contract['auth'], string | null> = {
  account: 'accountKey',
  operator: 'operatorKey',
  voice: 'voiceToken',
  none: null,
}

/** The properties of an object, by name. */
export const properties = (schema: TSchema | undefined): [string, TSchema][] =>
  schema && 'properties' in schema ? Object.entries(schema.properties ?? {}) : []

/** The names of the properties that an object must have. */
export const required = (schema: TSchema | undefined): string[] =>
  schema && 'required' in schema && Array.isArray(schema.required) ? schema.required : []

const parameters = (schema: TSchema | undefined, where: 'path' | 'query'): Json[] =>
  properties(schema).map(([name, property]) => {
    const { description, ...rest } = { description: undefined, ...property }
    return {
      name,
      in: where,
      required: where === 'path' || required(schema).includes(name),
      ...(description ? { description } : {}),
      schema: rest,
    }
  })

/** An example of what a schema allows, made of the examples of its parts. */
export const exampleOf = (schema: TSchema): unknown => {
  const node: Json = { ...schema }
  if (Array.isArray(node.examples)) return node.examples[0]
  if ('const' in node) return node.const
  if ('default' in node) return node.default
  if (Array.isArray(node.enum)) return node.enum[0]
  if (node.format === 'date-time') return '2026-11-21T06:20:00Z'
  if (Array.isArray(node.anyOf)) return exampleOf(node.anyOf[0])
  switch (Array.isArray(node.type) ? node.type[0] : node.type) {
    case 'object':
      return Object.fromEntries(
        properties(schema)
          .filter(([name]) => required(schema).includes(name) || properties(schema).length <= 12)
          .map(([name, property]) => [name, exampleOf(property)]),
      )
    case 'array':
      return node.items && typeof node.items === 'object' ? [exampleOf(node.items)] : []
    case 'integer':
    case 'number':
      return typeof node.minimum === 'number' ? Math.max(node.minimum, 1) : 1
    case 'boolean':
      return false
    case 'null':
      return null
    default:
      return 'text'
  }
}

/** Schemas of the two shapes of a refusal. */
const errorSchema = (shape: Shape): Json => ({
  type: 'object',
  required: [...(shape === 'full' ? ['success'] : []), 'error', 'error_message', 'error_code', 'request_id'],
  properties: {
    ...(shape === 'full' ? { success: { const: false } } : {}),
    error: { const: true },
    error_message: { type: 'string' },
    error_code: { type: 'string', description: 'Stable, for programs' },
    limit: { type: 'string', description: 'The quota that is used up; on limit_exceeded', enum: [...quotaNames] },
    request_id: { type: 'string', description: 'Finds the request in the log of the server' },
    ...(shape === 'full' ? { detail: { type: 'string', description: 'The message again; on 401' } } : {}),
  },
})

/** The types of what a schema describes: JSON, unless it is a text or a file of another type. */
const mediaOf = (schema: TSchema, media?: readonly string[]): readonly string[] =>
  media ?? ['contentMediaType' in schema ? String(schema.contentMediaType) : 'application/json']

const content = (schema: TSchema, media?: readonly string[]): Json =>
  Object.fromEntries(mediaOf(schema, media).map((type) => [type, { schema, example: exampleOf(schema) }]))

const responses = (contract: Contract): Json => {
  const { shape, reply, headers = {} } = contract
  const described = Object.entries(headers).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' } },
  ])
  const answers: Json = {}
  for (const [status, description] of Object.entries({ ...contract.also, [contract.status]: 'Done' }))
    answers[status] = {
      description,
      ...(described.length > 0 ? { headers: Object.fromEntries(described) } : {}),
      content: content(reply),
    }
  for (const [name, description] of Object.entries(refusals(contract))) {
    const entry = Object.entries(problems).find(([known]) => known === name)?.[1]
    if (!entry) continue
    const body = entry.status === 401 ? 'full' : shape
    const plain = { $ref: `#/components/schemas/${body === 'full' ? 'Error' : 'BriefError'}` }
    const { faults } = entry.status === 400 ? contract : {}
    answers[entry.status] = {
      description,
      content: {
        'application/json': {
          schema: faults ? { allOf: [plain, faults] } : plain,
          example: {
            ...(body === 'full' ? { success: false } : {}),
            error: true,
            error_message: description,
            error_code: entry.code,
            request_id: 'req_Zk3x9Qa1b',
            ...(faults ? Object(exampleOf(faults)) : {}),
          },
        },
      },
    }
  }
  return answers
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A repeated request with the same key and body within 24 hours has no second effect and gets the same answer',
  schema: { type: 'string', maxLength: 255 },
}

const operation = (contract: Contract): Json => {
  const { id, tag, summary, body, media } = contract
  const key = keys[contract.auth]
  const inputs = [
    ...parameters(contract.params, 'path'),
    ...parameters(contract.query, 'query'),
    ...(key !== null && isRepeatable(contract) ? [idempotencyKey] : []),
  ]
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(contract.needs
      ? { description: `Needs an API key with the scope \`${contract.needs}\`.`, 'x-needs': contract.needs }
      : {}),
    ...(key ? { security: [{ [key]: [] }] } : { security: [] }),
    ...(contract.auth === 'operator' ? { 'x-role': needsOperator(contract) ? 'operator' : 'observer' } : {}),
    ...(inputs.length > 0 ? { parameters: inputs } : {}),
    ...(body ? { requestBody: { required: !isBodyOptional(contract), content: content(body, media) } } : {}),
    responses: responses(contract),
  }
}

/** The OpenAPI 3.1 document of the contracts. */
export const openapi = (contracts: readonly Contract[], version: string): Json => {
  const paths: Record<string, Json> = {}
  for (const contract of contracts) {
    const path = contract.url.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [contract.method.toLowerCase()]: operation(contract) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Trunkline',
      version,
      description:
        'Phone numbers, SMS, voice, contacts, a messaging app and webhooks behind one interface, on a server of your own. ' +
        'A blank or null optional value counts as absent; in an update a blank leaves the field unchanged, and null clears it where its schema allows null. ' +
        'Decimal strings are accepted for numbers, and the strings true and false for booleans.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(contracts.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        accountKey: { type: 'apiKey', in: 'header', name: 'X-User-API-Key' },
        operatorKey: { type: 'apiKey', in: 'header', name: 'X-Operator-Key' },
        voiceToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
      schemas: { Error: errorSchema('full'), BriefError: errorSchema('brief') },
    },
  }
}
