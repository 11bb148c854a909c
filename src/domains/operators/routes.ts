import { ok, route } from '../../platform/http/endpoint.ts'
import { conflict, notFound } from '../../platform/http/problem.ts'
import { iso } from '../../platform/lib/clock.ts'
import { parse, print } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import * as c from './contract.ts'
import { issueOperatorKey } from './ops.ts'
import * as store from './store.ts'

const audited = ({ label, role, last_four }: Pick<store.OperatorKeyRow, 'label' | 'role' | 'last_four'>) => ({
  label,
  role,
  last_four,
})

export const operatorRoutes = ({ db, changes }: Services) => [
  route(c.createOperatorKey, async ({ body, tx, audit }) => {
    const { uuid, label, role, key } = await issueOperatorKey(tx, body.label, { role: body.role ?? 'operator' })
    await audit(tx, { target: uuid, after: audited({ label, role, last_four: key.slice(-4) }) })
    return ok({ uuid, label, role, key })
  }),

  route(c.listOperatorKeys, async ({ request }) => {
    const rows = await store.all(db)
    const keys = rows.map((row) => ({
      uuid: print('KEY', row.id),
      ...audited(row),
      created_at: iso(row.created_at),
      current: row.id === request.operator?.id,
    }))
    return ok({ keys })
  }),

  route(c.revokeOperatorKey, async ({ params, request, tx, audit }) => {
    const id = parse('KEY', params.key_uuid)
    const keys = await store.lockAll(tx)
    const row = keys.find((one) => one.id === id) ?? notFound(`No operator key ${params.key_uuid}`)
    if (row.id === request.operator?.id)
      conflict('You cannot revoke the key used for this request: revoke it with another operator key', 'key_in_use')
    const isLast = row.role === 'operator' && keys.filter(({ role }) => role === 'operator').length === 1
    if (isLast)
      conflict(
        'This is the last key with the role operator: create another one before you revoke it',
        'last_operator_key',
      )
    await store.revoke(tx, row.id)
    await audit(tx, { before: audited(row) })
    await changes.invalidate(tx, 'accounts')
    return ok({})
  }),
]
