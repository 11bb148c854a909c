import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { Tx } from '../db/sql.ts'
import type { Audit } from './audit.ts'
import type { Account, AccountKey, Person } from './auth.ts'
import type { Capability } from './capability.ts'
import type { ProblemName, Shape } from './problem.ts'

/** One endpoint, as data: the validator, the serialiser, OpenAPI, the client, the CLI, the fuzzer and the isolation test
 *  all read this object. */
export type Contract = Described & Access

/** Whose key the request carries, and what that key must be allowed; `voice`: the token of a user's voice client. */
type Access =
  | { readonly auth: 'account'; readonly needs: Capability }
  | { readonly auth: 'operator' | 'voice' | 'none'; readonly needs?: never }

type Described = {
  /** Name of the operation: a verb and a noun. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With `:name` for path parameters. */
  readonly url: string
  readonly tag: string
  readonly summary: string
  readonly shape: Shape
  /** Refuses observers a GET of /operator whose answer cannot be masked, such as a file. */
  readonly role?: 'operator'
  /** An act of an account that is written to the audit trail. Changing acts of operators always are. */
  readonly audited?: true
  readonly params?: TSchema
  readonly query?: TSchema
  readonly body?: TSchema
  /** Refused over plain HTTP from elsewhere (403 https_required). */
  readonly secure?: boolean
  /** Another key of the account or operator may not repeat the request under its Idempotency-Key: the answer is for one key alone. */
  readonly ownAnswer?: boolean
  /** Called by pages of the origins that are configured. */
  readonly browser?: boolean
  /** Of a body that is a file: the types that it may have. The handler is given its bytes, or their stream. */
  readonly media?: readonly string[]
  /** Bytes; 256 KiB unless said otherwise. */
  readonly bodyLimit?: number
  /** The body is handed over as a stream of bytes, of any length and for as long as it takes. What a stream did cannot be
   *  told by its digest, so such a request takes no Idempotency-Key. */
  readonly stream?: boolean
  /** The endpoint waits for a network or supplier: its requests take turns among their like, and hold up no others. */
  readonly waits?: boolean
  readonly status: number
  /** Another status of the same reply, when nothing was left to do, with its description. */
  readonly also?: { readonly [status: number]: string }
  readonly reply: TSchema
  /** Headers of its own that a fulfilled request may be answered with, and what each says. */
  readonly headers?: Readonly<Record<string, string>>
  /** The refusals of the endpoint's own; those of every endpoint (401, 429 …) are added by `refusals`. */
  readonly errors: Partial<Record<ProblemName, string>>
  /** What a refusal by the endpoint itself tells beside the fields of every refusal. */
  readonly faults?: TSchema
  /** The command of the CLI that calls it, such as `accounts create`. */
  readonly cli?: string
}

export const contract = <const C extends Contract>(made: C): C => made

type Part<C extends Contract, K extends 'params' | 'query' | 'body'> = C[K] extends TSchema ? Static<C[K]> : undefined

/** What a handler is given. */
export type Call<C extends Contract> = {
  readonly params: Part<C, 'params'>
  readonly query: Part<C, 'query'>
  readonly body: C['stream'] extends true ? Readable : Part<C, 'body'>
  readonly request: FastifyRequest
  readonly reply: FastifyReply
} & Reporting<C> &
  (C['auth'] extends 'account' ? { readonly account: Account; readonly key: AccountKey } : unknown) &
  (C['auth'] extends 'voice' ? { readonly account: Account; readonly person: Person } : unknown)

type Changing = 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The function by which the handler of an audited act reports it. */
type Reporting<C extends Contract> = C extends { audited: true } | { auth: 'operator'; method: Changing }
  ? { readonly audit: Audit }
  : unknown

/** The transaction of a changing request: its effect, its Idempotency-Key and its kept answer are one. */
type Inside<C extends Contract> = C['method'] extends Changing ? { readonly tx: Tx } : unknown

type Reply<C extends Contract> = Static<C['reply']>

/** A contract with the function that fulfils it. */
export type Endpoint = {
  readonly contract: Contract
  /** `each`: the handler runs inside a transaction. `keyed`: only for a request with an Idempotency-Key; else the
   *  handler sees to its own durability. `none`: it only reads. */
  readonly transaction: 'each' | 'keyed' | 'none'
  /** Comes before the transaction, and gives the handler `prepared`. */
  readonly prepare?: (call: never) => Promise<unknown>
  readonly handle: (call: never) => unknown
}

/** Registers a handler. A changing request runs inside one transaction, `tx`. */
export const serve = <const C extends Contract>(
  made: C,
  handle: (call: Call<C> & Inside<C>) => Promise<Reply<C>>,
): Endpoint => ({ contract: made, transaction: made.method === 'GET' ? 'none' : 'each', handle })

/** For a changing request that has to wait for somebody else, such as a name server: `prepare` asks before the transaction,
 *  which would hold a connection meanwhile, and does nothing that lasts. */
export const serveAfter = <const C extends Contract, P>(
  made: C,
  prepare: (call: Call<C>) => Promise<P>,
  handle: (call: Call<C> & Inside<C> & { readonly prepared: P }) => Promise<Reply<C>>,
): Endpoint => ({ contract: made, transaction: 'each', prepare, handle })

/** For the hot path: `tx` is there only when the request carries an Idempotency-Key. */
export const serveFast = <const C extends Contract>(
  made: C,
  handle: (call: Call<C> & { readonly tx: Tx | null }) => Promise<Reply<C>>,
): Endpoint => ({ contract: made, transaction: 'keyed', handle })

/** For the hot path of what has to wait for somebody else first, as `serveAfter`. */
export const serveFastAfter = <const C extends Contract>(
  made: C,
  prepare: (call: Call<C>) => Promise<void>,
  handle: (call: Call<C> & { readonly tx: Tx | null }) => Promise<Reply<C>>,
): Endpoint => ({ contract: made, transaction: 'keyed', prepare, handle })

/** For what has no effect in our database, or answers by streaming. */
export const serveOutside = <const C extends Contract>(
  made: C,
  handle: (call: Call<C>) => Promise<Reply<C>>,
): Endpoint => ({ contract: made, transaction: 'none', handle })

/** The answer of a request that was fulfilled. */
export const ok = <const T extends object>(body: T) => ({ success: true as const, ...body })

/** True for what counts as a call of an account: it is held to the account's pace and quota. */
export const isMetered = ({ auth, url }: Pick<Contract, 'auth' | 'url'>): boolean =>
  (auth === 'account' || auth === 'voice') && url.startsWith('/open/')

/** True for acts that are written to the audit trail. */
export const isAudited = ({ auth, method, audited }: Pick<Contract, 'auth' | 'method' | 'audited'>): boolean =>
  audited === true || (auth === 'operator' && method !== 'GET')

/** True for everything that an observer may not do: all but the GETs that can be masked. */
export const needsOperator = ({ auth, method, role }: Pick<Contract, 'auth' | 'method' | 'role'>): boolean =>
  auth === 'operator' && (method !== 'GET' || role === 'operator')

/** True for what can be asked for again under an Idempotency-Key. Answers to a token are for its user alone, and short-lived. */
export const isRepeatable = ({ method, stream, auth }: Pick<Contract, 'method' | 'stream' | 'auth'>): boolean =>
  method === 'POST' && !stream && auth !== 'voice'

const takesPhone = ({ params, query, body }: Contract): boolean =>
  JSON.stringify([params, query, body]).includes('"format":"phone"')

/** Every refusal that an endpoint can answer, with its description. */
export const refusals = (made: Contract): Partial<Record<ProblemName, string>> => ({
  ...(made.auth === 'none'
    ? {}
    : {
        unauthorized: `The ${made.auth === 'voice' ? 'token' : 'key'} is missing or not valid${made.auth === 'account' ? ', or has expired (key_expired)' : ''}`,
        tooMany: 'Too many wrong keys or tokens from this address (too_many_failures)',
        internal: 'A fault of the server; the request_id finds it in the log',
        unavailable: 'The database cannot be reached, or the server is overloaded or stopping',
      }),
  ...(made.auth === 'voice' ? { forbidden: 'The account is blocked' } : {}),
  ...(made.auth === 'account'
    ? {
        forbidden: `The account is blocked (account_blocked) or has used up a quota (limit_exceeded: \`limit\` names it), the key lacks the scope ${made.needs} (scope_missing), or it may not be used from this address (address_not_allowed)${made.url.startsWith('/sandbox/') ? ', or the account is not a sandbox account (not_sandbox_account)' : ''}`,
      }
    : {}),
  ...(needsOperator(made) ? { forbidden: 'The key is an observer’s, and this needs the role operator (role)' } : {}),
  ...(isMetered(made)
    ? {
        balance: 'The quota of API calls is used up',
        tooMany:
          'More requests a minute than the account may make, or too many wrong keys or tokens from this address (too_many_failures)',
      }
    : {}),
  ...(made.params || made.query || made.body
    ? { invalid: 'A field is missing or has a wrong value; the message names it' }
    : {}),
  ...(made.body ? { mediaType: 'The body is not application/json, or has a content coding' } : {}),
  ...(made.body && !made.stream ? { tooLarge: 'The body is over 256 KiB' } : {}),
  ...(made.media || made.stream ? { timedOut: 'The body came too slowly' } : {}),
  ...(isRepeatable(made) ? { conflict: 'The Idempotency-Key was used with another body or query' } : {}),
  ...(takesPhone(made) ? { unprocessable: 'A phone number is not E.164' } : {}),
  ...made.errors,
})
