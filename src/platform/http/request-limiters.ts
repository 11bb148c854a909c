import type { FastifyReply, FastifyRequest } from 'fastify'
import { peerKeyOf } from '../lib/address-list.ts'
import { type FairLimiter, makeFairLimiter } from '../lib/fair-limiter.ts'
import { refusals } from './refusals.ts'

const mebibyte = 1024 * 1024

/** Minimum upload rate of a client, averaged over a window. The first window begins after the grace period. */
export type UploadRate = {
  readonly bytesPerSecond: number
  readonly graceMs: number
  readonly windowMs: number
  /** Maximum duration of an upload; streams have none. */
  readonly maxMs: number
}

/** Per-account limiters of resources that requests share in a process. docs/decisions/0030 gives the reasons. */
export type RequestLimiters = {
  /** Requests that use database connections for milliseconds. */
  readonly database: FairLimiter
  /** Requests with an Idempotency-Key that hold a connection while they wait for a network or supplier. */
  readonly externalKeyed: FairLimiter
  /** Requests that wait for a network, supplier or name server, and hold no connection. */
  readonly external: FairLimiter
  /** Bytes of uploaded files in memory. */
  readonly uploads: FairLimiter
  /** Bytes of other large bodies in memory. */
  readonly bodies: FairLimiter
  /** Streamed imports. */
  readonly streams: FairLimiter
  /** Downloads under way: files, recordings and exports. */
  readonly downloads: FairLimiter
  /** Lists that are being sent as CSV. */
  readonly exports: FairLimiter
  readonly uploadRate: UploadRate
}

/** @param connections size of the database pool: at most 13 of 16 serve requests, the rest is for background work */
export const makeRequestLimiters = (connections: number, pace: Partial<UploadRate> = {}): RequestLimiters => {
  const database = Math.max(2, Math.floor((connections * 9) / 16))
  const reserved = Math.max(2, Math.floor(connections / 4))
  return {
    database: makeFairLimiter({
      perKey: Math.ceil((database * 2) / 3),
      total: database,
      queue: { perKey: 4_000, total: 10_000 },
      full: refusals.tooManyUnderWay,
    }),
    externalKeyed: makeFairLimiter({
      perKey: Math.floor(reserved / 2),
      total: reserved,
      queue: { perKey: 200, total: 2_000 },
      full: refusals.tooManyUnderWay,
    }),
    external: makeFairLimiter({
      perKey: 64,
      total: 1_024,
      queue: { perKey: 1_000, total: 10_000 },
      full: refusals.tooManyUnderWay,
    }),
    uploads: makeFairLimiter({
      perKey: 32 * mebibyte,
      total: 128 * mebibyte,
      queue: { perKey: 4, total: 256 },
      full: refusals.tooManyUploads,
    }),
    bodies: makeFairLimiter({
      perKey: 16 * mebibyte,
      total: 64 * mebibyte,
      queue: { perKey: 1_000, total: 4_000 },
      full: refusals.tooManyUploads,
    }),
    streams: makeFairLimiter({ perKey: 4, total: 64 }),
    downloads: makeFairLimiter({ perKey: 16, total: 512 }),
    exports: makeFairLimiter({ perKey: 1, total: 64 }),
    uploadRate: { bytesPerSecond: 16 * 1024, graceMs: 5_000, windowMs: 5_000, maxMs: 120_000, ...pace },
  }
}

/** All operators share one limiter key: their requests are few. */
const operators = 'operators'

type Requester = Pick<FastifyRequest, 'account' | 'operator' | 'session' | 'ip'>

/** Returns whose share a request takes: that of an account, the operators, or without either that of an address. */
export const limiterKeyOf = ({ account, operator, session, ip }: Requester): string =>
  account?.id ?? (operator ? operators : (session?.accounts[0]?.account.id ?? `address ${peerKeyOf(ip)}`))

/** Acquires capacity; the wait ends when the client disconnects. */
export const acquireWhileConnected = async (
  limiter: FairLimiter,
  key: string,
  reply: FastifyReply,
  weight = 1,
): Promise<void> => {
  const control = new AbortController()
  const leave = () => control.abort(refusals.disconnected())
  reply.raw.once('close', leave)
  try {
    await limiter.acquire(key, { signal: control.signal, weight })
  } finally {
    reply.raw.off('close', leave)
  }
}

/** Runs a request's work in its account's turn. Adds a listener only if it has to wait. */
export const runInTurn = async <T>(
  limiter: FairLimiter,
  key: string,
  reply: FastifyReply,
  work: () => T | Promise<T>,
): Promise<T> => {
  if (!limiter.tryAcquire(key)) await acquireWhileConnected(limiter, key, reply)
  try {
    return await work()
  } finally {
    limiter.release(key)
  }
}

/** Calls `effect` once, when a reply was sent or its connection closed. */
export const onReplyEnd = (reply: FastifyReply, effect: () => void): void => {
  let isOver = false
  const end = () => {
    if (isOver) return
    isOver = true
    effect()
  }
  if (reply.raw.destroyed || reply.raw.writableFinished) end()
  else reply.raw.once('finish', end).once('close', end)
}

/** Counts a download until its last byte is sent. @throws the 503 Problem if the account has reached its limit */
export const countDownload = ({ downloads }: RequestLimiters, account: string, reply: FastifyReply): void => {
  if (!downloads.tryAcquire(account)) throw refusals.tooManyDownloads()
  onReplyEnd(reply, () => downloads.release(account))
}
