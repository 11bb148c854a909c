import { auditedActions, canonicalTarget } from '../../platform/http/audit.ts'
import { type Cursors, cursorsOf } from '../../platform/http/cursor.ts'
import { ok, route } from '../../platform/http/endpoint.ts'
import { boundOf, cutPage, nextOf, requestedPage } from '../../platform/http/paging.ts'
import { refuse } from '../../platform/http/problem.ts'
import { iso } from '../../platform/lib/clock.ts'
import { parse, print } from '../../platform/lib/id.ts'
import { closestWord } from '../../platform/lib/levenshtein.ts'
import type { Services } from '../../services.ts'
import { refusals as accountRefusals } from '../accounts/refusals.ts'
import * as c from './contract.ts'
import { refusals } from './refusals.ts'
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

const filterOf = ({ action = '', target = '', since }: Query) => ({
  action: action || null,
  target: target === '' ? null : canonicalTarget(target),
  since: timeOf(since),
})

/** Parses an actor: the id or label of a key. */
const actorOf = (given: string) => {
  const id = parse('KEY', given)
  return { actorId: id, actorLabel: given === '' || id ? null : given }
}

const presentAct = (row: store.AuditRow) => ({
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

/** Maps a row to the account's view, without the key and address of an operator. */
const presentToAccount = (row: store.AuditRow) => {
  if (row.actor_kind === 'api_key') return presentAct(row)
  const { uuid, at, action, targets, changes } = presentAct(row)
  return { uuid, at, actor: { kind: row.actor_kind }, action, targets, changes }
}

const operatorCursors = cursorsOf(c.listAudit)
const ownCursors = cursorsOf(c.listOwnAudit)

export const auditRoutes = ({ db }: Services) => {
  /** Checks an action name, including those of earlier versions that only rows have. @throws Problem 400 */
  const checkAction = async (action: string) => {
    const known = auditedActions()
    if (action === '' || known.includes(action) || (await store.hasAction(db, action))) return
    throw refusals.unknownAction(action, closestWord(action, known), known.join(', '))
  }

  const pageBy = async (
    cursors: Cursors,
    query: Query,
    filter: Omit<store.Filter, keyof ReturnType<typeof filterOf>>,
  ) => {
    const asked = requestedPage(query, cursors.key(query.cursor), boundOf(query.until))
    await checkAction(query.action ?? '')
    const found = await store.page(db, { ...filterOf(query), ...filter }, asked.read)
    const { rows, fields } = cutPage(asked, found, ({ at, id }) => cursors.write({ time: at, id }))
    return { rows, next: nextOf(fields) }
  }

  return [
    route(c.listAudit, async ({ query }) => {
      const account =
        query.account_uuid === undefined
          ? null
          : (parse('ACC', query.account_uuid) ?? refuse(accountRefusals.unknownAccount(query.account_uuid)))
      if (account && !(await store.hasAccount(db, account)))
        throw accountRefusals.unknownAccount(query.account_uuid ?? '')
      const { rows, next } = await pageBy(operatorCursors, query, {
        account,
        kind: null,
        ...actorOf(query.actor ?? ''),
      })
      const acts = rows.map((row) => ({
        ...presentAct(row),
        ...(row.account_id ? { account_uuid: print('ACC', row.account_id) } : {}),
      }))
      return ok({ count: acts.length, acts, ...next })
    }),

    route(c.listOwnAudit, async ({ account, query }) => {
      const { actor = '' } = query
      // Filters by label and id match only keys of the account, so that operators cannot be found by theirs.
      const by =
        actor === 'operator'
          ? { kind: 'operator' as const, actorId: null, actorLabel: null }
          : { kind: actor === '' ? null : ('api_key' as const), ...actorOf(actor) }
      const { rows, next } = await pageBy(ownCursors, query, { account: account.id, ...by })
      return ok({ count: rows.length, acts: rows.map(presentToAccount), ...next })
    }),
  ]
}
