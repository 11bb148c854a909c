import { InfiniteQueryObserver, QueryClient, QueryObserver } from '@tanstack/query-core'
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks'
import { useTopics } from '../live/live-topics.ts'
import { type ActRoute, api, type ReadRoute, type ReplyOf, type RequestOf } from './client.ts'
import { ApiError, asApiError, isPassing, isUncertain } from './errors.ts'
import { newIdempotencyKey, requestContext } from './send.ts'

/** The cache of everything that pages read. `send` repeats requests, so the cache does not. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { retry: false, staleTime: 5_000, gcTime: 300_000, networkMode: 'always', refetchOnReconnect: true },
  },
})

/** Marks queries as out of date after an event, by its name: `webhook` covers `webhook.delivery`. */
export const markStale = (eventName: string): void => {
  void queryClient.invalidateQueries({
    predicate: ({ meta }) => {
      const names = meta?.live
      return Array.isArray(names) && names.some((name) => eventName === name || eventName.startsWith(`${name}.`))
    },
  })
}

/** Asks again for everything that is shown. */
export const refreshAll = (): void => void queryClient.invalidateQueries()

/** Asks again for what could not be read. */
export const refreshFailed = (): void =>
  void queryClient.refetchQueries({ type: 'active', predicate: ({ state }) => state.error !== null })

type ReadOptions = {
  /** Names, or beginnings of names, of events after which the answer is asked for again. */
  readonly live?: readonly string[]
  /** False: waits. */
  readonly enabled?: boolean
  /** Milliseconds between automatic repetitions while the page is visible. */
  readonly every?: number
}

/** Milliseconds between attempts while the server cannot be reached. */
const retryEvery = 5_000

/** Returns when an answer is asked for again by itself. */
const intervalOf =
  (every: number | undefined) =>
  ({ state }: { state: { error: unknown } }): number | false =>
    state.error instanceof ApiError && isPassing(state.error) ? retryEvery : (every ?? false)

type Observer<O, R> = {
  setOptions(options: O): void
  getOptimisticResult(options: never): R
  subscribe(listener: () => void): () => void
}

/** Binds an observer of the cache to a component. */
const useObserver = <O, R>(make: () => Observer<O, R>, options: O): R => {
  const [observer] = useState(make)
  const [, update] = useReducer((n: number) => n + 1, 0)
  useLayoutEffect(() => observer.setOptions(options))
  useEffect(() => observer.subscribe(() => update(undefined)), [observer])
  // The library completes the options when it reads them.
  return observer.getOptimisticResult(queryClient.defaultQueryOptions(options as never) as never)
}

/**
 * Returns the error of a query. While one without an answer is asked again, the cache forgets its error: the page would
 * flicker between the error and the skeleton.
 */
const useSteadyError = (queryKey: unknown, { error, data, isFetching }: QueryResult): ApiError | null => {
  const key = JSON.stringify(queryKey)
  const last = useRef<{ readonly key: string; readonly error: ApiError | null }>({ key, error: null })
  if (error) last.current = { key, error: asApiError(error) }
  else if (last.current.key !== key || data !== undefined || !isFetching) last.current = { key, error: null }
  return last.current.error
}

export type Query<T> = {
  /** Undefined until the first answer. */
  readonly data: T | undefined
  /** The refusal of the last attempt. `data` of an earlier one stays. */
  readonly error: ApiError | null
  readonly isLoading: boolean
  readonly refresh: () => void
}

/** Reads a route, and again when an event says so. */
export const useQuery = <const R extends ReadRoute>(
  route: R,
  request: RequestOf<R> & ReadOptions,
): Query<ReplyOf<R>> => {
  const { live = [], enabled = true, every, ...parts } = request
  useTopics(live)
  const options = {
    queryKey: [requestContext.account, route, parts],
    queryFn: ({ signal }: { signal: AbortSignal }) => api(route, parts as unknown as RequestOf<R>, { signal }),
    meta: { live },
    enabled,
    refetchInterval: intervalOf(every),
  }
  const result = useObserver(
    () => new QueryObserver<ReplyOf<R>>(queryClient, options) as never as Observer<typeof options, QueryResult>,
    options,
  )
  const error = useSteadyError(options.queryKey, result)
  return {
    data: result.data as ReplyOf<R> | undefined,
    error,
    isLoading: result.isFetching && result.data === undefined && error === null,
    refresh: () => void result.refetch(),
  }
}

type QueryResult = { data: unknown; error: unknown; isFetching: boolean; refetch(): unknown }
type PagesResult = QueryResult & { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage(): unknown }

/** The rows of a list: the elements of the only array in the reply. */
type RowOf<T> = { [K in keyof T]-?: NonNullable<T[K]> extends readonly (infer E)[] ? E : never }[keyof T]

/** A list by pages. */
export type List<Row> = {
  /** Rows of all pages that are loaded; undefined until the first answer. */
  readonly rows: readonly Row[] | undefined
  readonly error: ApiError | null
  readonly isLoading: boolean
  readonly hasMore: boolean
  readonly isLoadingMore: boolean
  readonly more: () => void
  readonly refresh: () => void
}

type Reply = Readonly<Record<string, unknown>> & { readonly next_cursor?: string }
const rowsOf = (reply: Reply): readonly unknown[] => Object.values(reply).find((value) => Array.isArray(value)) ?? []

type PagesOptions<Row> = ReadOptions & {
  /** Names the list in the cache, after the account. */
  readonly key: readonly unknown[]
  /** Reads a page. @param position `next` of the page before; undefined for the first one */
  readonly load: (position: unknown, signal: AbortSignal) => Promise<{ rows: readonly Row[]; next: unknown }>
}

/** Reads a list page by page, from wherever its rows come. The last page has no `next`. */
export const usePages = <Row>({ key, load, live = [], enabled = true, every }: PagesOptions<Row>): List<Row> => {
  useTopics(live)
  const options = {
    queryKey: [requestContext.account, ...key],
    queryFn: ({ signal, pageParam }: { signal: AbortSignal; pageParam: unknown }) =>
      load(pageParam === '' ? undefined : pageParam, signal),
    initialPageParam: '',
    getNextPageParam: (last: unknown) => (last as { next: unknown }).next || null,
    meta: { live },
    enabled,
    refetchInterval: intervalOf(every),
  }
  const result = useObserver(
    () => new InfiniteQueryObserver(queryClient, options as never) as never as Observer<typeof options, PagesResult>,
    options,
  )
  const error = useSteadyError(options.queryKey, result)
  const pages = (result.data as { pages: { rows: readonly Row[] }[] } | undefined)?.pages
  return {
    rows: pages?.flatMap(({ rows }) => rows),
    error,
    isLoading: result.isFetching && result.data === undefined && error === null,
    hasMore: result.hasNextPage,
    isLoadingMore: result.isFetchingNextPage,
    more: () => void result.fetchNextPage(),
    refresh: () => void result.refetch(),
  }
}

/** Reads a list page by page, by `cursor` and `next_cursor`. */
export const useList = <const R extends ReadRoute>(
  route: R,
  request: RequestOf<R> & ReadOptions,
): List<RowOf<ReplyOf<R>>> => {
  type Row = RowOf<ReplyOf<R>>
  const { live, enabled, every, ...parts } = request
  const first = parts as { query?: object }
  return usePages<Row>({
    key: [route, parts, 'pages'],
    load: async (cursor, signal) => {
      const paged = cursor ? { ...first, query: { ...first.query, cursor } } : first
      // Every reply is an object; lists by cursor have `next_cursor`.
      const reply = (await api(route, paged as unknown as RequestOf<R>, { signal })) as Reply
      return { rows: rowsOf(reply) as Row[], next: reply.next_cursor }
    },
    ...(live === undefined ? {} : { live }),
    ...(enabled === undefined ? {} : { enabled }),
    ...(every === undefined ? {} : { every }),
  })
}

/** An act of a person: a request that changes something. */
export type Act<R extends ActRoute> = {
  /** Resolves with the reply, or undefined after a refusal, which is then in `error`. */
  (request: RequestOf<R>): Promise<ReplyOf<R> | undefined>
  readonly isPending: boolean
  readonly error: ApiError | null
  /** Forgets the error, such as when a dialog opens again. */
  readonly reset: () => void
}

type ActOptions<R extends ActRoute> = {
  /** Runs after success, before the queries of `stale` are asked for again. */
  readonly after?: (reply: ReplyOf<R>, request: RequestOf<R>) => void
  /** Routes whose answers the act changes. */
  readonly stale?: readonly ReadRoute[]
  /** Runs after a refusal. Default: `error` alone shows it. */
  readonly onError?: (error: ApiError) => void
}

/**
 * Makes an act. While its outcome is unknown, such as after a lost connection, the same request keeps its
 * Idempotency-Key: pressing the button again cannot repeat the effect.
 */
export const useAct = <const R extends ActRoute>(route: R, options: ActOptions<R> = {}): Act<R> => {
  const [state, setState] = useState<{ isPending: boolean; error: ApiError | null }>({ isPending: false, error: null })
  const open = useRef<{ request: string; key: string } | null>(null)
  const latest = useRef(options)
  latest.current = options
  const act = async (request: RequestOf<R>): Promise<ReplyOf<R> | undefined> => {
    const text = JSON.stringify(request)
    if (open.current?.request !== text) open.current = { request: text, key: newIdempotencyKey() }
    setState({ isPending: true, error: null })
    try {
      const key = route.startsWith('POST ') ? { idempotencyKey: open.current.key } : {}
      const reply = await api(route, request, key)
      open.current = null
      setState({ isPending: false, error: null })
      const { after, stale = [] } = latest.current
      after?.(reply, request)
      for (const name of stale)
        void queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[1] === name })
      return reply
    } catch (thrown) {
      const error = asApiError(thrown)
      if (!isUncertain(error)) open.current = null
      setState({ isPending: false, error })
      latest.current.onError?.(error)
      return undefined
    }
  }
  return Object.assign(act, { ...state, reset: () => setState({ isPending: false, error: null }) })
}
