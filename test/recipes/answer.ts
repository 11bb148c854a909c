import Format from 'typebox/format'
import { Compile } from 'typebox/schema'
import { type Contract, faultsStatus, refusalsOf } from '../../src/platform/http/endpoint.ts'
import { type ProblemName, problems } from '../../src/platform/http/problem.ts'
import { formats } from '../../src/platform/http/validation.ts'
import { nodeOf } from './schema.ts'
import type { RawAnswer } from './send.ts'

// TypeBox checks here what Ajv checks in the server: two readers of the same schema.
for (const [name, check] of Object.entries(formats)) Format.Set(name, check)

type Check = { Check(value: unknown): boolean; Errors(value: unknown): unknown }
const checks = new Map<object, Check>()

const checkOf = (schema: object): Check => {
  const known = checks.get(schema)
  if (known) return known
  const made = Compile(schema)
  checks.set(schema, made)
  return made
}

/** Whether a schema allows a value. */
export const allows = (schema: object | undefined, value: unknown): boolean =>
  schema === undefined || checkOf(schema).Check(value)

/** Compares a value with an object schema; fields that the schema does not name are faults. */
export const exactFault = (schema: object, value: unknown): string | null => {
  if (!allows(schema, value)) return JSON.stringify(checkOf(schema).Errors(value)).slice(0, 500)
  const known = Object.keys(Object(schema).properties ?? {})
  const odd = Object.keys(Object(value)).filter((name) => !known.includes(name))
  return odd.length > 0 ? `unknown fields ${odd.join(', ')}` : null
}

const errorKeys = ['detail', 'error', 'error_code', 'error_message', 'field', 'request_id', 'success']

/** Returns the fault in the body of a refusal, or null. */
export const refusalFault = (
  contract: (Pick<Contract, 'shape' | 'faults'> & Partial<Pick<Contract, 'errors'>>) | null,
  { status, body, headers }: RawAnswer,
): string | null => {
  if (!/^application\/json/.test(String(headers['content-type']))) return `content-type ${headers['content-type']}`
  if (body === null || typeof body !== 'object') return 'no JSON object'
  const fields = new Map<string, unknown>(Object.entries(body))
  const isFault = contract !== null && status === faultsStatus({ errors: contract.errors ?? {} })
  const told = isFault ? Object.keys(nodeOf(contract.faults).properties ?? {}) : []
  const odd = [...fields.keys()].filter((name) => !errorKeys.includes(name) && !told.includes(name))
  if (odd.length > 0) return `unknown fields ${odd.join(', ')}`
  if (fields.get('error') !== true) return 'error is not true'
  for (const name of ['error_message', 'error_code', 'request_id'])
    if (typeof fields.get(name) !== 'string' || fields.get(name) === '') return `${name} is not a string`
  if (!/^[a-z0-9_]+$/.test(String(fields.get('error_code')))) return 'error_code is not in snake case'
  const field = fields.get('field')
  if (field !== undefined && !/^\/[^/]+(?:\/[^/]*)*$/.test(String(field))) return `field is ${field}, no JSON pointer`
  const isFull = contract?.shape !== 'brief' || status === 401
  if (fields.get('success') !== (isFull ? false : undefined)) return `success is ${fields.get('success')}`
  const detail = status === 401 ? fields.get('error_message') : undefined
  return fields.get('detail') === detail ? null : 'detail is not the message of a 401, or occurs in another refusal'
}

/** Returns the fault in the body of a refusal in the shape of Twilio, or null. */
export const compatFault = ({ status, body, headers }: RawAnswer): string | null => {
  if (!/^application\/json/.test(String(headers['content-type']))) return `content-type ${headers['content-type']}`
  const fields: { [name: string]: unknown } = { ...Object(body) }
  const names = Object.keys(fields).sort().join()
  if (names !== 'code,message,more_info,status') return `the fields are ${names}`
  if (fields.status !== status) return `status is ${fields.status}`
  return Number.isInteger(fields.code) && typeof fields.message === 'string'
    ? null
    : 'code or message is of another type'
}

/** Twilio has these statuses where the domains have others. */
const compatStatuses = [400, 401, 402]

/** Statuses that an endpoint may answer with. */
export const statusesOf = (contract: Contract): Set<number> =>
  new Set([
    contract.status,
    ...Object.keys(contract.also ?? {}).map(Number),
    ...(contract.shape === 'compat' ? compatStatuses : []),
    ...Object.keys(refusalsOf(contract)).map((name) => problems[name as ProblemName].status), // keys of problems
  ])

/** Returns how an answer breaks its contract, or null. */
export const answerFault = (contract: Contract, answer: RawAnswer): string | null => {
  const { status, body, text } = answer
  if (!statusesOf(contract).has(status)) return `status ${status} is not in the contract: ${text.slice(0, 300)}`
  if (status >= 400) return contract.shape === 'compat' ? compatFault(answer) : refusalFault(contract, answer)
  if (status === 204) return text === '' ? null : 'a 204 with a body'
  if (allows(nodeOf(contract.reply), body)) return null
  return `the body breaks the schema: ${JSON.stringify(checkOf(nodeOf(contract.reply)).Errors(body)).slice(0, 500)}`
}
