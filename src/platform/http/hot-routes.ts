import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, preParsingHookHandler } from 'fastify'
import { type AccountKey, keyRefusal, scopeRefusal } from './auth.ts'
import type { AuthDeps, AuthHook } from './authenticate.ts'
import { bodyReader } from './body-reader.ts'
import { type Endpoint, isAudited, isMetered } from './endpoint.ts'
import { uncountedUploadBytes } from './limits.ts'
import { protocolViolation } from './protocol-violation.ts'
import { isForwarded } from './proxy-trust.ts'
import type { RequestLimiters } from './request-limiters.ts'
import { jsonType, noStoreHeaders } from './socket.ts'
import { bodyProblem } from './validation.ts'

// Hot routes are answered on Node's `request` event, before Fastify: docs/decisions/0035 gives the reason. Fastify
// serves every other request of these endpoints, and every answer that is not a success.

type HotRouteDeps = Pick<AuthDeps, 'auth' | 'rateLimiter' | 'config' | 'sandboxAccounts'> & {
  readonly limiters: RequestLimiters
  readonly version: string
  readonly lifecycle: { readonly stopping: boolean }
}

/** A request that a hot route admitted and Fastify answers. Fastify neither admits it again nor repeats its work. */
type Handover = {
  readonly key: AccountKey
  /** The `ratelimit` header. */
  readonly rate: string
  readonly isSandbox: boolean
  readonly began: number
  readonly chunks: readonly Buffer[]
  /** Error of a body that ended early. */
  readonly bodyError: Error | null
  /** Error of the handler. */
  readonly failure: { readonly error: unknown } | null
}

type Payload = { [key: string]: unknown }

type HotCall = {
  readonly account: AccountKey['account']
  readonly key: AccountKey
  readonly isSandbox: boolean
  readonly body: unknown
  readonly tx: null
}

/** Functions that Fastify compiles for its first request of the endpoint. */
type CompiledSchemas = {
  readonly validate: (body: unknown) => unknown
  readonly serialize: (payload: Payload) => string
}

type ParseJson = (raw: string) => { readonly value: unknown } | null

/** How Fastify serves a hot endpoint. */
export type HotRoute = {
  admit(hooks: readonly AuthHook[]): AuthHook[]
  parse(hook: preParsingHookHandler): preParsingHookHandler
  handle(
    usual: (request: FastifyRequest, reply: FastifyReply) => unknown,
  ): (request: FastifyRequest, reply: FastifyReply) => unknown
}

export type HotRoutes = {
  /** Adds an endpoint. @param succeeded counts and records a success; `elapsed` in milliseconds */
  add(endpoint: Endpoint, succeeded: (key: AccountKey, requestId: string, elapsed: number) => void): HotRoute
  /** Puts the hot routes before Fastify. Must be called after the last `add`. */
  install(app: FastifyInstance): void
}

/** Headers of requests that only Fastify serves. */
const fastifyHeaders = ['transfer-encoding', 'expect', 'upgrade', 'content-encoding', 'idempotency-key', 'cookie']

const jsonTypes = new Set(['application/json', 'application/json; charset=utf-8'])

/** Replays the bytes of a body, and its error. */
const bodyOf = ({ chunks, bodyError }: Handover): Readable => {
  const body = new Readable({ read: () => {} })
  for (const chunk of chunks) body.push(chunk)
  if (bodyError) body.destroy(bodyError)
  else body.push(null)
  return body
}

/** True if the body has a length that needs no share of memory. */
const hasSmallJson = ({ headers }: IncomingMessage): boolean => {
  const length = Number(headers['content-length'])
  return length > 0 && length <= uncountedUploadBytes && jsonTypes.has(headers['content-type'] ?? '')
}

/** Returns Fastify's JSON parser without its callback; null for a body that Fastify refuses. */
const jsonParser = (app: FastifyInstance): ParseJson => {
  const parse = app.getDefaultJsonParser('error', 'error')
  const values: { readonly value: unknown }[] = []
  const done = (error: Error | null, value?: unknown) => {
    if (!error) values.push({ value })
  }
  return (raw) => {
    // The parser calls back at once, and reads nothing of the request.
    void parse(null as never, raw, done)
    const parsed = values.pop()
    return parsed && bodyProblem(raw, parsed.value) === null ? parsed : null
  }
}

const checkEndpoint = (endpoint: Endpoint): void => {
  const { contract, transaction } = endpoint
  const { method, auth, params, query, stream, media, waits, secure, browser, bodyLimit } = contract
  const isPlain = ![
    params,
    query,
    stream,
    media,
    waits,
    secure,
    browser,
    bodyLimit,
    contract.proof,
    contract.makes,
  ].some(Boolean)
  const isCommon = method === 'POST' && auth === 'account' && isMetered(contract) && !isAudited(contract)
  if (!isPlain || !isCommon || transaction !== 'keyed') throw new Error(`${contract.id} cannot be a hot route`)
}

/** @param nextId returns the next request id */
export const makeHotRoutes = (parts: HotRouteDeps, nextId: () => string): HotRoutes => {
  const { auth, rateLimiter, config, sandboxAccounts, version, lifecycle } = parts
  const { external } = parts.limiters
  const handovers = new WeakMap<IncomingMessage, Handover>()
  const routes = new Map<string, (request: IncomingMessage, response: ServerResponse) => boolean>()
  let parseJson: ParseJson = () => null
  let toFastify: (request: IncomingMessage, response: ServerResponse) => void = () => {}
  let isClosing = false

  /** Returns the key of a request that the hot route may admit; null for every other request. */
  const keyOf = (request: IncomingMessage, needs: Parameters<typeof scopeRefusal>[1]): AccountKey | null => {
    const { headers } = request
    const text = headers['x-user-api-key']
    if (typeof text !== 'string' || text === '' || !hasSmallJson(request)) return null
    if (request.httpVersion !== '1.1' || fastifyHeaders.some((name) => headers[name] !== undefined)) return null
    if (protocolViolation(request)) return null
    const key = auth.accounts.cached(text)
    // Fastify finds the address of the client.
    if (!key || key.addresses !== null || keyRefusal(key, { ip: '' }) || key.account.blocked) return null
    return scopeRefusal(key, needs) ? null : key
  }

  const add: HotRoutes['add'] = (endpoint, succeeded) => {
    checkEndpoint(endpoint)
    const { contract } = endpoint
    const needs = contract.auth === 'account' ? contract.needs : null
    // The types of a handler are checked where it is bound to its contract (endpoint.ts).
    const handle = endpoint.handle as (call: HotCall) => Promise<Payload>
    const prepare = endpoint.prepare as ((call: HotCall) => Promise<unknown>) | undefined
    const normalise = bodyReader(contract)
    const shape = { ...contract.reply }
    let compiled: CompiledSchemas | null = null

    const runPrepared = async (first: (call: HotCall) => Promise<unknown>, call: HotCall): Promise<Payload> => {
      try {
        await first(call)
      } finally {
        external.release(call.account.id)
      }
      return handle(call)
    }

    const serve = (request: IncomingMessage, response: ServerResponse): boolean => {
      if (compiled === null || needs === null || isClosing || lifecycle.stopping || request.method !== 'POST')
        return false
      const { validate, serialize } = compiled
      const key = keyOf(request, needs)
      if (key === null) return false
      const { account } = key
      const isSandbox = sandboxAccounts.has(account.id)
      if (isSandbox && !config.isSandboxExplicit && isForwarded(request)) return false
      const rate = rateLimiter.takeLeased(account)
      if (rate === null) return false

      const began = performance.now()
      const chunks: Buffer[] = []
      let isRead = false
      const handOver = (bodyError: Error | null, failure: Handover['failure'] = null) => {
        handovers.set(request, { key, rate, isSandbox, began, chunks, bodyError, failure })
        toFastify(request, response)
      }
      const fail = (error: unknown) => handOver(null, { error })
      const succeed = (payload: Payload) => {
        let text: string
        try {
          text = serialize(payload)
        } catch (error) {
          return fail(error)
        }
        const id = nextId()
        succeeded(key, id, performance.now() - began)
        // In the order of Fastify's hooks.
        response.writeHead(contract.status, [
          'x-request-id',
          id,
          'trunkline-version',
          version,
          'x-content-type-options',
          noStoreHeaders['x-content-type-options'],
          'cache-control',
          noStoreHeaders['cache-control'],
          'ratelimit',
          rate,
          'ratelimit-policy',
          rateLimiter.policy(account),
          'content-type',
          jsonType,
          'content-length',
          String(Buffer.byteLength(text)),
        ])
        response.end(text)
      }
      const act = () => {
        const [only] = chunks
        const bytes = only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks)
        const parsed = parseJson(bytes.toString('utf8'))
        if (parsed === null) return handOver(null)
        const body = parsed.value
        normalise?.(body)
        if (validate(body) !== true) return handOver(null)
        const call: HotCall = { account, key, isSandbox, body, tx: null }
        if (!prepare) handle(call).then(succeed, fail)
        else if (external.tryAcquire(account.id)) runPrepared(prepare, call).then(succeed, fail)
        // Fastify waits for the account's turn.
        else handOver(null)
      }
      request
        .on('data', (chunk: Buffer) => {
          chunks.push(chunk)
        })
        .on('end', () => {
          isRead = true
          try {
            act()
          } catch (error) {
            fail(error)
          }
        })
        .on('error', (error: Error) => {
          if (!isRead) handOver(error)
        })
      return true
    }
    routes.set(contract.url, serve)

    return {
      admit: (hooks) =>
        hooks.map(
          (hook): AuthHook =>
            (request, reply, done) => {
              const handover = handovers.get(request.raw)
              if (!handover) return hook(request, reply, done)
              const { account } = handover.key
              request.began = handover.began
              request.account = account
              request.accountKey = handover.key
              request.isSandbox = handover.isSandbox
              reply.header('ratelimit', handover.rate).header('ratelimit-policy', rateLimiter.policy(account))
              done()
            },
        ),
      parse: (hook) =>
        function parse(request, reply, payload, done) {
          const handover = handovers.get(request.raw)
          if (handover) done(null, bodyOf(handover))
          else hook.call(this, request, reply, payload, done)
        },
      handle: (usual) => (request, reply) => {
        const failure = handovers.get(request.raw)?.failure
        if (failure) throw failure.error
        const validate = request.getValidationFunction('body')
        if (validate) compiled ??= { validate, serialize: reply.compileSerializationSchema(shape) }
        return usual(request, reply)
      },
    }
  }

  return {
    add,
    install: (app) => {
      if (routes.size === 0) return
      parseJson = jsonParser(app)
      const { server } = app
      const listeners = server.listeners('request')
      toFastify = (request, response) => {
        for (const listener of listeners) listener.call(server, request, response)
      }
      app.addHook('preClose', (done) => {
        isClosing = true
        done()
      })
      server.removeAllListeners('request')
      server.on('request', (request: IncomingMessage, response: ServerResponse) => {
        const serve = routes.get(request.url ?? '')
        if (!serve?.(request, response)) toFastify(request, response)
      })
    },
  }
}
