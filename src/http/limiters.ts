import type { FastifyReply, FastifyRequest } from 'fastify'
import { type FairLimiter, makeFairLimiter } from '../lib/fair-limiter.ts'
import { Problem } from './problem.ts'

const mebibyte = 1024 * 1024

/** How fast a client must send a body, averaged over a window; the first window begins after the grace. */
export type Pace = {
  readonly bytesPerSecond: number
  readonly graceMs: number
  readonly windowMs: number
  /** Longest time of a whole upload; null for a stream. */
  readonly longestMs: number
}

/** What requests share within a process, by account. The table in docs/decisions/0030 says why each bound is what it is. */
export type RequestLimiters = {
  /** Requests that use database connections for milliseconds. */
  readonly database: FairLimiter
  /** Requests with an Idempotency-Key that hold a connection while they wait for a network or supplier. */
  readonly held: FairLimiter
  /** Requests that wait for a network, supplier or name server, and hold no connection. */
  readonly outside: FairLimiter
  /** Bytes of uploaded files in memory. */
  readonly uploads: FairLimiter
  /** Bytes of other large bodies in memory. */
  readonly bodies: FairLimiter
  /** Streamed imports. */
  readonly streams: FairLimiter
  /** Files, recordings and exports that are being sent. */
  readonly downloads: FairLimiter
  readonly pace: Pace
}

const busy = (code: string, what: string) => () =>
  new Problem('unavailable', `${what}: try again in a second`, code, { 'retry-after': '1' })

const underWay = busy('too_many_under_way', 'Too many requests of the account are under way')
const uploading = busy('too_many_uploads', 'Too many bytes of the account are being uploaded')
export const tooManyStreams = busy('too_many_imports', 'Too many imports are under way')
const tooManyDownloads = busy('too_many_downloads', 'Too many downloads of the account are under way')

/** @param connections of the database pool: at most 13 of 16 serve requests, so that background work finds one too */
export const makeRequestLimiters = (connections: number, pace: Partial<Pace> = {}): RequestLimiters => {
  const database = Math.max(2, Math.floor((connections * 9) / 16))
  const held = Math.max(2, Math.floor(connections / 4))
  return {
    database: makeFairLimiter({
      perKey: Math.ceil((database * 2) / 3),
      total: database,
      queue: { perKey: 4_000, total: 10_000 },
      full: underWay,
    }),
    held: makeFairLimiter({
      perKey: Math.floor(held / 2),
      total: held,
      queue: { perKey: 200, total: 2_000 },
      full: underWay,
    }),
    outside: makeFairLimiter({
      perKey: 64,
      total: 1_024,
      queue: { perKey: 1_000, total: 10_000 },
      full: underWay,
    }),
    uploads: makeFairLimiter({
      perKey: 32 * mebibyte,
      total: 128 * mebibyte,
      queue: { perKey: 4, total: 256 },
      full: uploading,
    }),
    bodies: makeFairLimiter({
      perKey: 16 * mebibyte,
      total: 64 * mebibyte,
      queue: { perKey: 1_000, total: 4_000 },
      full: uploading,
    }),
    streams: makeFairLimiter({ perKey: 4, total: 64 }),
    downloads: makeFairLimiter({ perKey: 16, total: 512 }),
    pace: { bytesPerSecond: 16 * 1024, graceMs: 5_000, windowMs: 5_000, longestMs: 120_000, ...pace },
  }
}

/** Operators share one key: their requests are few, and one tenant's greed is not theirs. */
const operators = 'operators'

export const keyOf = ({ account }: Pick<FastifyRequest, 'account'>): string => account?.id ?? operators

const gone = () => new Problem('timedOut', 'The connection was closed before there was room for the request')

/** Waits for room until the client goes away. */
export const acquireFor = async (limiter: FairLimiter, key: string, reply: FastifyReply, weight = 1): Promise<void> => {
  const control = new AbortController()
  const leave = () => control.abort(gone())
  reply.raw.once('close', leave)
  try {
    await limiter.acquire(key, { signal: control.signal, weight })
  } finally {
    reply.raw.off('close', leave)
  }
}

/** Runs a request's work in its account's turn. Costs a listener only where it has to wait. */
export const inTurn = async <T>(
  limiter: FairLimiter,
  key: string,
  reply: FastifyReply,
  work: () => T | Promise<T>,
): Promise<T> => {
  if (!limiter.tryAcquire(key)) await acquireFor(limiter, key, reply)
  try {
    return await work()
  } finally {
    limiter.release(key)
  }
}

/** Calls the effect once, when a reply was sent or its connection has closed. */
export const whenOver = (reply: FastifyReply, effect: () => void): void => {
  let isOver = false
  const end = () => {
    if (isOver) return
    isOver = true
    effect()
  }
  if (reply.raw.destroyed || reply.raw.writableFinished) end()
  else reply.raw.once('finish', end).once('close', end)
}

/** Counts a download until its last byte was sent. @throws the 503 Problem when the account has its share under way */
export const holdDownload = ({ downloads }: RequestLimiters, account: string, reply: FastifyReply): void => {
  if (!downloads.tryAcquire(account)) throw tooManyDownloads()
  whenOver(reply, () => downloads.release(account))
}
