import type { FastifyInstance } from 'fastify'
import { errorCodesOf } from '../src/platform/http/error-codes.ts'
import { problems } from '../src/platform/http/problem.ts'

const statuses = new Map<string, number>(Object.entries(problems).map(([name, { status }]) => [name, status]))

/** Replaces a refusal whose code its contract does not list by a 599 that says so, which no test expects. */
export const watchErrorCodes = (app: FastifyInstance): void => {
  app.addHook('onSend', (request, reply, payload, done) => {
    const { contract } = request.routeOptions.config
    const code = typeof payload === 'string' ? /"error_code":"(\w+)"/.exec(payload)?.[1] : undefined
    if (!contract || reply.statusCode < 400 || code === undefined) return done(null, payload)
    const codes = Object.entries(errorCodesOf(contract)).filter(([name]) => statuses.get(name) === reply.statusCode)
    const listed = codes.flatMap(([, names]) => names)
    if (listed.length === 0 || listed.includes(code)) return done(null, payload)
    const error_message = `The contract ${contract.id} lists no ${code} with ${reply.statusCode}`
    reply.code(599)
    done(null, JSON.stringify({ error: true, error_message, error_code: 'unlisted_error_code' }))
  })
}
