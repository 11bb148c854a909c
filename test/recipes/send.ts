import type { Readable } from 'node:stream'
import type { InjectOptions } from 'fastify'
import type { Contract } from '../../src/platform/http/endpoint.ts'
import type { Tenant, World } from '../world.ts'
import type { Request } from './recipe.ts'
import { nodeOf } from './schema.ts'

/** An unparsed answer: its text, and the parsed body. */
export type RawAnswer = { status: number; text: string; body: unknown; headers: Record<string, unknown> }

/** Deviations from the plain call. `key`: instead of the one that the contract requires; null for none. */
export type RequestOverrides = {
  headers?: Record<string, string>
  payload?: string | Buffer | Readable
  key?: string | null
}

/** The address of a call: escaped parameters, and the query in its order. */
export const addressOf = (contract: Contract, { params = {}, query = {} }: Request): string => {
  const path = contract.url.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? path : `${path}?${text}`
}

/** Calls an endpoint. */
export const send = (
  world: Pick<World, 'app' | 'operatorKey'>,
  contract: Contract,
  who: Tenant,
  request: Request,
  change: RequestOverrides = {},
): Promise<RawAnswer> => {
  const wanted = nodeOf(contract.body).contentMediaType
  const isText = wanted !== undefined && typeof request.body === 'string'
  const headers = { 'content-type': isText ? wanted : 'application/json', ...change.headers }
  const payload = change.payload ?? (isText ? String(request.body) : JSON.stringify(request.body))
  const url = addressOf(contract, request)
  const whole = payload === undefined ? change : { ...change, payload, headers }
  return sendTo(world, contract, who, url, request.bearer === undefined ? whole : { key: request.bearer, ...whole })
}

/** Calls an endpoint at a complete address, with the payload unchanged. */
export const sendTo = async (
  { app, operatorKey }: Pick<World, 'app' | 'operatorKey'>,
  contract: Contract,
  who: Tenant,
  url: string,
  { headers = {}, payload, key }: RequestOverrides,
): Promise<RawAnswer> => {
  const header = {
    operator: 'x-operator-key',
    voice: 'authorization',
    account: 'x-user-api-key',
    session: 'cookie',
    none: 'x-user-api-key',
  }[contract.auth]
  const own = contract.auth === 'operator' ? operatorKey : contract.auth === 'account' ? who.key : null
  const used = key === undefined ? own : key
  const options: InjectOptions = {
    method: contract.method,
    url,
    headers: {
      ...(used === null ? {} : { [header]: contract.auth === 'voice' ? `Bearer ${used}` : used }),
      ...headers,
    },
    ...(payload === undefined ? {} : { payload }),
  }
  const answer = await app.inject(options)
  return { status: answer.statusCode, text: answer.body, body: read(answer.body), headers: answer.headers }
}

const read = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
