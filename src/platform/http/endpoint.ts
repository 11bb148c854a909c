import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { Tx } from '../db/sql.ts'
import type { Audit } from './audit-entry.ts'
import type { Account, AccountKey, VoiceUser } from './auth.ts'
import type { Capability } from './capability.ts'
import type { ProblemName, Shape } from './problem.ts'
import type { Session } from './session.ts'

/** One endpoint as data. The validator, the serialiser, OpenAPI, the client, the CLI, the fuzzer and the isolation test
 *  read it. */
export type Contract = ContractFields & ContractAuth

/** Kind of credential of the request, and the scope that it needs. `account` and `operator`: a key, or a session with
 *  its rights. `session`: the cookie of a session. `voice`: token of a user's voice client. `client`: name of the method in @trunkline/client, such as `sms.send`. */
type ContractAuth =
  | {
      readonly auth: 'account'
      readonly needs: Capability
      /** Another scope that suffices. */
      readonly orNeeds?: Capability
      readonly client: string
      readonly scheme?: never
    }
  /** HTTP Basic (RFC 7617): the compatible interface. Its operations are not part of @trunkline/client. */
  | {
      readonly auth: 'account'
      readonly scheme: 'basic'
      readonly needs: Capability
      readonly orNeeds?: Capability
      readonly client?: never
    }
  | {
      readonly auth: 'operator'
      readonly needs?: never
      readonly orNeeds?: never
      readonly client: string
      readonly scheme?: never
    }
  | {
      readonly auth: 'voice' | 'session' | 'none'
      readonly needs?: never
      readonly orNeeds?: never
      readonly client?: never
      readonly scheme?: never
    }

/**
 * What an endpoint creates or strengthens, so that its holder may act later.
 * - `api-key`: a key of an account.
 * - `person`: a user of an account, with a role.
 * - `link`: a link that lets its reader act as a person.
 * - `operator`: a key, link or person with rights in the installation.
 * - `voice-token`: a token of a voice client. `device`: the SIP and TURN credentials made from one.
 * - `factor`: a password, passkey or authenticator app of the person of the session.
 * - `own-link`: a link that is mailed to the owner of the mailbox alone.
 * - `session`: a session of the person or key that proves itself by this request.
 * - `webhook`: a signing secret, and a receiver of events.
 */
export type CredentialKind =
  | 'api-key'
  | 'person'
  | 'link'
  | 'own-link'
  | 'operator'
  | 'voice-token'
  | 'device'
  | 'factor'
  | 'session'
  | 'webhook'

type ContractFields = {
  /** Name of the operation: a verb and a noun. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With `:name` for path parameters. */
  readonly url: string
  readonly tag: string
  readonly summary: string
  /** Effect, limits, events: adds to the summary in one to three sentences. */
  readonly description: string
  readonly shape: Shape
  /** Excludes observers from a GET of /operator whose response cannot be masked, such as a file. */
  readonly role?: 'operator'
  /** Records an operation of an account in the audit trail. Changes by operators are always recorded. */
  readonly audited?: true
  /**
   * Does not record requests of sessions: they change nothing, or only what was read. Others are always recorded.
   * A function decides by the body, and by the user that the person has in the account.
   */
  readonly unrecorded?: true | ((body: Readonly<Record<string, unknown>>, user: string) => boolean)
  /** Shows contents of messages without the scope inbox: reads by an operator in an account are recorded. */
  readonly showsTexts?: true
  /** Creates or strengthens a credential: the handler asks `assertMayMake` (credential-strength.ts). */
  readonly makes?: CredentialKind
  /** Requires of a session that its password or key was given within 15 minutes. */
  readonly proof?: true
  /** The response opens a session: pages of other origins, and plain HTTP from other machines, are refused. */
  readonly opensSession?: true
  readonly params?: TSchema
  readonly query?: TSchema
  readonly body?: TSchema
  /** Refuses plain HTTP from other machines (403 https_required). */
  readonly secure?: boolean
  /** Binds the Idempotency-Key to the API key: another key of the account or operator does not get the response. */
  readonly ownAnswer?: boolean
  /** Enables CORS for the configured origins. */
  readonly browser?: boolean
  /** The body is `application/x-www-form-urlencoded`, or `multipart/form-data` without files; names that are repeated give
   *  lists. */
  readonly form?: true
  /** Parameters of the compatible interface that would change the meaning and are not offered: 400 if one has a value.
   *  `*` at the end stands for the rest of a name. All other unknown parameters are ignored. */
  readonly refuses?: readonly string[]
  /** Media types of a body that is a file. The handler receives its bytes, or a stream. */
  readonly media?: readonly string[]
  /** Bytes. Default: 256 KiB. */
  readonly bodyLimit?: number
  /** Passes the body as a stream of any length, without a time limit. A stream has no digest before it is processed, so
   *  the endpoint takes no Idempotency-Key. */
  readonly stream?: boolean
  /** The endpoint waits for a network or supplier: its requests use separate limiters and do not delay others. */
  readonly waits?: boolean
  readonly status: number
  /** Another status of the same reply if there was nothing to do, with its description. */
  readonly also?: { readonly [status: number]: string }
  readonly reply: TSchema
  /** Additional headers of a successful response, with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>
  /** Errors specific to the endpoint; `refusalsOf` adds those of every endpoint (401, 429 …). */
  readonly errors: Partial<Record<ProblemName, string>>
  /** Values of `error_code` besides those that `errors` names in brackets. */
  readonly codes?: { readonly [problem in ProblemName]?: readonly string[] }
  /** Additional fields of the endpoint's own error responses: of 409, if `errors` describes that and not 400; else of 400. */
  readonly faults?: TSchema
  /** Field of the reply that holds the rows of a list, such as `transfers` or `data.reservations`. The server then also
   *  takes `format=csv`, and streams all rows of the filters: csv-export.ts. The path with `.csv` does so, too. */
  readonly csv?: string
  /** The list that the operation answers as CSV: `csvContractOf`. */
  readonly csvOf?: Contract
  /** CLI command that calls the endpoint, such as `accounts create`. */
  readonly cli?: string
}

export const contract = <const C extends Contract>(definition: C): C => definition

type InputPart<C extends Contract, K extends 'params' | 'query' | 'body'> = C[K] extends TSchema
  ? Static<C[K]>
  : undefined

/** Input of a handler. */
export type HandlerInput<C extends Contract> = {
  readonly params: InputPart<C, 'params'>
  readonly query: InputPart<C, 'query'>
  readonly body: C['stream'] extends true ? Readable : InputPart<C, 'body'>
  /** True if the request has sandbox effects. */
  readonly isSandbox: boolean
  readonly request: FastifyRequest
  readonly reply: FastifyReply
} & WithAudit<C> &
  (C['auth'] extends 'account' ? { readonly account: Account; readonly key: AccountKey } : unknown) &
  (C['auth'] extends 'session' ? { readonly session: Session } : unknown) &
  (C['auth'] extends 'voice' ? { readonly account: Account; readonly person: VoiceUser } : unknown)

type ChangingMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Function by which the handler of an audited operation reports it. */
type WithAudit<C extends Contract> = C extends { audited: true } | { auth: 'operator'; method: ChangingMethod }
  ? { readonly audit: Audit }
  : unknown

/** Transaction of a changing request. It covers the effect, the Idempotency-Key and the stored response. */
type WithTransaction<C extends Contract> = C['method'] extends ChangingMethod ? { readonly tx: Tx } : unknown

type Reply<C extends Contract> = Static<C['reply']>

/** A contract with its handler. */
export type Endpoint = {
  readonly contract: Contract
  /** `each`: the handler runs inside a transaction. `keyed`: only for a request with an Idempotency-Key; else the
   *  handler ensures durability itself. `none`: the handler only reads. */
  readonly transaction: 'each' | 'keyed' | 'none'
  /** Runs before the transaction; its result is the handler's `prepared`. */
  readonly prepare?: (call: never) => Promise<unknown>
  /** Whether a request needs `prepare`. Default: each does. */
  readonly needsPreparation?: (call: never) => boolean
  readonly handle: (call: never) => unknown
  /** Runs after an error has rolled the transaction back: stores what a refused attempt leaves nevertheless. */
  readonly refused?: (error: unknown) => Promise<void>
}

/** Binds a handler to a contract. A changing request runs inside one transaction, `tx`. */
export const route = <const C extends Contract>(
  spec: C,
  handle: (call: HandlerInput<C> & WithTransaction<C>) => Promise<Reply<C>>,
): Endpoint => ({ contract: spec, transaction: spec.method === 'GET' ? 'none' : 'each', handle })

/** Binds the handler of a changing request that first waits for another system, such as a name server. `prepare` runs
 *  before the transaction, so that the wait holds no database connection, and must have no lasting effect. */
export const routeWithPreparation = <const C extends Contract, P>(
  spec: C,
  prepare: (call: HandlerInput<C>) => Promise<P>,
  handle: (call: HandlerInput<C> & WithTransaction<C> & { readonly prepared: P }) => Promise<Reply<C>>,
): Endpoint => ({ contract: spec, transaction: 'each', prepare, handle })

/** Binds a handler of the hot path: `tx` is null unless the request carries an Idempotency-Key. */
export const routeHotPath = <const C extends Contract>(
  spec: C,
  handle: (call: HandlerInput<C> & { readonly tx: Tx | null }) => Promise<Reply<C>>,
): Endpoint => ({ contract: spec, transaction: 'keyed', handle })

/** Binds a handler of the hot path that first waits for another system, as `routeWithPreparation`. */
export const routeHotPathWithPreparation = <const C extends Contract>(
  spec: C,
  prepare: (call: HandlerInput<C>) => Promise<void>,
  handle: (call: HandlerInput<C> & { readonly tx: Tx | null }) => Promise<Reply<C>>,
): Endpoint => ({ contract: spec, transaction: 'keyed', prepare, handle })

/** Binds a handler of the hot path of which few requests wait for another system: `prepared` is undefined for the others,
 *  which pay nothing. */
export const routeHotPathWithRarePreparation = <const C extends Contract, P>(
  spec: C,
  needsPreparation: (call: HandlerInput<C>) => boolean,
  prepare: (call: HandlerInput<C>) => Promise<P>,
  handle: (call: HandlerInput<C> & { readonly tx: Tx | null; readonly prepared?: P }) => Promise<Reply<C>>,
): Endpoint => ({ contract: spec, transaction: 'keyed', needsPreparation, prepare, handle })

/** Binds a handler without a transaction: it has no effect in our database, or streams its response. */
export const routeWithoutTransaction = <const C extends Contract>(
  spec: C,
  handle: (call: HandlerInput<C>) => Promise<Reply<C>>,
): Endpoint => ({ contract: spec, transaction: 'none', handle })

/** Status of the refusals that have the additional fields of a contract. */
export const faultsStatus = ({ errors }: Pick<Contract, 'errors'>): 400 | 409 =>
  errors.conflict !== undefined && errors.invalid === undefined ? 409 : 400

/** Returns the body of a successful response. */
export const ok = <const T extends object>(body: T) => ({ success: true as const, ...body })

/** True if requests count as API calls of the account, and are subject to its rate limit and quota. */
export const isMetered = ({ auth, url, scheme }: Pick<Contract, 'auth' | 'url' | 'scheme'>): boolean =>
  (auth === 'account' || auth === 'voice') && (scheme === 'basic' || url.startsWith('/open/'))

/** True if operations are recorded in the audit trail. */
export const isAudited = ({ auth, method, audited }: Pick<Contract, 'auth' | 'method' | 'audited'>): boolean =>
  audited === true || (auth === 'operator' && method !== 'GET')

/** True if observers are excluded. They may only use GETs that can be masked. */
export const needsOperator = ({ auth, method, role }: Pick<Contract, 'auth' | 'method' | 'role'>): boolean =>
  auth === 'operator' && (method !== 'GET' || role === 'operator')

/** True if the endpoint takes an Idempotency-Key. Responses to a token or a sign-in are for one person, and short-lived. */
export const isRepeatable = ({ method, stream, auth }: Pick<Contract, 'method' | 'stream' | 'auth'>): boolean =>
  method === 'POST' && !stream && (auth === 'account' || auth === 'operator')

const takesPhone = ({ params, query, body }: Contract): boolean =>
  JSON.stringify([params, query, body]).includes('"format":"phone"')

const invalidFields = 'A field is missing or has a wrong value; the message names it'

const invalidText = ({ auth, scheme }: Contract): string => {
  if (scheme === 'basic') return invalidFields
  if (auth === 'operator') return `${invalidFields}. Or the request has a key and a session`
  if (auth !== 'account') return invalidFields
  return `${invalidFields}. Or the request has a key and a session, or a session with several accounts names none (account_required)`
}

/** Texts of the refusals of HTTP Basic. */
const basicRefusals = ({ needs, orNeeds }: Contract): Partial<Record<ProblemName, string>> => ({
  invalid: invalidFields,
  unauthorized:
    'The credentials are missing or not valid, the account in the path is another one, or the account has made no credentials for this interface',
  forbidden: `The account is blocked (account_blocked) or closed (account_closed), or has used up a quota (limit_exceeded), the key lacks the scope ${needs}${orNeeds ? ` or ${orNeeds}` : ''} (scope_missing), or it may not be used from this address (address_not_allowed)`,
})

/** Texts of the refusals of credentials, by the kind that an endpoint takes. */
const credentialRefusals = (spec: Contract): Partial<Record<ProblemName, string>> => {
  const proof = spec.proof ? ', or the session must prove itself again (reauthentication_required)' : ''
  const session = `the request with a session comes from another origin (csrf) or over plain HTTP (https_required)${proof}`
  switch (spec.auth) {
    case 'none':
      return {}
    case 'voice':
      return { unauthorized: 'The token is missing or not valid', forbidden: 'The account is blocked' }
    case 'session':
      return {
        unauthorized: 'There is no session, it ended (session_expired), or its key has expired (key_expired)',
        forbidden: `Refused: ${session}, or its key may not be used from this address (address_not_allowed)`,
      }
    case 'account':
      if (spec.scheme === 'basic') return basicRefusals(spec)
      return {
        invalid: invalidText(spec),
        unauthorized: 'The key or session is missing or not valid, or has expired (key_expired, session_expired)',
        forbidden: `The account is blocked (account_blocked) or closed (account_closed), or has used up a quota (limit_exceeded: \`limit\` names it), the key lacks the scope ${spec.needs}${spec.orNeeds ? ` or ${spec.orNeeds}` : ''} (scope_missing), the role of the session lacks it (role), the account requires a second factor that the person lacks (second_factor_required), or the key may not be used from this address (address_not_allowed)${spec.url.startsWith('/sandbox/') ? ', or the account is not a sandbox account (not_sandbox_account)' : ''}, or ${session}`,
      }
    case 'operator':
      return {
        invalid: invalidText(spec),
        unauthorized: 'The key or session is missing or not valid, or has expired (session_expired)',
        forbidden: `${needsOperator(spec) ? 'The key or session has the role observer; this operation needs the role operator (role)' : 'The session has no rights in the installation (role)'}, or ${session}`,
      }
  }
}

/** Returns all errors of an endpoint with their descriptions. */
export const refusalsOf = (spec: Contract): Partial<Record<ProblemName, string>> => ({
  ...credentialRefusals(spec),
  ...(spec.auth === 'none'
    ? {}
    : {
        tooMany: 'Too many wrong keys or tokens from this address (too_many_failures)',
        internal: 'An internal error; search the log for the request_id',
        unavailable: 'The database cannot be reached, or the server is overloaded or stopping',
      }),
  ...(isMetered(spec)
    ? {
        balance: 'The quota of API calls is used up',
        tooMany:
          'The account exceeded its requests per minute, or this address sent too many wrong keys or tokens (too_many_failures)',
      }
    : {}),
  ...(spec.params || spec.query || spec.body ? { invalid: invalidText(spec) } : {}),
  ...(spec.opensSession
    ? { forbidden: 'The page is of another origin (csrf), or the connection is plain HTTP (https_required)' }
    : {}),
  ...(spec.body
    ? {
        mediaType: `The body is not ${spec.form ? 'application/x-www-form-urlencoded or multipart/form-data' : 'application/json'}, or has a content encoding`,
      }
    : {}),
  ...(spec.body && !spec.stream ? { tooLarge: 'The body is larger than 256 KiB' } : {}),
  ...(spec.media || spec.stream ? { timedOut: 'The body arrived too slowly' } : {}),
  ...(isRepeatable(spec) ? { conflict: 'The Idempotency-Key was used with another body or query' } : {}),
  ...(takesPhone(spec) ? { unprocessable: 'A phone number is not E.164' } : {}),
  ...spec.errors,
})
