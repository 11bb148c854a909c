import { assertMayMake } from '../../platform/http/credential-strength.ts'
import { ok, route } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/problem.ts'
import { iso } from '../../platform/lib/clock.ts'
import { parse, print } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import * as c from './contract.ts'
import { issueOperatorKey } from './ops.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

const audited = ({ label, role, last_four }: Pick<store.OperatorKeyRow, 'label' | 'role' | 'last_four'>) => ({
  label,
  role,
  last_four,
})

export const operatorRoutes = ({ db, changes }: Services) => [
  route(c.createOperatorKey, async ({ body, request, tx, audit }) => {
    assertMayMake(request, { kind: 'operator' })
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
    const row = keys.find((one) => one.id === id) ?? refuse(refusals.unknownKey(params.key_uuid))
    if (row.id === request.operator?.id) throw refusals.keyInUse()
    const isLast = row.role === 'operator' && keys.filter(({ role }) => role === 'operator').length === 1
    if (isLast) throw refusals.lastOperatorKey()
    await store.revoke(tx, row.id)
    await audit(tx, { before: audited(row) })
    await changes.invalidate(tx, 'accounts')
    return ok({})
  }),
]
