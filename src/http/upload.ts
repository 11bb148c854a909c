import type { FastifyReply, FastifyRequest, preParsingHookHandler } from 'fastify'
import type { FairLimiter } from '../lib/fair-limiter.ts'
import { acquireFor, keyOf, type Pace, type RequestLimiters, tooManyStreams, whenOver } from './limiters.ts'
import { Problem } from './problem.ts'
import { bePatient } from './socket.ts'

/** Types of the files that endpoints take (contract.media). */
export const fileTypes = ['application/pdf', 'image/jpeg', 'image/png']

const sampleMs = 500

const tooSlow = (pace: Pace) =>
  new Problem(
    'timedOut',
    `The body came slower than ${pace.bytesPerSecond} bytes a second: send it faster`,
    'body_too_slow',
    {
      connection: 'close',
    },
  )

/**
 * Refuses a body that comes too slowly (408) and cuts its connection. Only time in which the client is waited for counts: a
 * buffer that holds bytes says that this side is the slow one.
 */
const watchPace = (request: FastifyRequest, reply: FastifyReply, pace: Pace): void => {
  const { raw } = request
  const { socket } = raw
  const every = Math.min(sampleMs, pace.windowMs / 2)
  let waited = -pace.graceMs
  let before = socket.bytesRead
  const timer = setInterval(() => {
    if (raw.complete || raw.readableEnded || raw.destroyed) return clearInterval(timer)
    if (raw.readableLength > 0) return
    waited += every
    // The window begins where the grace ends.
    if (waited <= 0) before = socket.bytesRead
    if (waited < pace.windowMs) return
    if ((socket.bytesRead - before) * 1_000 >= pace.bytesPerSecond * waited) {
      waited = 0
      before = socket.bytesRead
      return
    }
    clearInterval(timer)
    // Node ends the connection once the refusal is sent, and then no longer tells the reader of the body.
    socket.once('close', () => raw.destroy(tooSlow(pace)))
    void reply.send(tooSlow(pace))
  }, every)
  timer.unref()
  whenOver(reply, () => clearInterval(timer))
}

/** Bytes that a body may come to: what it announces, or else the limit of its endpoint. */
const sizeOf = (request: FastifyRequest): number => {
  const limit = request.routeOptions.bodyLimit
  return Math.min(Number(request.headers['content-length']) || limit, limit)
}

const hold = (
  limiter: FairLimiter,
  size: number,
  request: FastifyRequest,
  reply: FastifyReply,
  then: (error?: Error) => void,
): void => {
  const key = keyOf(request)
  const held = () => {
    whenOver(reply, () => limiter.release(key, size))
    then()
  }
  if (limiter.tryAcquire(key, size)) held()
  else acquireFor(limiter, key, reply, size).then(held, then)
}

/** Waits for the account's share of the memory for files before a file is read, and holds it until it is answered for. */
export const holdUpload =
  ({ uploads, pace }: RequestLimiters): preParsingHookHandler =>
  (request, reply, payload, done) => {
    bePatient(request.raw.socket)
    hold(uploads, sizeOf(request), request, reply, (error) => {
      if (error) return done(error)
      watchPace(request, reply, pace)
      const timer = setTimeout(() => request.raw.destroy(), pace.longestMs).unref()
      whenOver(reply, () => clearTimeout(timer))
      done(null, payload)
    })
  }

/** Bodies up to this size are not counted: as many as there are connections come to 160 MiB. */
const small = 16 * 1024

/** The same for a large body that is no file; Node itself ends one that takes more than 15 s. */
export const holdBody =
  ({ bodies }: RequestLimiters): preParsingHookHandler =>
  (request, reply, payload, done) => {
    const { headers } = request
    const size = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : sizeOf(request)
    if (size <= small) return done(null, payload)
    hold(bodies, Math.min(size, sizeOf(request)), request, reply, (error) =>
      error ? done(error) : done(null, payload),
    )
  }

/** Counts a streamed body until it is answered for. */
export const holdStream =
  ({ streams, pace }: RequestLimiters): preParsingHookHandler =>
  (request, reply, payload, done) => {
    const key = keyOf(request)
    if (!streams.tryAcquire(key)) return done(tooManyStreams())
    whenOver(reply, () => streams.release(key))
    watchPace(request, reply, pace)
    done(null, payload)
  }

/** The type of a body, without its parameters. */
export const typeOf = ({ headers }: FastifyRequest): string =>
  headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? ''

/** That a body is of another type than its endpoint takes. */
export const wrongType = (request: FastifyRequest): Problem => {
  const taken = request.routeOptions.config?.contract?.media ?? ['application/json']
  return new Problem('mediaType', `content-type must be ${taken.join(' or ')}, and is ${typeOf(request)}`)
}

/** A file as it came, where the endpoint takes files of that type. */
export const takeFile = (request: FastifyRequest, body: Buffer, done: (error: Error | null, body?: Buffer) => void) => {
  if (request.routeOptions.config.contract?.media?.includes(typeOf(request))) return done(null, body)
  done(wrongType(request))
}
