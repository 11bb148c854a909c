import type { FastifyRequest } from 'fastify'
import type { FastifySchemaValidationError } from 'fastify/types/schema.js'
import type { TSchema } from 'typebox'
import { e164 } from '../lib/phone.ts'
import { Problem, unprocessable } from './problem.ts'
import { webAddress } from './schema.ts'

// The years that PostgreSQL and ISO 8601 write alike.
const earliest = Date.parse('0001-01-01T00:00:00Z')
const latest = Date.parse('9999-12-31T23:59:59Z')

const isTime = (text: string): boolean => {
  const time = /^\d{4}-\d\d-\d\d(?:T|$)/.test(text) ? Date.parse(text) : Number.NaN
  return time >= earliest && time <= latest
}

/** Formats that contracts use beside their patterns. */
export const formats = {
  phone: (text: string) => e164(text) !== null,
  email: (text: string) => /^[^\s@<>"]{1,64}@[^\s@<>"]{1,190}\.[^\s@<>"]{2,63}$/.test(text),
  'date-time': isTime,
}

type Check = { (value: unknown): unknown; errors?: unknown }

/**
 * Lets Ajv compile each schema when the first value comes that is to be checked by it. Measured: those of all
 * endpoints, and what writes their answers, cost each start 0.3 s of processor time.
 */
export const compileLate = (ajv: { compile(schema: object): Check }): void => {
  const compile = ajv.compile.bind(ajv)
  const late = (schema: object): Check => {
    let check: Check | undefined
    const first: Check = (value) => {
      check ??= compile(schema)
      const isValid = check(value)
      first.errors = check.errors
      return isValid
    }
    return first
  }
  ajv.compile = late
}

/** The E.164 form of a number that the format has already let through. */
export const phoneNumber = (given: string): string =>
  e164(given) ?? unprocessable(`${given} is no phone number`, 'invalid_phone_number')

const named = (error: FastifySchemaValidationError, key: string): string => String(error.params[key] ?? '')

const wants = (error: FastifySchemaValidationError): string => {
  switch (error.keyword) {
    case 'required':
      return 'is required'
    case 'type':
      return `must be ${/^[aeiou]/.test(named(error, 'type')) ? 'an' : 'a'} ${named(error, 'type')}`
    case 'enum': {
      const values = error.params.allowedValues
      return `must be one of ${Array.isArray(values) ? values.join(', ') : ''}`
    }
    case 'pattern': {
      const pattern = named(error, 'pattern')
      if (pattern === '\\S') return 'must not be empty'
      if (pattern === webAddress) return 'must be a web address, such as https://example.com/ada.jpg'
      const prefix = /^\^([A-Z-]+)$/.exec(pattern)?.[1]
      const several = /^\^\(\?:([A-Z]{3}(?:\|[A-Z]{3})+)\)$/.exec(pattern)?.[1]?.split('|').join(' or ')
      return prefix || several ? `must start with ${prefix ?? several}` : `must match ${pattern}`
    }
    case 'format':
      if (named(error, 'format') === 'phone') return 'must be a phone number in E.164 format, such as +447700900123'
      return named(error, 'format') === 'email' ? 'must be an e-mail address' : 'must be a time in ISO 8601'
    case 'minLength':
      return named(error, 'limit') === '1'
        ? 'must not be empty'
        : `must have at least ${named(error, 'limit')} characters`
    case 'maxLength':
      return `must have at most ${named(error, 'limit')} characters`
    case 'minItems':
      return named(error, 'limit') === '1' ? 'must not be empty' : `must hold at least ${named(error, 'limit')}`
    case 'maxItems':
      return `must hold at most ${named(error, 'limit')}`
    case 'minimum':
      return `must be at least ${named(error, 'limit')}`
    case 'maximum':
      return `must be at most ${named(error, 'limit')}`
    default:
      return error.message ?? 'is not valid'
  }
}

/** The refusal of a request that its schema does not allow: 422 for a phone number that is none, 400 for all else. */
export const validationProblem = (errors: FastifySchemaValidationError[], where: string | undefined): Problem => {
  const [error] = errors
  if (!error) return new Problem('invalid', 'The request is not valid')
  const path = error.instancePath.split('/').slice(1)
  if (error.keyword === 'required') path.push(named(error, 'missingProperty'))
  const isPhone = error.keyword === 'format' && named(error, 'format') === 'phone'
  const field = path.length > 0 ? path.join('.') : 'The body'
  if (path.length === 0 && where === 'body') return new Problem('invalid', 'The body must be a JSON object')
  return new Problem(
    isPhone ? 'unprocessable' : 'invalid',
    `${field} ${wants(error)}`,
    isPhone ? 'invalid_phone_number' : undefined,
  )
}

/** Checks a part of a body whose schema is known only to the handler. @throws the 400 Problem that names the field */
export const checkPart = (request: FastifyRequest, schema: TSchema, value: unknown, name: string): void => {
  const validate = request.getValidationFunction(schema) ?? request.compileValidationSchema(schema)
  if (validate(value)) return
  const errors = (validate.errors ?? []).map((error) => ({ ...error, instancePath: `/${name}${error.instancePath}` }))
  throw validationProblem(errors, 'body')
}

/** True when the escapes of a query are text in UTF-8; the parser leaves others as they stand. A lone % is a per cent. */
const isDecodable = (url: string): boolean => {
  try {
    decodeURIComponent(url.slice(url.indexOf('?') + 1).replace(/%(?![\da-f]{2})/gi, ''))
    return true
  } catch {
    return false
  }
}

/**
 * Makes of a query's texts what its schema calls for; a parameter without a value counts as absent.
 * @returns takes the parsed query, which it changes, and the address that it stood in
 */
export const queryReader = (schema: TSchema | undefined): ((query: unknown, url: string) => void) => {
  const properties: unknown = schema && 'properties' in schema ? schema.properties : {}
  const kinds = new Map(Object.entries(properties ?? {}).map(([name, property]) => [name, String(property?.type)]))
  const read = (kind: string | undefined, value: string): unknown => {
    if (kind === 'integer' && /^-?\d{1,16}$/.test(value)) return Number(value)
    if (kind === 'boolean' && (value === 'true' || value === '1')) return true
    if (kind === 'boolean' && (value === 'false' || value === '0')) return false
    return value
  }
  return (query, url) => {
    if (query === null || typeof query !== 'object') return
    if (!isDecodable(url)) throw new Problem('invalid', 'Escapes in the query must be of text in UTF-8')
    for (const [name, value] of Object.entries(query)) {
      if (value === '') Reflect.deleteProperty(query, name)
      else if (typeof value === 'string') Reflect.set(query, name, read(kinds.get(name), value))
    }
    if (holdsBadText(query)) throw badTextProblem()
  }
}

const suspicious = /\\u(?:0000|d[89a-f])/i

/** True when some text within holds U+0000, which PostgreSQL refuses, or half of a surrogate pair, which is no character. */
const holdsBadText = (root: unknown): boolean => {
  const open = [root]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value === 'string') {
      if (value.includes('\0') || !value.isWellFormed()) return true
    } else if (value !== null && typeof value === 'object') {
      for (const [key, inner] of Object.entries(value)) {
        open.push(key)
        if (inner !== undefined) open.push(inner)
      }
    }
  }
  return false
}

const deepest = 200

/** True when values lie within values more than 200 deep: the recursive readers further in would run out of stack. */
const isTooDeep = (root: unknown): boolean => {
  let level = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) return true
    level = level.flatMap((value) => (value !== null && typeof value === 'object' ? Object.values(value) : []))
  }
  return false
}

const badTextProblem = () => new Problem('invalid', 'Text must not contain U+0000 or half of a surrogate pair')

/** The refusal of a body that cannot be kept as it was sent, or null. */
export const badBody = (raw: string, value: unknown): Problem | null => {
  // What is so short is not deep enough to harm, and hardly any body is longer.
  if (raw.length > 2000 && isTooDeep(value))
    return new Problem('invalid', `The body must not be nested more than ${deepest} deep`)
  return suspicious.test(raw) && holdsBadText(value) ? badTextProblem() : null
}
