import { randomBytes } from 'node:crypto'
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type preValidationHookHandler,
} from 'fastify'
import type { Logger } from 'pino'
import type { TSchema } from 'typebox'
import { type Db, isUnavailable } from '../db/sql.ts'
import type { Seal } from '../lib/secret.ts'
import { installAccessLog } from './access-log.ts'
import { type AdmitParts, admissions } from './admit.ts'
import type { Account, AccountKey, OperatorKey, Person } from './auth.ts'
import { readBodies, streamBodies } from './body.ts'
import { type Cors, makeCors } from './cors.ts'
import type { Contract, Endpoint } from './endpoint.ts'
import { bodyReader, isBodyOptional } from './form.ts'
import { handler } from './handler.ts'
import type { RequestLimiters } from './limiters.ts'
import type { Metrics } from './metrics.ts'
import type { Naming } from './naming.ts'
import { errorBody, Problem, type Shape } from './problem.ts'
import { json, refuseExpectation, refuseSocket, shareConnections, unstored } from './socket.ts'
import { requestFault } from './strict.ts'
import { refuseUnknownFields } from './unknown-fields.ts'
import { makeUpgrades, type Upgrade } from './upgrade.ts'
import { holdBody, holdStream, holdUpload, wrongType } from './upload.ts'
import { compileLate, formats, queryReader, validationProblem } from './validation.ts'

declare module 'fastify' {
  interface FastifyRequest {
    account: Account | null
    /** The operator key of a request of an operator. */
    operator: OperatorKey | null
    /** The API key that it came with. */
    accountKey: AccountKey | null
    /** The user behind a token. */
    person: Person | null
    /** The sandbox has effects for what this request asks. */
    isSandbox: boolean
    /** When it came, by the monotonic clock in milliseconds. */
    began: number
  }
  interface FastifyContextConfig {
    contract?: Contract
  }
}

export type ServerParts = AdmitParts & {
  db: Db
  metrics: Metrics
  seal: Seal
  limiters: RequestLimiters
  log: Logger
  version: string
  tls: { cert: Buffer; key: Buffer } | null
  trustProxy: boolean | string
  naming: Naming
  config: { readonly corsOrigins: readonly string[]; readonly sandbox: boolean; readonly isSandboxExplicit: boolean }
  life: { readonly stopping: boolean }
}

/** Sockets in all; one address may have half of them. */
const mostConnections = 10_000

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

const asProblem = (error: FastifyError, request: FastifyRequest): Problem | null => {
  if (error instanceof Problem) return error
  if (error.validation) return validationProblem(error.validation, error.validationContext)
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return wrongType(request)
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new Problem('tooLarge', error.message)
  if (error.statusCode && error.statusCode >= 400 && error.statusCode < 500)
    return new Problem('invalid', error.message, 'malformed_request')
  if (isUnavailable(error))
    return new Problem('unavailable', 'The database cannot be reached at the moment: try again', undefined, {
      'retry-after': '1',
    })
  return null
}

const refuse = (reply: FastifyReply, shape: Shape, problem: Problem) =>
  reply
    .code(problem.status)
    .headers({ ...unstored, ...problem.headers })
    .type(json)
    .serializer((body) => JSON.stringify(body))
    .send(errorBody(shape, problem, reply.request.id))

const readQueryOf = (query: TSchema): preValidationHookHandler => {
  const read = queryReader(query)
  return (request, _reply, done) => {
    read(request.query, request.url)
    done()
  }
}

const fillBody: preValidationHookHandler = (request, _reply, done) => {
  request.body ??= {}
  done()
}

const readBodyOf = (contract: Contract): preValidationHookHandler[] => {
  const read = bodyReader(contract)
  if (!read) return []
  return [
    (request, _reply, done) => {
      read(request.body)
      done()
    },
  ]
}

const register = (app: FastifyInstance, parts: ServerParts, cors: Cors, endpoint: Endpoint) => {
  const { contract } = endpoint
  const { params, query, body } = contract
  const holds = contract.stream ? holdStream : contract.media ? holdUpload : body ? holdBody : null
  const answered = parts.metrics.route(contract.method, contract.url)
  const ready = [
    ...(query ? [readQueryOf(query)] : []),
    ...(isBodyOptional(contract) ? [fillBody] : []),
    ...readBodyOf(contract),
    ...(body && contract.auth === 'operator' && !contract.stream ? [refuseUnknownFields(body)] : []),
  ]
  app.route({
    method: contract.method,
    url: contract.url,
    config: { contract },
    ...(contract.bodyLimit ? { bodyLimit: contract.bodyLimit } : {}),
    schema: {
      ...(params ? { params } : {}),
      ...(query ? { querystring: query } : {}),
      ...(body && !contract.stream ? { body } : {}),
    },
    onRequest: [...(contract.browser ? [cors.allow] : []), ...admissions(parts, contract)],
    ...(ready.length > 0 ? { preValidation: ready } : {}),
    ...(holds ? { preParsing: holds(parts.limiters) } : {}),
    // Not onResponse: its listener on every answer's stream costs 10 µs a request, a quarter of it all.
    onSend: (request, reply, payload, done) => {
      answered(reply.statusCode, performance.now() - request.began)
      done(null, payload)
    },
    handler: handler(parts, endpoint),
  })
}

/** A known path with another method: 405 that says which would do. */
const registerOthers = (app: FastifyInstance, cors: Cors, endpoints: readonly Endpoint[]) => {
  const known = Map.groupBy(endpoints, ({ contract }) => contract.url.replace(/:\w+/g, ':any'))
  for (const same of known.values()) {
    const allowed = new Set(
      same.flatMap(({ contract }) => (contract.method === 'GET' ? ['GET', 'HEAD'] : [contract.method])),
    )
    const first = same[0]?.contract
    if (!first) continue
    const asks = same.some(({ contract }) => contract.browser)
    if (asks) app.options(first.url, { config: { contract: first } }, cors.preflight([...allowed]))
    app.route({
      method: methods.filter((method) => !allowed.has(method) && !(asks && method === 'OPTIONS')),
      url: first.url,
      config: { contract: first },
      handler: (request) => {
        const allow = [...allowed].join(', ')
        throw new Problem('methodNotAllowed', `${request.method} is not possible here: use ${allow}`, undefined, {
          allow,
        })
      },
    })
  }
}

/** The HTTP server over the endpoints: hardened, and with every refusal in the shapes of the interface. */
export const makeServer = (
  parts: ServerParts,
  endpoints: readonly Endpoint[],
  upgrades: readonly Upgrade[] = [],
): FastifyInstance => {
  const { log, version, tls } = parts
  const cors = makeCors(parts.config.corsOrigins, parts.config.sandbox)
  const { wanted, open } = makeUpgrades(upgrades, cors, parts)
  const run = randomBytes(6).toString('base64url')
  let requests = 0

  const fail = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
    const shape = request.routeOptions.config.contract?.shape ?? 'full'
    const problem = asProblem(error, request)
    if (problem) return refuse(reply, shape, problem)
    log.error({ err: error, request_id: request.id, route: request.routeOptions.url }, 'request failed')
    const { id } = request
    return refuse(
      reply,
      shape,
      new Problem('internal', `Something went wrong on our side; report the request id ${id}`),
    )
  }

  const app: FastifyInstance = Fastify({
    ...(tls ? { https: tls } : {}),
    trustProxy: parts.trustProxy,
    ...(parts.naming.inbound ? { rewriteUrl: parts.naming.inbound } : {}),
    logger: false,
    genReqId: () => `req_${run}${(requests++).toString(36)}`,
    bodyLimit: 256 * 1024,
    connectionTimeout: 90_000,
    requestTimeout: 15_000,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: 500, ignoreTrailingSlash: true },
    http: { headersTimeout: 10_000, maxHeaderSize: 16_384, requireHostHeader: false, shouldUpgradeCallback: wanted },
    ajv: {
      customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: true, strict: false, formats },
      onCreate: compileLate,
    },
    clientErrorHandler: refuseSocket,
    frameworkErrors: (error, request, reply) => {
      void fail(error, request, reply)
    },
  })
  app.server.on('checkExpectation', refuseExpectation)
  app.server.on('upgrade', open)
  app.server.maxConnections = mostConnections
  // Behind a proxy every connection is the proxy's, which has limits of its own.
  if (parts.trustProxy === false) shareConnections(app.server, mostConnections / 2)
  app.server.maxHeadersCount = 100

  app.decorateRequest('account', null)
  app.decorateRequest('operator', null)
  app.decorateRequest('accountKey', null)
  app.decorateRequest('person', null)
  app.decorateRequest('isSandbox', false)
  app.decorateRequest('began', 0)
  readBodies(app)
  app.addHook('onRequest', (request, reply, done) => {
    request.began = performance.now()
    reply
      .header('x-request-id', request.id)
      .header('trunkline-version', version)
      .header('x-content-type-options', 'nosniff')
    if (parts.life.stopping) reply.header('connection', 'close')
    if (request.routeOptions.config.contract) reply.header('cache-control', 'no-store')
    done(requestFault(request.raw) ?? undefined)
  })
  installAccessLog(app, log)
  parts.naming.install(app)
  app.setErrorHandler(fail)
  app.setNotFoundHandler((request, reply) =>
    refuse(
      reply,
      'full',
      new Problem('notFound', `There is nothing at ${request.url.split('?', 1)[0]}`, 'unknown_path'),
    ),
  )
  const { plain = [], streams = [] } = Object.groupBy(endpoints, (one) => (one.contract.stream ? 'streams' : 'plain'))
  for (const endpoint of plain) register(app, parts, cors, endpoint)
  void app.register(async (scope) => {
    streamBodies(scope)
    for (const endpoint of streams) register(scope, parts, cors, endpoint)
  })
  registerOthers(app, cors, endpoints)
  return app
}
