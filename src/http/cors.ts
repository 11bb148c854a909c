import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'

/** Which pages of other origins may read the answers of endpoints for browsers (Fetch, 3.2). What those take is a token in a
 *  header, never a cookie: so no credentials are allowed. */
export type Cors = {
  /** Whether pages of an origin are let in. */
  admits(origin: string): boolean
  allow: onRequestHookHandler
  /** Answers the question that a browser asks before. */
  preflight(methods: readonly string[]): (request: FastifyRequest, reply: FastifyReply) => void
}

const hour = 3600
const readable = 'retry-after, x-request-id, trunkline-version, ratelimit, ratelimit-policy'

/** A page that somebody serves to themselves, at whatever port. */
const ofThisMachine = /^https?:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/

/**
 * @param origins such as `https://app.example.com`; `*` for all
 * @param isSandbox pages of this machine may too: a first one is tried there
 */
export const makeCors = (origins: readonly string[], isSandbox: boolean): Cors => {
  const admits = (origin: string): boolean =>
    origins.includes(origin) || origins.includes('*') || (isSandbox && ofThisMachine.test(origin))
  const admit = ({ headers: { origin } }: FastifyRequest, reply: FastifyReply): boolean => {
    reply.header('vary', 'origin')
    const isKnown = origin !== undefined && admits(origin)
    if (isKnown) reply.header('access-control-allow-origin', origin)
    return isKnown
  }
  return {
    admits,
    allow: (request, reply, done) => {
      if (admit(request, reply)) reply.header('access-control-expose-headers', readable)
      done()
    },
    preflight: (methods) => (request, reply) => {
      if (admit(request, reply))
        reply
          .header('access-control-allow-methods', methods.join(', '))
          .header('access-control-allow-headers', 'authorization, content-type')
          .header('access-control-max-age', hour)
      void reply.code(204).send()
    },
  }
}
