import type { Sql } from '../../platform/db/sql.ts'
import { assertMayMake } from '../../platform/http/credential-strength.ts'
import { ok, route, routeWithPreparation } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/problem.ts'
import { iso } from '../../platform/lib/clock.ts'
import { parse, print } from '../../platform/lib/id.ts'
import type { Outbound } from '../../platform/lib/outbound.ts'
import { makeSigningSecret } from '../../platform/lib/webhook-signature.ts'
import type { Services } from '../../services.ts'
import { contentsOf } from '../inbox/narrowing/ops.ts'
import * as c from './contract.ts'
import {
  addApplication,
  assertMayRunProgram,
  changeApplication,
  listApplications,
  movedField,
  removeApplication,
} from './ops.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

const present = ({ account_id, id, sealed_secret, created_at, updated_at, ...fields }: store.ApplicationRow) => ({
  uuid: print('APP', id),
  ...fields,
  created_at: iso(created_at),
  updated_at: iso(updated_at),
})

const addressFields = ['url', 'fallback_url', 'status_url'] as const

/** @throws the 400 Problem for an address that programs may not have, such as one of our own network */
const checkAddresses = async (
  outbound: Outbound,
  body: { readonly [field in (typeof addressFields)[number]]?: string | null },
): Promise<void> => {
  for (const field of addressFields) {
    const address = body[field]
    const fault = address === undefined || address === null ? null : await outbound.check(address)
    if (fault !== null) throw refusals.urlRefused(field, fault)
  }
}

const idOf = (printed: string): string => parse('APP', printed) ?? refuse(refusals.unknownApplication(printed))

const requireRow = async (sql: Sql, account: string, printed: string): Promise<store.ApplicationRow> =>
  (await store.find(sql, account, idOf(printed))) ?? refuse(refusals.unknownApplication(printed))

export const applicationRoutes = ({ db, seal, outbound }: Services) => [
  route(c.listApplications, async ({ account }) =>
    ok({ applications: (await listApplications(db, account.id)).map(present) }),
  ),

  routeWithPreparation(
    c.createApplication,
    ({ body, isSandbox }) => checkAddresses(outbound.of(isSandbox), body),
    async ({ account, body, request, tx, audit }) => {
      assertMayMake(request, { kind: 'webhook' })
      const { row, secret } = await addApplication(tx, seal, account.id, body)
      await audit(tx, { target: print('APP', row.id), after: present(row) })
      return ok({ application: present(row), signing_secret: secret })
    },
  ),

  route(c.getApplication, async ({ account, params }) =>
    ok({ application: present(await requireRow(db, account.id, params.application_uuid)) }),
  ),

  routeWithPreparation(
    c.changeApplication,
    ({ body, isSandbox }) => checkAddresses(outbound.of(isSandbox), body),
    async ({ params, body, tx, audit, ...call }) => {
      const printed = params.application_uuid
      const { before, after } =
        (await changeApplication(tx, call.account.id, idOf(printed), body)) ??
        refuse(refusals.unknownApplication(printed))
      const moved = movedField(before, body)
      if (moved) assertMayRunProgram(call.account, await contentsOf(tx, call), moved)
      await audit(tx, { before: present(before), after: present(after) })
      return ok({ application: present(after) })
    },
  ),

  route(c.deleteApplication, async ({ account, params, tx, audit }) => {
    const printed = params.application_uuid
    const row = (await removeApplication(tx, account.id, idOf(printed))) ?? refuse(refusals.unknownApplication(printed))
    await audit(tx, { before: present(row) })
    return ok({})
  }),

  route(c.rotateApplicationSecret, async ({ account, params, request, tx, audit }) => {
    assertMayMake(request, { kind: 'webhook' })
    const printed = params.application_uuid
    const secret = makeSigningSecret()
    const row = await store.setSecret(tx, account.id, idOf(printed), seal.close(secret))
    if (!row) throw refusals.unknownApplication(printed)
    await audit(tx, { after: { signing_secret: 'new' } })
    return ok({ signing_secret: secret })
  }),
]
