import { ok, route } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/problem.ts'
import { phoneNumber } from '../../platform/http/validation.ts'
import { iso } from '../../platform/lib/clock.ts'
import { print } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import { assertOpen, existingAccount } from '../accounts/ops.ts'
import { deleteChannel, unprovedChannel } from '../msgapp/channels/ops.ts'
import * as c from './contract.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

const presentGrant = (row: store.GrantRow) => ({
  account_uuid: print('ACC', row.account_id),
  phone_number: row.phone_number,
  note: row.note,
  created_at: iso(row.created_at),
})

export const possessionRoutes = ({ db, sandboxAccounts }: Pick<Services, 'db' | 'sandboxAccounts'>) => [
  route(c.createNumberGrant, async ({ params, body, tx, audit }) => {
    const number = phoneNumber(body.phone_number)
    const account = await existingAccount(tx, params.account_uuid)
    await assertOpen(tx, account)
    await store.lockNumber(tx, number)
    const row = await store.grant(tx, account, number, body.note ?? null)
    const grant = presentGrant(row ?? refuse(refusals.numberOwned(number)))
    await audit(tx, { after: { phone_number: number, note: grant.note } })
    return ok({ grant })
  }),

  route(c.listNumberGrants, async ({ params }) => {
    const account = await existingAccount(db, params.account_uuid)
    return ok({ grants: (await store.grants(db, account)).map(presentGrant) })
  }),

  route(c.deleteNumberGrant, async ({ params, tx, audit }) => {
    const number = phoneNumber(params.phone_number)
    const account = await existingAccount(tx, params.account_uuid)
    await store.lockNumber(tx, number)
    if (!(await store.removeGrant(tx, account, number))) throw refusals.unknownGrant(params.account_uuid, number)
    await audit(tx, { before: { phone_number: number } })
    const channel = await unprovedChannel(tx, account, number, sandboxAccounts.has(account))
    if (channel) await deleteChannel(tx, account, channel, 'the operator withdrew the grant of the number')
    return ok({})
  }),
]
