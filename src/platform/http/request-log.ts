import type { AccountKey } from './auth.ts'
import type { Contract } from './endpoint.ts'

/** A finished request that came with an API key. */
export type FinishedRequest = {
  readonly key: AccountKey
  readonly requestId: string
  readonly method: string
  /** Pattern of the path: never the path itself, which may hold numbers. */
  readonly route: string
  readonly status: number
  /** Null for a success. */
  readonly errorCode: string | null
  /** Milliseconds. */
  readonly elapsed: number
}

/** Records requests of accounts, in memory: no request waits for its record. */
export type RequestLog = {
  /** Writes what is recorded. */
  flush(): Promise<void>
  /** True if a successful request of this account is to be recorded now; takes its place in the sample. */
  isSampled(account: string): boolean
  record(request: FinishedRequest): void
}

/** Returns the function that records the responses of an endpoint: refusals, and a sample of the others. */
export const makeRequestLogger =
  (log: RequestLog, { method, url: route }: Pick<Contract, 'method' | 'url'>) =>
  (key: AccountKey, requestId: string, status: number, errorCode: string | null, elapsed: number): void => {
    if (status < 400 && !log.isSampled(key.account.id)) return
    log.record({ key, requestId, method, route, status, errorCode, elapsed })
  }
