import type { FastifyInstance } from 'fastify'
import { parse } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { refusals } from '../refusals.ts'
import { promoteOrder } from './supplier-order-job.ts'

const formMediaType = 'application/x-www-form-urlencoded'
const path = '/callbacks/didww/:connection'

/**
 * Receives suppliers' callbacks about completed orders. They are not part of the customer interface and have no
 * contract. The callback's content is not trusted: it only makes the order job query the supplier at once.
 */
export const installSupplierCallbacks = async (app: FastifyInstance, parts: Services): Promise<void> => {
  await app.register(async (scope) => {
    scope.addContentTypeParser(formMediaType, { parseAs: 'string', bodyLimit: 16_384 }, (_request, body, done) =>
      done(null, body),
    )
    scope.post<{ Params: { connection: string } }>(path, async ({ params, body, headers }) => {
      const id = parse('CNX', params.connection)
      const found = id === null ? null : await parts.suppliers.of(id)
      const parameters = new Map(new URLSearchParams(typeof body === 'string' ? body : ''))
      // The address given to the supplier, whatever proxies have made of it.
      const url = `${parts.publicUrl()}/callbacks/didww/${params.connection}`
      const signature = headers['x-didww-signature']
      if (!found?.supplier.isGenuine(url, parameters, typeof signature === 'string' ? signature : ''))
        throw refusals.wrongSignature()
      const order = parameters.get('type') === 'orders' ? parameters.get('id') : undefined
      if (order !== undefined) await promoteOrder(parts, found.id, order)
      return { success: true }
    })
  })
}
