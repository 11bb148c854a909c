import type { Tx } from '../db/sql.ts'
import { ok, serve } from '../http/endpoint.ts'
import { conflict, notFound } from '../http/problem.ts'
import { iso } from '../lib/clock.ts'
import { parse, print } from '../lib/id.ts'
import type { Parts } from '../parts.ts'
import * as c from './contract.ts'
import { addUser } from './ops.ts'
import * as store from './store.ts'

const shown = (row: store.UserRow) => ({
  uuid: print('USR', row.id),
  account_uuid: print('ACC', row.account_id),
  first_name: row.first_name,
  last_name: row.last_name,
  email: row.email,
  status: row.status,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

/** @throws Problem 409 when another user of the account has the address */
const checkEmail = async (
  tx: Tx,
  account: string,
  { email, status }: Pick<store.UserRow, 'email' | 'status'>,
  id: string | null,
) => {
  if (status !== 'DELETED' && (await store.isEmailTaken(tx, account, email, id)))
    conflict(
      `Another user of the account has the e-mail address ${email}: change that user, or give another address`,
      'email_exists',
    )
}

const accountId = (printed: string) => parse('ACC', printed) ?? notFound(`No account ${printed}`)

export const userRoutes = ({ db, changes }: Parts) => [
  serve(c.listActiveUsers, async ({ account }) => {
    const rows = await store.active(db, account.id)
    return ok({
      data: {
        users: rows.map(({ id, first_name, last_name, email }) => ({
          uuid: print('USR', id),
          first_name,
          last_name,
          email,
        })),
      },
    })
  }),

  serve(c.createUser, async ({ params, body, tx, audit }) => {
    const { first_name, last_name, email, status = 'ACTIVE' } = body
    const account = accountId(params.account_uuid)
    await checkEmail(tx, account, { email, status }, null)
    const row = await addUser(tx, account, { first_name, last_name, email, status })
    const user = shown(row ?? notFound(`No account ${params.account_uuid}`))
    await audit(tx, { target: user.uuid, after: user })
    return ok({ user })
  }),

  serve(c.listUsers, async ({ params }) => {
    const rows = await store.all(db, accountId(params.account_uuid))
    return ok({ users: (rows ?? notFound(`No account ${params.account_uuid}`)).map(shown) })
  }),

  serve(c.changeUser, async ({ params, body, tx, audit }) => {
    const id = parse('USR', params.user_uuid)
    const row = (id && (await store.lock(tx, id))) || notFound(`No user ${params.user_uuid}`)
    const wanted = { ...row, ...body }
    const isOther = wanted.email.toLowerCase() !== row.email.toLowerCase() || row.status === 'DELETED'
    if (isOther) await checkEmail(tx, row.account_id, wanted, row.id)
    const after = await store.change(tx, row.account_id, row.id, wanted)
    await audit(tx, { account: row.account_id, before: shown(row), after: shown(after) })
    await changes.announce(tx, 'users')
    return ok({ user: shown(after) })
  }),
]
