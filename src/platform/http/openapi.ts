import type { TSchema } from 'typebox'
import { quotaNames } from '../lib/quota-definitions.ts'
import { isBodyOptional } from './body-reader.ts'
import { csvContractOf } from './csv-export.ts'
import { type Contract, faultsStatus, isRepeatable, needsOperator, refusalsOf } from './endpoint.ts'
import { errorCodesOf, transferOf } from './error-codes.ts'
import { formType, multipartType } from './form-body.ts'
import { type Components, type Json, makeComponents } from './openapi-components.ts'
import { type EventDocument, webhookHeaders, webhookSection } from './openapi-webhooks.ts'
import { type ProblemName, problems, type Shape } from './problem.ts'

const securitySchemeNames: Record<Contract['auth'], string | null> = {
  account: 'accountKey',
  operator: 'operatorKey',
  voice: 'voiceToken',
  session: null,
  none: null,
}

const securityOf = ({ auth, scheme }: Contract): string | null =>
  scheme === 'basic' ? 'basic' : securitySchemeNames[auth]

/** True if the endpoint takes a session. */
const takesSession = ({ auth, scheme }: Contract): boolean =>
  scheme !== 'basic' && (auth === 'account' || auth === 'operator' || auth === 'session')

/** Returns the properties of an object schema by name. */
export const properties = (schema: TSchema | undefined): [string, TSchema][] =>
  schema && 'properties' in schema ? Object.entries(schema.properties ?? {}) : []

/** Returns a path with `{name}` for parameters. */
const pathOf = (url: string): string => url.replace(/:(\w+)/g, '{$1}')

/** Returns the names of the required properties. */
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

/** Returns an example value of a schema, composed of the examples of its parts. */
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

/** Returns the example of a request body: the one of the schema, else its required fields. */
export const requestExample = (schema: TSchema): unknown => {
  if (!('properties' in schema) || 'examples' in schema) return exampleOf(schema)
  return Object.fromEntries(
    properties(schema)
      .filter(([name]) => required(schema).includes(name))
      .map(([name, property]) => [name, requestExample(property)]),
  )
}

/** Schema of an error response of the compatible interface. */
const compatErrorSchema: Json = {
  type: 'object',
  required: ['code', 'message', 'more_info', 'status'],
  properties: {
    code: { type: 'integer', description: 'Stable, for programs' },
    message: { type: 'string' },
    more_info: { type: 'string', description: 'Page about the error' },
    status: { type: 'integer', description: 'The status of the response' },
  },
}

/** Schema of an error response in one of the two shapes. */
const errorSchema = (shape: Exclude<Shape, 'compat'>): Json => ({
  type: 'object',
  required: [...(shape === 'full' ? ['success'] : []), 'error', 'error_message', 'error_code', 'request_id'],
  properties: {
    ...(shape === 'full' ? { success: { const: false } } : {}),
    error: { const: true },
    error_message: { type: 'string' },
    error_code: { type: 'string', description: 'Stable, for programs' },
    field: {
      type: 'string',
      description:
        'JSON pointer of the field at fault, where one field is: /to_number of the body, /query/since, /path/message_uuid',
      examples: ['/to_number'],
    },
    limit: { type: 'string', description: 'The exhausted quota; on limit_exceeded', enum: [...quotaNames] },
    request_id: { type: 'string', description: 'Identifies the request in the log of the server' },
    ...(shape === 'full' ? { detail: { type: 'string', description: 'The message again; on 401' } } : {}),
  },
})

/** Returns the media types of a schema. Default: JSON. */
const mediaOf = (schema: TSchema, media?: readonly string[]): readonly string[] =>
  media ?? ['contentMediaType' in schema ? String(schema.contentMediaType) : 'application/json']

const content = ({ referenced }: Components, schema: TSchema, example: unknown, media?: readonly string[]): Json =>
  Object.fromEntries(mediaOf(schema, media).map((type) => [type, { schema: referenced(schema), example }]))

const pascalCase = (text: string): string => text.replace(/(?:^|_)([a-z])/g, (_, first: string) => first.toUpperCase())

/** Name of a refusal that many operations share. */
const sharedName = (contract: Contract, problem: ProblemName): string => {
  const { auth, needs = '', orNeeds = '', shape, url } = contract
  const brief = shape === 'brief' && problem !== 'unauthorized' ? 'Brief' : ''
  const takesKey = auth === 'account' || auth === 'operator'
  const ofKey =
    problem === 'unauthorized' ||
    problem === 'tooMany' ||
    problem === 'forbidden' ||
    (problem === 'invalid' && takesKey)
  const ofSandbox = problem === 'tooMany' || problem === 'forbidden' || problem === 'unavailable'
  const sandbox = ofSandbox && url.startsWith('/sandbox/') ? 'Sandbox' : ''
  const rights = `${pascalCase(needs)}${pascalCase(orNeeds)}${auth === 'operator' && !needsOperator(contract) ? 'Observer' : ''}`
  const scope = problem === 'forbidden' ? `${rights}${contract.proof ? 'Proof' : ''}` : ''
  const transfer = transferOf(contract)
  const file = problem === 'unavailable' && transfer !== 'none' ? pascalCase(transfer) : ''
  const exported = problem === 'unavailable' && contract.csv !== undefined ? 'Export' : ''
  return `${brief}${ofKey ? pascalCase(auth) : ''}${sandbox}${pascalCase(problem)}${scope}${file}${exported}`
}

const refusal = (contract: Contract, name: ProblemName, description: string, components: Components): Json => {
  const { status, code } = problems[name]
  if (contract.shape === 'compat')
    return {
      description,
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/CompatError' },
          example: { code: 20001, message: description, more_info: '/docs/twilio', status },
        },
      },
    }
  const shape = status === 401 ? 'full' : contract.shape
  const plain = { $ref: `#/components/schemas/${shape === 'full' ? 'Error' : 'BriefError'}` }
  const { faults } = status === faultsStatus(contract) ? contract : {}
  const codes = errorCodesOf(contract)[name] ?? [code]
  const narrowed = { properties: { error_code: { enum: codes } } }
  const body = {
    description,
    content: {
      'application/json': {
        schema: { allOf: [plain, narrowed, ...(faults ? [components.referenced(faults)] : [])] },
        example: {
          ...(shape === 'full' ? { success: false } : {}),
          error: true,
          error_message: description,
          error_code: codes[0],
          request_id: 'req_Zk3x9Qa1b',
          ...(faults ? Object(exampleOf(faults)) : {}),
        },
      },
    },
  }
  const isShared = contract.errors[name] === undefined && contract.codes?.[name] === undefined && !faults
  return isShared ? components.response(sharedName(contract, name), body) : body
}

const isProblem = (name: string): name is ProblemName => Object.hasOwn(problems, name)

const responses = (contract: Contract, components: Components): Json => {
  const { reply, headers = {} } = contract
  const described = Object.entries(headers).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' } },
  ])
  const answers: Json = {}
  for (const [status, description] of Object.entries({ ...contract.also, [contract.status]: 'Done' }))
    answers[status] = {
      description,
      ...(described.length > 0 ? { headers: Object.fromEntries(described) } : {}),
      content: content(components, reply, exampleOf(reply)),
    }
  for (const [name, description] of Object.entries(refusalsOf(contract)))
    if (isProblem(name)) answers[problems[name].status] = refusal(contract, name, description, components)
  return answers
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A repeated request with the same key and body within 24 hours has no second effect and gets the same response',
  schema: { type: 'string', maxLength: 255 },
}

const accountHeader = {
  name: 'X-Account',
  in: 'header',
  required: false,
  description:
    'The account that a session acts for, as ACC…. Needed if the session has several; an operator may name any. Keys ignore it.',
  schema: { type: 'string' },
}

/** Returns the description of an operation: that of the contract, its CSV and its scope. */
const descriptionOf = ({ description, url, csv, csvOf, needs, orNeeds }: Contract): string =>
  [
    description,
    ...(csv === undefined || csvOf
      ? []
      : [`\`GET ${pathOf(url)}.csv\` has all rows of the filters as CSV. So has this operation with \`format=csv\`.`]),
    ...(needs ? [`Needs an API key with the scope \`${needs}\`${orNeeds ? ` or \`${orNeeds}\`` : ''}.`] : []),
  ].join('\n\n')

const operation = (contract: Contract, components: Components): Json => {
  const { id, tag, summary, body, media, form, scheme } = contract
  const key = securityOf(contract)
  const inputs = [
    ...parameters(contract.params, 'path'),
    // Without `format`: a generated client reads one type of answer from each operation.
    ...parameters(contract.query, 'query'),
    ...(contract.auth === 'account' && scheme !== 'basic' ? [{ $ref: '#/components/parameters/Account' }] : []),
    ...(key !== null && isRepeatable(contract) ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
  ]
  return {
    operationId: contract.csvOf ? `${id}Csv` : id,
    tags: [tag],
    summary,
    description: descriptionOf(contract),
    ...(contract.needs ? { 'x-needs': contract.needs } : {}),
    ...(contract.orNeeds ? { 'x-or-needs': contract.orNeeds } : {}),
    security: [...(key ? [{ [key]: [] }] : []), ...(takesSession(contract) ? [{ session: [] }] : [])],
    ...(contract.auth === 'operator' ? { 'x-role': needsOperator(contract) ? 'operator' : 'observer' } : {}),
    ...(inputs.length > 0 ? { parameters: inputs } : {}),
    ...(body
      ? {
          requestBody: {
            required: !isBodyOptional(contract),
            content: content(components, body, requestExample(body), form ? [formType, multipartType] : media),
          },
        }
      : {}),
    responses: responses(contract, components),
  }
}

const describedTag = (name: string, descriptions: ReadonlyMap<string, string>): Json => {
  const description = descriptions.get(name)
  if (description === undefined) throw new Error(`The tag ${name} has no description`)
  return { name, description }
}

/** Returns the OpenAPI 3.1 document of the compatible interface. */
export const compatOpenapi = (
  contracts: readonly Contract[],
  version: string,
  tags: ReadonlyMap<string, string>,
): Json => {
  const paths: Record<string, Json> = {}
  const components = makeComponents({ CompatError: compatErrorSchema })
  for (const contract of contracts) {
    const path = pathOf(contract.url)
    paths[path] = { ...paths[path], [contract.method.toLowerCase()]: operation(contract, components) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Trunkline: interface in the shape of Twilio',
      version,
      description:
        'The parts of the interface of Twilio that Trunkline offers, for programs that use its libraries. Paths of ' +
        '`/2010-04-01` may end in `.json`. Not affiliated with Twilio.',
      contact: { name: 'The operator of this installation' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The installation that serves this document' }],
    tags: [...new Set(contracts.map(({ tag }) => tag))].map((name) => describedTag(name, tags)),
    paths,
    components: {
      securitySchemes: {
        basic: {
          ...{ type: 'http', scheme: 'basic' },
          description: 'The account SID and a token of `POST /open/compat/credentials`, or an API key as the password.',
        },
      },
      parameters: { IdempotencyKey: idempotencyKey },
      responses: components.responses,
      schemas: components.schemas,
    },
  }
}

/**
 * Returns the OpenAPI 3.1 document of the contracts.
 * @param tags descriptions of the tags, by name
 */
export const openapi = (
  contracts: readonly Contract[],
  version: string,
  events: readonly EventDocument[],
  tags: ReadonlyMap<string, string>,
): Json => {
  const paths: Record<string, Json> = {}
  const components = makeComponents({ Error: errorSchema('full'), BriefError: errorSchema('brief') })
  for (const contract of contracts.flatMap((one) => (one.csv === undefined ? [one] : [one, csvContractOf(one)]))) {
    const path = pathOf(contract.url)
    paths[path] = { ...paths[path], [contract.method.toLowerCase()]: operation(contract, components) }
  }
  const webhooks = webhookSection(events, components, exampleOf)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Trunkline',
      version,
      description:
        'Phone numbers, SMS, voice, contacts, a messaging app and webhooks behind one interface, on a server of your own. ' +
        'A blank or null optional value counts as absent; in an update a blank leaves the field unchanged, and null clears it where its schema allows null. ' +
        'Decimal strings are accepted for numbers, and the strings true and false for booleans.',
      contact: { name: 'The operator of this installation' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The installation that serves this document' }],
    tags: [...new Set([...contracts.map(({ tag }) => tag), 'Events'])].map((name) => describedTag(name, tags)),
    paths,
    webhooks,
    components: {
      securitySchemes: {
        accountKey: {
          ...{ type: 'apiKey', in: 'header', name: 'X-User-API-Key' },
          description:
            'A key of an account, `UAK…`. The first start prints one; the console and `POST /open/keys` make others.',
        },
        operatorKey: {
          ...{ type: 'apiKey', in: 'header', name: 'X-Operator-Key' },
          description: 'A key of the installation, `OPK…`, for everything below `/operator`.',
        },
        session: {
          ...{ type: 'apiKey', in: 'cookie', name: '__Host-trunkline' },
          description: 'The cookie of a person who signed in to the console.',
        },
        voiceToken: {
          ...{ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
          description: 'A token of one user for calls, which `POST /open/sdk/access-token` makes.',
        },
      },
      parameters: { IdempotencyKey: idempotencyKey, Account: accountHeader, ...webhookHeaders },
      responses: components.responses,
      schemas: components.schemas,
    },
  }
}
