import { canonicalTarget } from '../http/audit.ts'
import { type Cursors, cursorsOf } from '../http/cursor.ts'
import { ok, serve } from '../http/endpoint.ts'
import { notFound } from '../http/problem.ts'
import { iso } from '../lib/clock.ts'
import { parse, print } from '../lib/id.ts'
import type { Parts } from '../parts.ts'
import * as c from './contract.ts'
import * as store from './store.ts'

type Query = {
  action?: string
  target?: string
  since?: string
  until?: string
  results_per_page?: number
  cursor?: string
}

const timeOf = (given: string | undefined) => (given === undefined ? null : new Date(given))

const filterOf = ({ action = '', target = '', since, until }: Query) => ({
  action: action || null,
  target: target === '' ? null : canonicalTarget(target),
  since: timeOf(since),
  until: timeOf(until),
})

/** A key by its id, or by its label. */
const actorOf = (given: string) => {
  const id = parse('KEY', given)
  return { actorId: id, actorLabel: given === '' || id ? null : given }
}

const shown = (row: store.AuditRow) => ({
  uuid: print('AUD', row.id),
  at: iso(Date.parse(row.at)),
  actor: {
    kind: row.actor_kind,
    ...(row.actor_id ? { uuid: print('KEY', row.actor_id) } : {}),
    label: row.actor_label,
    ...(row.actor_last_four ? { last_four: row.actor_last_four } : {}),
  },
  action: row.action,
  targets: row.targets,
  changes: row.changes,
  ...(row.address ? { address: row.address } : {}),
  ...(row.user_agent ? { user_agent: row.user_agent } : {}),
  ...(row.request_id ? { request_id: row.request_id } : {}),
})

/** The account's view: an operator's key and address are left out. */
const shownToAccount = (row: store.AuditRow) => {
  if (row.actor_kind === 'api_key') return shown(row)
  const { uuid, at, action, targets, changes } = shown(row)
  return { uuid, at, actor: { kind: row.actor_kind }, action, targets, changes }
}

const operatorCursors = cursorsOf(c.listAudit)
const ownCursors = cursorsOf(c.listOwnAudit)

export const auditRoutes = ({ db }: Parts) => {
  const pageBy = async (
    cursors: Cursors,
    query: Query,
    filter: Omit<store.Filter, keyof ReturnType<typeof filterOf>>,
  ) => {
    const { results_per_page: size = 50, cursor } = query
    const after = cursors.read(cursor)
    const found = await store.page(db, { ...filterOf(query), ...filter }, after, size + 1)
    const rows = found.slice(0, size)
    const last = found.length > size ? rows.at(-1) : undefined
    return { rows, next: last ? { next_cursor: cursors.write({ time: last.at, id: last.id }) } : {} }
  }

  return [
    serve(c.listAudit, async ({ query }) => {
      const unknown = () => notFound(`No account ${query.account_uuid}`)
      const account = query.account_uuid === undefined ? null : (parse('ACC', query.account_uuid) ?? unknown())
      if (account && !(await store.hasAccount(db, account))) unknown()
      const { rows, next } = await pageBy(operatorCursors, query, {
        account,
        kind: null,
        ...actorOf(query.actor ?? ''),
      })
      const acts = rows.map((row) => ({
        ...shown(row),
        ...(row.account_id ? { account_uuid: print('ACC', row.account_id) } : {}),
      }))
      return ok({ count: acts.length, acts, ...next })
    }),

    serve(c.listOwnAudit, async ({ account, query }) => {
      const { actor = '' } = query
      // Filters by label and id match the account's own keys only: operators cannot be found by theirs.
      const by =
        actor === 'operator'
          ? { kind: 'operator' as const, actorId: null, actorLabel: null }
          : { kind: actor === '' ? null : ('api_key' as const), ...actorOf(actor) }
      const { rows, next } = await pageBy(ownCursors, query, { account: account.id, ...by })
      return ok({ count: rows.length, acts: rows.map(shownToAccount), ...next })
    }),
  ]
}
