import type { Tx } from '../../platform/db/sql.ts'
import { assertMayMake } from '../../platform/http/credential-strength.ts'
import { ok, route } from '../../platform/http/endpoint.ts'
import { cursorsOf } from '../../platform/http/list-cursor.ts'
import { cutPage, optionalPage, totalFields } from '../../platform/http/paging.ts'
import { refuse } from '../../platform/http/problem.ts'
import { iso } from '../../platform/lib/clock.ts'
import { parse, print } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import { assertOpen } from '../accounts/ops.ts'
import { refusals as accountRefusals } from '../accounts/refusals.ts'
import * as c from './contract.ts'
import { addUser, publishMember } from './ops.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

const presentUser = (row: store.UserRow) => ({
  uuid: print('USR', row.id),
  account_uuid: print('ACC', row.account_id),
  first_name: row.first_name,
  last_name: row.last_name,
  email: row.email,
  status: row.status,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

/** Checks an e-mail address. @throws Problem 409 if another user of the account has it */
const checkEmail = async (
  tx: Tx,
  account: string,
  { email, status }: Pick<store.UserRow, 'email' | 'status'>,
  id: string | null,
) => {
  if (status !== 'DELETED' && (await store.isEmailTaken(tx, account, email, id))) throw refusals.emailExists(email)
}

const accountId = (printed: string) => parse('ACC', printed) ?? refuse(accountRefusals.unknownAccount(printed))

const cursors = cursorsOf(c.listUsers)

export const userRoutes = ({ db, changes }: Services) => [
  route(c.listActiveUsers, async ({ account }) => {
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

  route(c.createUser, async ({ params, body, request, tx, audit }) => {
    assertMayMake(request, { kind: 'person', role: 'agent', before: null })
    const { first_name, last_name, email, status = 'ACTIVE' } = body
    const account = accountId(params.account_uuid)
    await assertOpen(tx, account)
    await checkEmail(tx, account, { email, status }, null)
    const row = await addUser(tx, account, { first_name, last_name, email, status })
    const created = row ?? refuse(accountRefusals.unknownAccount(params.account_uuid))
    const user = presentUser(created)
    await publishMember(tx, 'member.changed', account, created)
    await audit(tx, { target: user.uuid, after: user })
    return ok({ user })
  }),

  route(c.listUsers, async ({ params, query }) => {
    const [account, status] = [accountId(params.account_uuid), query.status ?? null]
    const pageRequest = optionalPage(query, cursors.key(query.cursor))
    const found =
      (await store.page(db, account, status, pageRequest.read)) ??
      refuse(accountRefusals.unknownAccount(params.account_uuid))
    const { rows, fields } = cutPage(pageRequest, found, ({ at, id }) => cursors.write({ time: at, id }))
    const total =
      pageRequest.limit === null ? { total: found.length } : totalFields(await store.count(db, account, status))
    return ok({ ...fields, ...total, users: rows.map(presentUser) })
  }),

  route(c.changeUser, async ({ params, body, request, tx, audit }) => {
    const id = parse('USR', params.user_uuid)
    const row = (id && (await store.lock(tx, id))) || refuse(refusals.unknownUser(params.user_uuid))
    assertMayMake(request, { kind: 'person', role: row.role, before: row.role })
    const changed = { ...row, ...body }
    const isOther = changed.email.toLowerCase() !== row.email.toLowerCase() || row.status === 'DELETED'
    if (isOther) await checkEmail(tx, row.account_id, changed, row.id)
    const after = await store.change(tx, row.account_id, row.id, changed)
    await store.namePerson(tx, row.account_id, row.id)
    await publishMember(tx, 'member.changed', row.account_id, after)
    await audit(tx, { account: row.account_id, before: presentUser(row), after: presentUser(after) })
    await changes.invalidate(tx, 'users')
    return ok({ user: presentUser(after) })
  }),
]
