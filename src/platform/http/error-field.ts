import type { FastifyRequest } from 'fastify'
import type { Contract } from './endpoint.ts'
import type { Problem } from './problem.ts'

// The field `field` of refusals: a JSON pointer (RFC 6901) that says where a form shows the message. `/to_number` is in
// the body, `/query/since` in the query, `/path/message_uuid` in the path.

/** Escapes a name for a JSON pointer (RFC 6901, 3). */
export const pointerStep = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

/** Parts of a request, with the pointers that lead to them. */
type Part = { readonly start: string; readonly value: unknown; readonly schema: unknown }

const has = (value: unknown, name: string): boolean =>
  value !== null && typeof value === 'object' && Object.hasOwn(value, name)

const partsOf = (request: FastifyRequest, contract: Contract | undefined): readonly Part[] => [
  { start: '', value: request.body, schema: contract?.body },
  { start: '/query', value: request.query, schema: contract?.query },
  { start: '/path', value: request.params, schema: contract?.params },
]

/** Returns the JSON pointer of the field at fault: one that the request has, else one that it may have. */
export const fieldOf = (
  { fields }: Problem,
  request: FastifyRequest,
  contract: Contract | undefined,
): string | undefined => {
  const [first] = fields
  if (first === undefined || first.startsWith('/')) return first
  const parts = partsOf(request, contract)
  const tests = [
    ({ value }: Part, name: string) => has(value, name),
    ({ schema }: Part, name: string) => has(Object(schema).properties, name),
  ]
  for (const test of tests)
    for (const field of fields) {
      const steps = field.split('.')
      const part = parts.find((one) => test(one, steps[0] ?? ''))
      if (part) return [part.start, ...steps.map(pointerStep)].join('/')
    }
  return undefined
}
