import type { Contract } from '../../src/platform/http/endpoint.ts'
import type { Request } from './recipe.ts'
import { fields, nodeOf } from './schema.ts'
import type { SecretInputs } from './secrets.ts'
import type { RawAnswer } from './send.ts'

// Requests that name secret things, for walks over the contracts that look for them in the answers.

/** A request of the walk. `isOne`: its path names one secret thing. */
export type WalkedRequest = { readonly request: Request; readonly isOne: boolean }

/** The request without filters. */
export const needed = (contract: Contract, request: Request): Request => {
  const required = nodeOf(contract.query).required ?? []
  return {
    ...request,
    query: Object.fromEntries(Object.entries(request.query ?? {}).filter(([name]) => required.includes(name))),
  }
}

/** The request of a recipe, with the inputs that name secret things; nothing if it names none of them. */
export const naming = (contract: Contract, request: Request, secret: SecretInputs): WalkedRequest[] => {
  const chosen = <V extends string | string[]>(
    schema: Contract['query'],
    values: Readonly<Record<string, V>>,
  ): Record<string, V> =>
    Object.fromEntries(
      fields(schema).flatMap(([name, { pattern = '' }]) => {
        const value = values[name]
        const fits = value !== undefined && (typeof value !== 'string' || new RegExp(pattern).test(value))
        return fits ? [[name, value]] : []
      }),
    )
  const parts = { params: chosen(contract.params, secret.params), query: chosen(contract.query, secret.query) }
  const body = chosen(contract.body, secret.body)
  if (Object.keys({ ...parts.params, ...parts.query, ...body }).length === 0) return []
  const named = {
    ...request,
    params: { ...request.params, ...parts.params },
    query: { ...request.query, ...parts.query },
    ...(typeof request.body === 'object' ? { body: { ...request.body, ...body } } : {}),
  }
  return [{ request: named, isOne: ofOneThing.some((name) => parts.params[name] !== undefined) }]
}

/** Path parameters that name one thing of a conversation. */
export const ofOneThing = ['conversation_uuid', 'message_uuid', 'call_uuid', 'group_uuid', 'note_uuid', 'session_key']

/** An answer without the inputs that it repeats, and without its id. */
export const withoutInputs = ({ status, text }: RawAnswer, { params = {}, query = {}, body }: Request): string => {
  const given: unknown[] = [...Object.values(params), ...Object.values(query), ...Object.values(Object(body)).flat()]
  const inputs = given
    .flatMap((one) => (typeof one === 'string' && one.length > 5 ? [one] : []))
    .sort((a, b) => b.length - a.length)
  const rest = inputs.reduce((left, one) => left.replaceAll(one, '‹input›'), text)
  return `${status} ${rest.replace(/"request_id":"[^"]*"/, '')}`
}
