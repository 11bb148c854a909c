import type { Sql } from '../db/sql.ts'
import { ok, serve } from '../http/endpoint.ts'
import { conflict, notFound } from '../http/problem.ts'
import { phoneNumber } from '../http/validation.ts'
import { iso } from '../lib/clock.ts'
import { parse, print } from '../lib/id.ts'
import { deleteChannel, unprovedChannel } from '../msgapp/channels/ops.ts'
import type { Parts } from '../parts.ts'
import * as c from './contract.ts'
import * as store from './store.ts'

const shown = (row: store.GrantRow) => ({
  account_uuid: print('ACC', row.account_id),
  phone_number: row.phone_number,
  note: row.note,
  created_at: iso(row.created_at),
})

const accountOf = async (sql: Sql, printed: string): Promise<string> => {
  const id = parse('ACC', printed)
  return id && (await store.hasAccount(sql, id)) ? id : notFound(`No account ${printed}`)
}

export const possessionRoutes = ({ db }: Pick<Parts, 'db'>) => [
  serve(c.createNumberGrant, async ({ params, body, tx, audit }) => {
    const number = phoneNumber(body.phone_number)
    const account = await accountOf(tx, params.account_uuid)
    await store.lockNumber(tx, number)
    const row = await store.grant(tx, account, number, body.note ?? null)
    const grant = shown(row ?? conflict(`Another account owns ${number} on the platform`, 'number_owned'))
    await audit(tx, { after: { phone_number: number, note: grant.note } })
    return ok({ grant })
  }),

  serve(c.listNumberGrants, async ({ params }) => {
    const account = await accountOf(db, params.account_uuid)
    return ok({ grants: (await store.grants(db, account)).map(shown) })
  }),

  serve(c.deleteNumberGrant, async ({ params, tx, audit }) => {
    const number = phoneNumber(params.phone_number)
    const account = await accountOf(tx, params.account_uuid)
    await store.lockNumber(tx, number)
    if (!(await store.removeGrant(tx, account, number))) notFound(`${params.account_uuid} has no grant for ${number}`)
    await audit(tx, { before: { phone_number: number } })
    const channel = await unprovedChannel(tx, account, number)
    if (channel) await deleteChannel(tx, account, channel, 'the operator withdrew the grant of the number')
    return ok({})
  }),
]
