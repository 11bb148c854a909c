import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Db, Tx } from '../db/sql.ts'
import type { Seal } from '../lib/secret.ts'
import { makeAuditor, makeExportAuditor, makeSessionAuditor } from './audit.ts'
import type { AccountKey } from './auth.ts'
import { hasOneOf } from './capability.ts'
import { confidentialNames, maskMarked } from './confidential.ts'
import { sendCsv, wantsCsv } from './csv-export.ts'
import { type Contract, type Endpoint, isAudited, isRepeatable } from './endpoint.ts'
import { canonicalPath, isAnswered, type RequestKey, runIdempotently } from './idempotency.ts'
import { limiterKeyOf, type RequestLimiters, runInTurn } from './request-limiters.ts'
import { jsonType } from './socket.ts'

const noAccount = '00000000-0000-0000-0000-000000000000'

type HandlerCall = Pick<FastifyRequest, 'account' | 'person' | 'session' | 'body' | 'isSandbox'> & {
  readonly key: AccountKey | null
  readonly query?: unknown
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly prepared?: unknown
  readonly tx: Tx | null
}

/** Names the request as the cause of the jobs that a transaction adds. */
const ofRequest = (tx: Tx, { id }: FastifyRequest): Tx => {
  tx.requestId = id
  return tx
}

type HandlerFunction = (call: HandlerCall) => Promise<{ [key: string]: unknown }>

/** Wraps the handler of an audited operation: the audit row is written in the transaction of the operation. */
const audited = (db: Db, contract: Contract, run: HandlerFunction): HandlerFunction => {
  const auditor = makeAuditor(contract)
  return (call) => auditor(db, call, (audit) => run(Object.assign({ audit }, call)))
}

/** True if the response may have contents of messages. */
const showsTexts = ({ needs, showsTexts: shows }: Contract): boolean => needs === 'inbox' || shows === true

/**
 * Wraps the handler of an account's operation that is not audited: acts by sessions are recorded all the same, with the
 * fields of the request as the state after it, except those that the contract leaves out. What an operator reads of texts
 * in an account is recorded, too.
 */
const auditedForSessions = (db: Db, contract: Contract, run: HandlerFunction): HandlerFunction => {
  const auditor = makeSessionAuditor(contract)
  const isRead = contract.method === 'GET'
  return (call) => {
    const { session, sessionAccount } = call.request
    if (!session || (isRead && !(sessionAccount?.isOperator && showsTexts(contract)))) return run(call)
    const user = sessionAccount?.userId
    if (typeof contract.unrecorded === 'function' && user && contract.unrecorded(Object(call.body), user))
      return run(call)
    return auditor(db, call, () => run(call))
  }
}

/** Wraps the handler of a response with marked fields: they are masked for observers. */
const maskedForObservers = ({ reply }: Contract, run: HandlerFunction): HandlerFunction => {
  return async (call) => {
    const payload = await run(call)
    return call.request.operator?.role === 'observer' ? Object(maskMarked(reply, payload)) : payload
  }
}

const wrapped = (db: Db, contract: Contract, run: HandlerFunction): HandlerFunction => {
  if (isAudited(contract)) return audited(db, contract, run)
  if (contract.auth === 'account' && contract.unrecorded !== true) return auditedForSessions(db, contract, run)
  const isMasked = contract.auth === 'operator' && confidentialNames(contract.reply).size > 0
  return isMasked ? maskedForObservers(contract, run) : run
}

/** Wraps the handler of an endpoint that makes a credential: it must have asked whether the request may. */
const asking = ({ id, makes }: Contract, run: HandlerFunction): HandlerFunction => {
  return async (call) => {
    const payload = await run(call)
    if (call.request.askedCredential === makes) return payload
    throw new Error(`${id} made a credential of the kind ${makes} without asking`)
  }
}

/**
 * Returns whose the stored response of a request is: of its caller alone if the contract says so, or if the response may
 * show contents of conversations to a caller who may not see all; undefined for every caller of the account.
 */
const answerOwner = (contract: Contract, { key, request }: HandlerCall): string | undefined => {
  const { sessionAccount, operator } = request
  const by = sessionAccount?.userId ?? key?.id ?? operator?.id
  if (contract.ownAnswer) return key?.id ?? operator?.id
  if (!showsTexts(contract) || !key) return undefined
  const seesAll = hasOneOf(key, 'inbox') && hasOneOf(key, 'inbox.all')
  return seesAll && sessionAccount?.role !== 'agent' ? undefined : by
}

/** Returns the Fastify handler of an endpoint, which manages the transaction and the Idempotency-Key. */
export const handler = (
  { db, seal, limiters }: { db: Db; seal: Seal; limiters: RequestLimiters },
  { contract, transaction, prepare, needsPreparation, handle, refused }: Endpoint,
) => {
  const { database, externalKeyed, external } = limiters
  /** Limiter of requests without an Idempotency-Key. The hot path needs none, as its rows wait in fair batches. */
  const waitLimiter = transaction === 'each' ? externalKeyed : external
  const limiter = contract.stream ? null : contract.waits ? waitLimiter : transaction === 'keyed' ? null : database
  // The types of a handler are checked where it is bound to its contract (endpoint.ts); here all endpoints are alike.
  const own = wrapped(db, contract, handle as HandlerFunction)
  const run = contract.makes ? asking(contract, own) : own
  const recordExport = contract.csv === undefined ? null : makeExportAuditor(contract)
  const shape: { [key: string]: unknown } = { ...contract.reply }
  const before = prepare as ((call: unknown) => Promise<unknown>) | undefined
  const isPrepared = needsPreparation as ((call: unknown) => boolean) | undefined
  /** Returns the identity of a request with an Idempotency-Key; null without one. */
  const keyOf = (call: HandlerCall): RequestKey | null => {
    const { account, body, request } = call
    const key = request.headers['idempotency-key']
    if (!isRepeatable(contract) || typeof key !== 'string' || key === '') return null
    const path = canonicalPath(contract.url, request.params)
    return {
      ...{ account: account?.id ?? noAccount, key, method: 'POST', path, query: request.query, body },
      by: answerOwner(contract, call),
    }
  }
  const fulfil = (call: HandlerCall): unknown => {
    const { request, reply } = call
    if (recordExport && wantsCsv(contract, request)) {
      // One row records the export: its pages are no reads of their own.
      const readPage = (query: unknown) => {
        const page = () => (handle as HandlerFunction)({ ...call, query })
        return limiter ? runInTurn(limiter, limiterKeyOf(request), reply, page) : page()
      }
      return sendCsv(contract, limiters, request, reply, readPage, () => recordExport(db, request))
    }
    // Compiled at the first response, as in compileLazily.
    reply.code(contract.status).type(jsonType).serializer(reply.compileSerializationSchema(shape))
    // A socket with an extended timeout takes no further request.
    if (contract.stream) reply.header('connection', 'close')
    const keyed = keyOf(call)
    if (keyed === null)
      return limiter
        ? runInTurn(limiter, limiterKeyOf(request), reply, () =>
            transaction === 'each' ? db.begin(async (tx) => run({ ...call, tx: ofRequest(tx, request) })) : run(call),
          )
        : run(call)
    const answer = async (tx: Tx) => {
      const payload = await run({ ...call, tx: ofRequest(tx, request) })
      return { status: reply.statusCode, body: String(reply.serializeInput(payload, shape)) }
    }
    const stored = runInTurn(contract.waits ? externalKeyed : database, limiterKeyOf(request), reply, () =>
      runIdempotently(db, seal, keyed, answer),
    )
    return stored.then(({ status, body: text, replayed }) => {
      if (replayed) reply.header('idempotent-replayed', 'true')
      reply.serializer((whole) => String(whole))
      return reply.code(status).type(jsonType).send(text)
    })
  }
  return (request: FastifyRequest, reply: FastifyReply): unknown => {
    const { account, accountKey, person, session, isSandbox, params, query, body } = request
    const call = { account, key: accountKey, person, session, isSandbox, params, query, body, request, reply, tx: null }
    if (!before || isPrepared?.(call) === false) return fulfil(call)
    const prepared = () =>
      runInTurn(external, limiterKeyOf(request), reply, () => before(call)).then<unknown>((prepared) =>
        fulfil({ ...call, prepared }),
      )
    const keyed = keyOf(call)
    // A repetition has its stored answer: it prepares nothing.
    const fulfilled =
      keyed === null
        ? prepared()
        : runInTurn(database, limiterKeyOf(request), reply, () => isAnswered(db, keyed)).then<unknown>((isStored) =>
            isStored ? fulfil(call) : prepared(),
          )
    if (!refused) return fulfilled
    return fulfilled.catch(async (error: unknown) => {
      await refused(error)
      throw error
    })
  }
}
