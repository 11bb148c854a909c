import type { FastifyReply, FastifyRequest, preParsingHookHandler } from 'fastify'
import type { FairLimiter } from '../lib/fair-limiter.ts'
import { mediaTypeOf } from '../lib/media-type.ts'
import { formType, multipartType } from './form-body.ts'
import { uncountedUploadBytes, uploadSampleMs } from './limits.ts'
import type { Problem } from './problem.ts'
import { refusals } from './refusals.ts'
import {
  acquireWhileConnected,
  limiterKeyOf,
  onReplyEnd,
  type RequestLimiters,
  type UploadRate,
} from './request-limiters.ts'
import { extendTimeout } from './socket.ts'

/** Media types of all file uploads (contract.media). */
export const fileTypes = ['application/pdf', 'image/jpeg', 'image/png']

/**
 * Refuses a body that arrives too slowly (408) and closes its connection. Time counts only while the receive buffer is
 * empty: buffered bytes mean that the server is the slow side.
 */
const enforceUploadRate = (request: FastifyRequest, reply: FastifyReply, pace: UploadRate): void => {
  const { raw } = request
  const { socket } = raw
  const every = Math.min(uploadSampleMs, pace.windowMs / 2)
  let waited = -pace.graceMs
  let before = socket.bytesRead
  const timer = setInterval(() => {
    if (raw.complete || raw.readableEnded || raw.destroyed) return clearInterval(timer)
    if (raw.readableLength > 0) return
    waited += every
    // The window begins when the grace period ends.
    if (waited <= 0) before = socket.bytesRead
    if (waited < pace.windowMs) return
    if ((socket.bytesRead - before) * 1_000 >= pace.bytesPerSecond * waited) {
      waited = 0
      before = socket.bytesRead
      return
    }
    clearInterval(timer)
    // After the refusal Node closes the connection without an error to the reader of the body.
    socket.once('close', () => raw.destroy(refusals.bodyTooSlow(pace.bytesPerSecond)))
    void reply.send(refusals.bodyTooSlow(pace.bytesPerSecond))
  }, every)
  timer.unref()
  onReplyEnd(reply, () => clearInterval(timer))
}

/** Returns the maximum size of a body: its content-length, else the limit of its endpoint. */
const sizeOf = (request: FastifyRequest): number => {
  const limit = request.routeOptions.bodyLimit
  return Math.min(Number(request.headers['content-length']) || limit, limit)
}

const acquireUntilReply = (
  limiter: FairLimiter,
  size: number,
  request: FastifyRequest,
  reply: FastifyReply,
  then: (error?: Error) => void,
): void => {
  const key = limiterKeyOf(request)
  const proceed = () => {
    onReplyEnd(reply, () => limiter.release(key, size))
    then()
  }
  if (limiter.tryAcquire(key, size)) proceed()
  else acquireWhileConnected(limiter, key, reply, size).then(proceed, then)
}

/** Reserves upload memory of the account before a file is read, and releases it after the response. */
export const limitUpload =
  ({ uploads, uploadRate }: RequestLimiters): preParsingHookHandler =>
  (request, reply, payload, done) => {
    onReplyEnd(reply, extendTimeout(request.raw.socket))
    acquireUntilReply(uploads, sizeOf(request), request, reply, (error) => {
      if (error) return done(error)
      enforceUploadRate(request, reply, uploadRate)
      const timer = setTimeout(() => request.raw.destroy(), uploadRate.maxMs).unref()
      onReplyEnd(reply, () => clearTimeout(timer))
      done(null, payload)
    })
  }

/** Reserves memory for a large body other than a file. Node itself ends bodies that take longer than the request timeout. */
export const limitBody =
  ({ bodies }: RequestLimiters): preParsingHookHandler =>
  (request, reply, payload, done) => {
    const { headers } = request
    const size = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : sizeOf(request)
    if (size <= uncountedUploadBytes) return done(null, payload)
    acquireUntilReply(bodies, Math.min(size, sizeOf(request)), request, reply, (error) =>
      error ? done(error) : done(null, payload),
    )
  }

/** Counts a streamed body until the response is sent, without the request timeout. */
export const limitStream =
  ({ streams, uploadRate }: RequestLimiters): preParsingHookHandler =>
  (request, reply, payload, done) => {
    const key = limiterKeyOf(request)
    if (!streams.tryAcquire(key)) return done(refusals.tooManyImports())
    onReplyEnd(reply, () => streams.release(key))
    onReplyEnd(reply, extendTimeout(request.raw.socket))
    enforceUploadRate(request, reply, uploadRate)
    done(null, payload)
  }

/** Returns the charset that a request states, if any. */
export const charsetOf = ({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined =>
  /;\s*charset="?([\w.:+-]{1,40})/i.exec(headers['content-type'] ?? '')?.[1]

/** Returns the refusal of a body whose type the endpoint does not accept. */
export const unsupportedMediaType = (request: FastifyRequest): Problem => {
  const contract = request.routeOptions.config?.contract
  const taken = contract?.media ?? (contract?.form ? [formType, multipartType] : ['application/json'])
  return refusals.unsupportedMediaType(taken.join(' or '), mediaTypeOf(request.headers['content-type']))
}

/** Passes a file on if the endpoint accepts its type. */
export const parseFile = (
  request: FastifyRequest,
  body: Buffer,
  done: (error: Error | null, body?: Buffer) => void,
) => {
  if (request.routeOptions.config.contract?.media?.includes(mediaTypeOf(request.headers['content-type'])))
    return done(null, body)
  done(unsupportedMediaType(request))
}
