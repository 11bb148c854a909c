import type { FastifyInstance } from 'fastify'
import { Problem } from '../http/problem.ts'
import { parse } from '../lib/id.ts'
import type { Parts } from '../parts.ts'
import { hastenOrder } from './ordering.ts'

const media = 'application/x-www-form-urlencoded'
const path = '/callbacks/didww/:connection'

/** The same for a connection that is not there: nobody learns which ones are. */
const refused = () => new Problem('unauthorized', 'The signature is not the supplier’s', 'wrong_signature')

/**
 * Where suppliers tell that an order has ended: no part of the interface for customers, and so in no contract. What they
 * tell is not believed: the order is looked at, at once instead of a little later.
 */
export const installCallbacks = async (app: FastifyInstance, parts: Parts): Promise<void> => {
  await app.register(async (scope) => {
    scope.addContentTypeParser(media, { parseAs: 'string', bodyLimit: 16_384 }, (_request, body, done) =>
      done(null, body),
    )
    scope.post<{ Params: { connection: string } }>(path, async ({ params, body, headers }) => {
      const id = parse('CNX', params.connection)
      const found = id === null ? null : await parts.suppliers.of(id)
      const told = new Map(new URLSearchParams(typeof body === 'string' ? body : ''))
      // The address that the supplier was given, whatever proxies have made of it.
      const url = `${parts.publicUrl()}/callbacks/didww/${params.connection}`
      const signature = headers['x-didww-signature']
      if (!found?.supplier.isGenuine(url, told, typeof signature === 'string' ? signature : '')) throw refused()
      const order = told.get('type') === 'orders' ? told.get('id') : undefined
      if (order !== undefined) await hastenOrder(parts, found.id, order)
      return { success: true }
    })
  })
}
