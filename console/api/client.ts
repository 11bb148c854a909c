import type { Static, TSchema } from 'typebox'
import type { Modules } from './contracts.ts'
import { type RequestParts, send } from './send.ts'

type Every<M> = M extends unknown ? M[keyof M] : never
type Operation = Extract<Every<Modules>, { id: string; method: string; url: string }>
type Table = { [O in Operation as `${O['method']} ${O['url']}`]: O }

/** A method and an address as the documentation writes them, such as `GET /open/keys`. */
export type Route = keyof Table

type Part<O, K extends string> = O extends { [k in K]: infer S extends TSchema }
  ? object extends Static<S>
    ? { readonly [k in K]?: Loose<Static<S>> }
    : { readonly [k in K]: Loose<Static<S>> }
  : unknown
/** Fields that are absent may be undefined too: they are not sent. */
type Loose<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]: undefined extends T[K] ? T[K] | undefined : T[K] } & OptionalFields<T>
    : T
type OptionalFields<T> = { readonly [K in keyof T as object extends Pick<T, K> ? K : never]?: T[K] | undefined }

/** Fields of a request: path, query and body. */
export type RequestOf<R extends Route> = Part<Table[R], 'params'> & Part<Table[R], 'query'> & Part<Table[R], 'body'>

/** Body of a successful response. */
export type ReplyOf<R extends Route> = Table[R] extends { reply: infer S extends TSchema } ? Static<S> : never

/** Routes that read. */
export type ReadRoute = Extract<Route, `GET ${string}`>
/** Routes that change something. */
export type ActRoute = Exclude<Route, ReadRoute>

export type CallOptions = {
  readonly signal?: AbortSignal
  /** Makes a repetition of the same act harmless. */
  readonly idempotencyKey?: string
  /** Default: the account of the page. */
  readonly account?: string
}

/** Makes a request. @throws ApiError for a refusal, a lost connection or a time-out */
export const api = async <const R extends Route>(
  route: R,
  request: RequestOf<R>,
  options: CallOptions = {},
): Promise<ReplyOf<R>> => {
  // The server validates its replies by the same contract.
  return (await send(route, request as RequestParts, options)) as ReplyOf<R>
}
