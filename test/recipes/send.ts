import type { Readable } from 'node:stream'
import type { InjectOptions } from 'fastify'
import type { Contract } from '../../src/platform/http/endpoint.ts'
import { formType } from '../../src/platform/http/form-body.ts'
import { printSid } from '../../src/platform/lib/sid.ts'
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
  const type = contract.form ? formType : isText ? wanted : 'application/json'
  const headers = { 'content-type': type, ...change.headers }
  const encoded = contract.form ? formOf(request.body) : JSON.stringify(request.body)
  const payload = change.payload ?? (isText ? String(request.body) : encoded)
  const url = addressOf(contract, request)
  const whole = payload === undefined ? change : { ...change, payload, headers }
  const { bearer, cookie } = request
  if (cookie !== undefined && change.key === undefined) {
    const bySession = { cookie, 'x-trunkline-console': '1', ...whole.headers }
    return sendTo(world, contract, who, url, { ...whole, key: null, headers: bySession })
  }
  return sendTo(world, contract, who, url, bearer === undefined ? whole : { key: bearer, ...whole })
}

/** Encodes the fields of an object as a form; other values are no fields. */
export const formOf = (body: unknown): string | undefined => {
  if (body === undefined) return undefined
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(Object(body)))
    for (const one of [value].flat()) form.append(name, typeof one === 'string' ? one : (JSON.stringify(one) ?? ''))
  return form.toString()
}

/** Turns the interface in the shape of Twilio on for a tenant, unless it is. A blocked tenant cannot. */
const turnOn = async (app: World['app'], who: Tenant): Promise<void> => {
  const headers = { 'x-user-api-key': who.key }
  const url = '/open/compat/credentials'
  const listed = await app.inject({ url, headers })
  if (listed.statusCode === 200 && listed.json().credentials.length === 0)
    await app.inject({ method: 'POST', url, headers, payload: {} })
}

const basicOf = ({ id }: Tenant, key: string): string =>
  `Basic ${Buffer.from(`${printSid('AC', id)}:${key}`).toString('base64')}`

const credentialOf = ({ auth }: Contract, key: string): string => {
  if (auth === 'voice') return `Bearer ${key}`
  return auth === 'session' ? `trunkline=${key}` : key
}

const tokens = new WeakMap<Tenant, string>()

/** Returns the token of a tenant's session, which is opened with its key. A session that ended is replaced. */
const sessionOf = async (app: World['app'], who: Tenant): Promise<string> => {
  const ask = async (token: string) => {
    const headers = { cookie: `trunkline=${token}` }
    return (await app.inject({ method: 'GET', url: '/console/session', headers })).statusCode
  }
  const known = tokens.get(who)
  if (known !== undefined && (await ask(known)) !== 401) return known
  const opened = await app.inject({ method: 'POST', url: '/console/session', payload: { key: who.key } })
  const token = /trunkline=([^;]+)/.exec(String(opened.headers['set-cookie']))?.[1]
  if (token === undefined) return 'no-session-could-be-opened-here'
  tokens.set(who, token)
  return token
}

/** Calls an endpoint at a complete address, with the payload unchanged. */
export const sendTo = async (
  { app, operatorKey }: Pick<World, 'app' | 'operatorKey'>,
  contract: Contract,
  who: Tenant,
  url: string,
  { headers = {}, payload, key }: RequestOverrides,
): Promise<RawAnswer> => {
  const isBasic = contract.scheme === 'basic'
  if (isBasic) await turnOn(app, who)
  const header = {
    operator: 'x-operator-key',
    voice: 'authorization',
    account: 'x-user-api-key',
    session: 'cookie',
    none: 'x-user-api-key',
  }[contract.auth]
  const ownCredential = async () => {
    if (contract.auth === 'session') return sessionOf(app, who)
    return contract.auth === 'operator' ? operatorKey : contract.auth === 'account' ? who.key : null
  }
  const used = key === undefined ? await ownCredential() : key
  const options: InjectOptions = {
    method: contract.method,
    url,
    headers: {
      ...(contract.auth === 'session' ? { 'x-trunkline-console': '1' } : {}),
      ...(used === null
        ? {}
        : isBasic
          ? { authorization: basicOf(who, used) }
          : { [header]: credentialOf(contract, used) }),
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
