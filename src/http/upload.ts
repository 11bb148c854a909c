import type { FastifyRequest, preParsingHookHandler } from 'fastify'
import { Problem } from './problem.ts'
import { bePatient } from './socket.ts'

/** Types of the files that endpoints take (contract.media). */
export const fileTypes = ['application/pdf', 'image/jpeg', 'image/png']

/** Bytes of files that are in memory at a time, over all requests. */
const most = 128 * 1024 * 1024
let held = 0

/** Milliseconds that a file may take: 16 MiB at 1.2 Mbit/s. Then the connection is cut, and the room is free again. */
const longest = 120_000

/** Makes sure that there is room in memory for a file before it is read, and until it is answered for. */
export const holdRoom: preParsingHookHandler = (request, reply, payload, done) => {
  const limit = request.routeOptions.bodyLimit
  const size = Math.min(Number(request.headers['content-length']) || limit, limit)
  if (held + size > most) {
    const text = 'Too many files are on their way at this moment: try again in a second'
    return done(new Problem('unavailable', text, 'too_many_uploads', { 'retry-after': '1' }))
  }
  held += size
  bePatient(request.raw.socket)
  const timer = setTimeout(() => request.raw.destroy(), longest).unref()
  let isHeld = true
  const release = () => {
    clearTimeout(timer)
    if (isHeld) held -= size
    isHeld = false
  }
  reply.raw.once('finish', release).once('close', release)
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
