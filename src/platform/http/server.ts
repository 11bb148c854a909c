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
import type { Alias } from './alias.ts'
import type { Account, AccountKey, OperatorKey, VoiceUser } from './auth.ts'
import { type AuthDeps, authHooks } from './authenticate.ts'
import { installBodyParsers, installFormParser, installStreamParsers } from './body-parsers.ts'
import { bodyReader, isBodyOptional } from './body-reader.ts'
import { type Cors, makeCors } from './cors.ts'
import { withCsv } from './csv-export.ts'
import type { Contract, CredentialKind, Endpoint } from './endpoint.ts'
import { fieldOf } from './error-field.ts'
import { formReader, refuseParameters } from './form-body.ts'
import { handler } from './handler.ts'
import {
  handshakeTimeoutMs,
  headersTimeoutMs,
  maxConnections,
  maxParamLength,
  requestTimeoutMs,
  timeoutCheckMs,
} from './limits.ts'
import type { Metrics } from './metrics.ts'
import { type KnownPath, makeOtherMethods, type OtherMethods } from './other-methods.ts'
import { type CompatRefusal, errorBody, Problem, type Shape } from './problem.ts'
import { protocolViolation } from './protocol-violation.ts'
import { querySchemaOf } from './query-schema.ts'
import { refusals } from './refusals.ts'
import type { RefusedAccess } from './refused-access.ts'
import type { RequestLimiters } from './request-limiters.ts'
import { makeRequestLogger, type RequestLog } from './request-log.ts'
import type { Session, SessionAccount } from './session.ts'
import { jsonType, limitConnections, noStoreHeaders, refuseExpectation, refuseMalformed } from './socket.ts'
import { refuseUnknownFields } from './unknown-fields.ts'
import { makeUpgrades, type Upgrade } from './upgrade.ts'
import { limitBody, limitStream, limitUpload, unsupportedMediaType } from './upload.ts'
import { compileLazily, formats, queryReader, validationProblem } from './validation.ts'

declare module 'fastify' {
  interface FastifyRequest {
    account: Account | null
    /** The operator key; null for requests without one. */
    operator: OperatorKey | null
    /** The API key; null for requests without one. */
    accountKey: AccountKey | null
    /** The user of the token; null for requests without one. */
    person: VoiceUser | null
    /** The session of the cookie; null for requests with a key, and without either. */
    session: Session | null
    /** The account that the session acts for; null for requests without a session. */
    sessionAccount: SessionAccount | null
    /** True if the request has sandbox effects. */
    isSandbox: boolean
    /** The credential that the handler asked to make (credential-strength.ts). */
    askedCredential: CredentialKind | null
    /** Code of the refusal; null for a success. */
    errorCode: string | null
    /** Time of arrival by the monotonic clock, in milliseconds. */
    began: number
  }
  interface FastifyContextConfig {
    contract?: Contract
  }
}

export type ServerDeps = AuthDeps & {
  db: Db
  metrics: Metrics
  seal: Seal
  limiters: RequestLimiters
  requestLog: RequestLog
  refusedAccess: RefusedAccess
  log: Logger
  version: string
  tls: { readonly cert: Buffer; readonly key: Buffer } | null
  alias: Alias
  /** Returns the refusal of a contract of the shape `compat`. Absent where none is served. */
  compatRefusal?: (problem: Problem) => CompatRefusal
  /** Rewrites paths before they are matched. */
  rewritePath?: (url: string) => string
  config: { readonly corsOrigins: readonly string[]; readonly sandbox: boolean; readonly isSandboxExplicit: boolean }
  lifecycle: { readonly stopping: boolean }
}

const asProblem = (error: FastifyError, request: FastifyRequest): Problem | null => {
  if (error instanceof Problem) return error
  if (error.validation) return validationProblem(error.validation, error.validationContext)
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return unsupportedMediaType(request)
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return refusals.bodyTooLarge(error.message)
  if (error.statusCode && error.statusCode >= 400 && error.statusCode < 500)
    return refusals.malformedRequest(error.message)
  if (isUnavailable(error)) return refusals.databaseUnavailable()
  return null
}

const refusalOf = (
  { compatRefusal }: Pick<ServerDeps, 'compatRefusal'>,
  request: FastifyRequest,
  shape: Shape,
  problem: Problem,
): CompatRefusal => {
  if (shape === 'compat' && compatRefusal) return compatRefusal(problem)
  const native = shape === 'compat' ? 'full' : shape
  const field = fieldOf(problem, request, request.routeOptions.config.contract)
  return { status: problem.status, body: errorBody(native, problem, request.id, field) }
}

const sendProblem = (parts: Pick<ServerDeps, 'compatRefusal'>, reply: FastifyReply, shape: Shape, problem: Problem) => {
  reply.request.errorCode = problem.code
  const { status, body } = refusalOf(parts, reply.request, shape, problem)
  return reply
    .code(status)
    .headers({ ...noStoreHeaders, ...problem.headers })
    .type(jsonType)
    .serializer((whole) => JSON.stringify(whole))
    .send(body)
}

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
  const { form, body } = contract
  if (!body) return []
  const make = () => (form ? formReader(body) : bodyReader(contract))
  // Made for the first request: those of all endpoints take 10 ms of processor time per start.
  let read: ReturnType<typeof make> | undefined
  return [
    (request, _reply, done) => {
      if (read === undefined) read = make()
      read?.(request.body)
      done()
    },
  ]
}

const refuseNamed = (names: readonly string[]): preValidationHookHandler => {
  return (request, _reply, done) => {
    refuseParameters(names, request.query, request.body)
    done()
  }
}

const register = (app: FastifyInstance, parts: ServerDeps, cors: Cors, endpoint: Endpoint) => {
  const { contract } = endpoint
  const { params, body } = contract
  const query = querySchemaOf(contract)
  const limitHook = contract.stream ? limitStream : contract.media ? limitUpload : body ? limitBody : null
  const countResponse = parts.metrics.route(contract.method, contract.url)
  const logRequest = makeRequestLogger(parts.requestLog, contract)
  const preparations = [
    ...(query ? [readQueryOf(query)] : []),
    ...(isBodyOptional(contract) ? [fillBody] : []),
    ...readBodyOf(contract),
    ...(contract.refuses ? [refuseNamed(contract.refuses)] : []),
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
    onRequest: [...(contract.browser ? [cors.allow] : []), ...authHooks(parts, contract)],
    ...(preparations.length > 0 ? { preValidation: preparations } : {}),
    ...(limitHook ? { preParsing: limitHook(parts.limiters) } : {}),
    // Not onResponse: its listener on every response stream costs 10 µs per request, a quarter of the total.
    onSend: (request, reply, payload, done) => {
      const elapsed = performance.now() - request.began
      countResponse(reply.statusCode, elapsed)
      if (request.accountKey) logRequest(request.accountKey, request.id, reply.statusCode, request.errorCode, elapsed)
      done(null, payload)
    },
    handler: handler(parts, endpoint),
  })
}

const refuseMethod = (request: FastifyRequest, { allowed }: KnownPath): never => {
  throw refusals.methodNotAllowed(request.method, [...allowed].join(', '))
}

/** Registers the preflights of browsers, and the other methods of known paths that need a route. */
const registerOtherMethods = (app: FastifyInstance, cors: Cors, { paths }: OtherMethods) => {
  for (const path of paths) {
    const { url, contract, allowed, isForBrowsers, shadowed } = path
    const config = { contract }
    if (isForBrowsers) app.options(url, { config }, cors.preflight([...allowed]))
    if (shadowed.length > 0)
      app.route({ method: [...shadowed], url, config, handler: (request) => refuseMethod(request, path) })
  }
}

/** Returns the one function that rewrites URLs; undefined if nothing is rewritten. */
const joinRewrites = ({ alias, rewritePath }: Pick<ServerDeps, 'alias' | 'rewritePath'>) => {
  if (!rewritePath) return alias.rewriteUrl
  return (request: { url?: string | undefined }): string =>
    rewritePath(alias.rewriteUrl?.(request) ?? request.url ?? '/')
}

/**
 * Builds the HTTP server of the endpoints: hardened, with all refusals in the shapes of the interface.
 * @param catchAll the beginnings of paths that routes of others will match, such as `/console/`
 */
export const makeServer = (
  parts: ServerDeps,
  contracted: readonly Endpoint[],
  upgrades: readonly Upgrade[] = [],
  catchAll: readonly string[] = [],
): FastifyInstance => {
  const endpoints = contracted.flatMap(withCsv)
  const otherMethods = makeOtherMethods(endpoints, catchAll)
  const { log, version, tls, proxies } = parts
  const cors = makeCors(parts.config.corsOrigins, parts.config.sandbox)
  const { isUpgrade, open } = makeUpgrades(upgrades, cors, parts)
  const run = randomBytes(6).toString('base64url')
  let requests = 0
  const nextId = () => `req_${run}${(requests++).toString(36)}`

  const fail = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
    const { url, config } = request.routeOptions
    const known = url === undefined ? otherMethods.find(request) : null
    const shape = (config.contract ?? known?.contract)?.shape ?? 'full'
    const problem = asProblem(error, request)
    if (problem) {
      const { contract } = config
      const recorded = contract ? parts.refusedAccess.note(request, contract, problem) : null
      const refuse = () => sendProblem(parts, reply, shape, problem)
      return recorded ? recorded.then(refuse) : refuse()
    }
    log.error({ err: error, request_id: request.id, route: url }, 'http: request failed')
    const { id } = request
    return sendProblem(parts, reply, shape, refusals.internalError(id))
  }

  // Fastify passes these on to a server of HTTP only, and with TLS none of them without the second place.
  const node = {
    headersTimeout: headersTimeoutMs,
    connectionsCheckingInterval: timeoutCheckMs,
    maxHeaderSize: 16_384,
    requireHostHeader: false,
    shouldUpgradeCallback: isUpgrade,
  }
  const rewriteUrl = joinRewrites(parts)
  const app: FastifyInstance = Fastify({
    ...(tls ? { https: { handshakeTimeout: handshakeTimeoutMs, ...tls, ...node } } : { http: node }),
    ...(rewriteUrl ? { rewriteUrl } : {}),
    logger: false,
    genReqId: nextId,
    bodyLimit: 256 * 1024,
    connectionTimeout: 90_000,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength, ignoreTrailingSlash: true },
    ajv: {
      customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: true, strict: false, formats },
      onCreate: compileLazily,
    },
    clientErrorHandler: refuseMalformed,
    frameworkErrors: (error, request, reply) => {
      void fail(error, request, reply)
    },
  })
  app.server.on('checkExpectation', refuseExpectation)
  app.server.on('upgrade', open)
  app.server.maxConnections = maxConnections
  limitConnections(app.server, maxConnections / 2, proxies.trusts)
  app.server.maxHeadersCount = 100

  // In place of Fastify's own, which believe other values of the headers.
  app.decorateRequest('ip', {
    getter() {
      return proxies.address(this.raw)
    },
  })
  app.decorateRequest('protocol', {
    getter() {
      return proxies.protocol(this.raw)
    },
  })
  app.decorateRequest('host', {
    getter() {
      return proxies.host(this.raw)
    },
  })
  app.decorateRequest('account', null)
  app.decorateRequest('operator', null)
  app.decorateRequest('accountKey', null)
  app.decorateRequest('person', null)
  app.decorateRequest('session', null)
  app.decorateRequest('sessionAccount', null)
  app.decorateRequest('isSandbox', false)
  app.decorateRequest('began', 0)
  app.decorateRequest('errorCode', null)
  app.decorateRequest('askedCredential', null)
  installBodyParsers(app)
  app.addHook('onRequest', (request, reply, done) => {
    request.began = performance.now()
    reply
      .header('x-request-id', request.id)
      .header('trunkline-version', version)
      .header('x-content-type-options', 'nosniff')
    if (parts.lifecycle.stopping) reply.header('connection', 'close')
    if (request.routeOptions.config.contract) reply.header('cache-control', 'no-store')
    done(protocolViolation(request.raw) ?? undefined)
  })
  installAccessLog(app, log)
  parts.alias.install(app)
  app.setErrorHandler(fail)
  app.setNotFoundHandler((request, reply) => {
    const known = otherMethods.find(request)
    if (known) return refuseMethod(request, known)
    return sendProblem(parts, reply, 'full', refusals.unknownPath(request.url.split('?', 1)[0]))
  })
  const {
    plain = [],
    streams = [],
    forms = [],
  } = Object.groupBy(endpoints, ({ contract }) => (contract.stream ? 'streams' : contract.form ? 'forms' : 'plain'))
  for (const endpoint of plain) register(app, parts, cors, endpoint)
  void app.register(async (scope) => {
    installStreamParsers(scope)
    for (const endpoint of streams) register(scope, parts, cors, endpoint)
  })
  void app.register(async (scope) => {
    installFormParser(scope)
    for (const endpoint of forms) register(scope, parts, cors, endpoint)
  })
  registerOtherMethods(app, cors, otherMethods)
  return app
}
