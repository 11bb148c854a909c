import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Db, Tx } from '../db/sql.ts'
import type { Seal } from '../lib/secret.ts'
import { makeAuditor } from './audit.ts'
import type { AccountKey } from './auth.ts'
import { confidentialNames, maskMarked } from './confidential.ts'
import { type Contract, type Endpoint, isAudited, isRepeatable } from './endpoint.ts'
import { once, pathOf } from './idempotency.ts'
import { inTurn, keyOf, type RequestLimiters } from './limiters.ts'
import { json } from './socket.ts'

const noAccount = '00000000-0000-0000-0000-000000000000'

type Asked = Pick<FastifyRequest, 'account' | 'person' | 'body'> & {
  readonly key: AccountKey | null
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly prepared?: unknown
  readonly tx: Tx | null
}

type Run = (call: Asked) => Promise<{ [key: string]: unknown }>

/** The handler of an audited act: its row is written in the transaction of the act. */
const audited = (db: Db, contract: Contract, run: Run): Run => {
  const auditor = makeAuditor(contract)
  return (call) => auditor(db, call, (audit) => run(Object.assign({ audit }, call)))
}

/** The handler of an answer with marked fields: observers get them masked. */
const veiled = ({ reply }: Contract, run: Run): Run => {
  return async (call) => {
    const payload = await run(call)
    return call.request.operator?.role === 'observer' ? Object(maskMarked(reply, payload)) : payload
  }
}

const guarded = (db: Db, contract: Contract, run: Run): Run => {
  if (isAudited(contract)) return audited(db, contract, run)
  const isVeiled = contract.auth === 'operator' && confidentialNames(contract.reply).size > 0
  return isVeiled ? veiled(contract, run) : run
}

/** The handler of an endpoint as Fastify wants it: with its transaction, and with its Idempotency-Key. */
export const handler = (
  { db, seal, limiters }: { db: Db; seal: Seal; limiters: RequestLimiters },
  { contract, transaction, prepare, handle }: Endpoint,
) => {
  const { database, held, outside } = limiters
  /** Without an Idempotency-Key. The hot path needs none: its rows wait in batches, which are fair by themselves. */
  const waiting = transaction === 'each' ? held : outside
  const usual = contract.stream ? null : contract.waits ? waiting : transaction === 'keyed' ? null : database
  // The types of a handler's call are checked where it is registered (endpoint.ts); here all endpoints are alike.
  const run = guarded(db, contract, handle as Run)
  const shape: { [key: string]: unknown } = { ...contract.reply }
  const before = prepare as ((call: unknown) => Promise<unknown>) | undefined
  const fulfil = (call: Asked): unknown => {
    const { account, body, request, reply } = call
    // Compiled for the first answer of its kind, as in compileLate.
    reply.code(contract.status).type(json).serializer(reply.compileSerializationSchema(shape))
    // A socket that was made patient takes no other request.
    if (contract.stream) reply.header('connection', 'close')
    const key = request.headers['idempotency-key']
    if (!isRepeatable(contract) || typeof key !== 'string' || key === '')
      return usual
        ? inTurn(usual, keyOf(request), reply, () =>
            transaction === 'each' ? db.begin(async (tx) => run({ ...call, tx })) : run(call),
          )
        : run(call)
    const path = pathOf(contract.url, request.params)
    const answer = async (tx: Tx) => {
      const payload = await run({ ...call, tx })
      return { status: reply.statusCode, body: String(reply.serializeInput(payload, shape)) }
    }
    const said = contract.ownAnswer ? { body, by: call.key?.id ?? request.operator?.id } : body
    const asked = { account: account?.id ?? noAccount, key, method: 'POST', path, query: request.query, body: said }
    const kept = inTurn(contract.waits ? held : database, keyOf(request), reply, () => once(db, seal, asked, answer))
    return kept.then(({ status, body: text, replayed }) => {
      if (replayed) reply.header('idempotent-replayed', 'true')
      reply.serializer((whole) => String(whole))
      return reply.code(status).type(json).send(text)
    })
  }
  return (request: FastifyRequest, reply: FastifyReply): unknown => {
    const { account, accountKey, person, params, query, body } = request
    const call = { account, key: accountKey, person, params, query, body, request, reply, tx: null }
    if (!before) return fulfil(call)
    return inTurn(outside, keyOf(request), reply, () => before(call)).then<unknown>((prepared) =>
      fulfil({ ...call, prepared }),
    )
  }
}
