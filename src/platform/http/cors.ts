import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { isLoopbackHost } from '../lib/address-list.ts'
import { parseOrigin } from './origin.ts'

/** Cross-origin access to endpoints for browsers (Fetch, 3.2). They take a token in a header, never a cookie, so
 *  credentials are not allowed. */
export type Cors = {
  /** Reports whether pages of an origin have access. */
  admits(origin: string): boolean
  allow: onRequestHookHandler
  /** Answers the preflight request of a browser. */
  preflight(methods: readonly string[]): (request: FastifyRequest, reply: FastifyReply) => void
}

const hour = 3600
const readable = 'retry-after, x-request-id, trunkline-version, ratelimit, ratelimit-policy'

const isOfThisMachine = (origin: string): boolean => {
  const url = parseOrigin(origin)
  return url !== null && /^https?:$/.test(url.protocol) && isLoopbackHost(url.hostname)
}

/**
 * @param origins such as `https://app.example.com`; `*` for all
 * @param isSandbox true to also admit pages of this machine, from any port, for development
 */
export const makeCors = (origins: readonly string[], isSandbox: boolean): Cors => {
  const admits = (origin: string): boolean =>
    origins.includes(origin) || origins.includes('*') || (isSandbox && isOfThisMachine(origin))
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
