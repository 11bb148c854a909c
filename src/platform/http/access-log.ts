import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { print } from '../lib/id.ts'

/** Returns the query parameters of the contract. Strings, such as a number or a search, are masked. */
const maskedQuery = (request: FastifyRequest): Record<string, unknown> => {
  const schema: unknown = request.routeOptions.config.contract?.query
  const known = schema instanceof Object && 'properties' in schema ? Object(schema.properties) : {}
  const parameters = Object.entries(request.query ?? {})
  return Object.fromEntries(
    parameters
      .filter(([name]) => Object.hasOwn(known, name))
      .map(([name, value]) => [name, typeof value === 'number' || typeof value === 'boolean' ? value : '•••']),
  )
}

/** Logs every request at level debug, by route pattern: never its path, which may hold numbers, nor its body. */
export const installAccessLog = (app: FastifyInstance, log: Logger): void => {
  app.addHook('onSend', (request, reply, payload, done) => {
    // The level may change while the server runs.
    if (!log.isLevelEnabled('debug')) return done(null, payload)
    log.debug(
      {
        method: request.method,
        route: request.routeOptions.url ?? null,
        status: reply.statusCode,
        ms: Math.round((performance.now() - request.began) * 10) / 10,
        request_id: request.id,
        account: request.account ? print('ACC', request.account.id) : null,
        query: maskedQuery(request),
      },
      'http: request',
    )
    done(null, payload)
  })
}
