import type { FastifyRequest } from 'fastify'
import { ok, serve } from '../http/endpoint.ts'
import { conflict, notFound } from '../http/problem.ts'
import { iso } from '../lib/clock.ts'
import { parse, print } from '../lib/id.ts'
import { keyHash } from '../lib/secret.ts'
import type { Parts } from '../parts.ts'
import * as c from './contract.ts'
import { issueOperatorKey } from './ops.ts'
import * as store from './store.ts'

/** Whether the request came with that key. */
const isOf = ({ headers }: FastifyRequest, { hash }: store.OperatorKeyRow) =>
  keyHash(String(headers['x-operator-key'])).equals(hash)

export const operatorRoutes = ({ db, changes }: Parts) => [
  serve(c.createOperatorKey, async ({ body, tx }) => ok(await issueOperatorKey(tx, body.label))),

  serve(c.listOperatorKeys, async ({ request }) => {
    const rows = await store.all(db)
    const keys = rows.map((row) => ({
      uuid: print('KEY', row.id),
      label: row.label,
      last_four: row.last_four,
      created_at: iso(row.created_at),
      current: isOf(request, row),
    }))
    return ok({ keys })
  }),

  // Whoever revokes keys holds one that works: nobody can lock everybody out.
  serve(c.revokeOperatorKey, async ({ params, request, tx }) => {
    const unknown = () => notFound(`No operator key ${params.key_uuid}`)
    const row = (await store.find(tx, parse('KEY', params.key_uuid) ?? unknown())) ?? unknown()
    if (isOf(request, row)) conflict('This request came with that key: revoke it with another one', 'key_in_use')
    await store.revoke(tx, row.id)
    await changes.announce(tx, 'accounts')
    return ok({})
  }),
]
