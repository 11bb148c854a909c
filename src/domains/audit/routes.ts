import { auditedActions, canonicalTarget, isOfInbox } from '../../platform/http/audit.ts'
import { ok, route } from '../../platform/http/endpoint.ts'
import { type Cursors, cursorsOf } from '../../platform/http/list-cursor.ts'
import { boundOf, cutPage, nextOf, requestedPage } from '../../platform/http/paging.ts'
import { iso } from '../../platform/lib/clock.ts'
import { parse, print } from '../../platform/lib/id.ts'
import { closestWord } from '../../platform/lib/levenshtein.ts'
import type { Services } from '../../services.ts'
import { filteredAccount } from '../accounts/ops.ts'
import { redactChange } from '../events/contents/ops.ts'
import { contentsOf } from '../inbox/narrowing/ops.ts'
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

const timeOf = (value: string | undefined) => (value === undefined ? null : new Date(value))

const filterOf = ({ action = '', target = '', since }: Query) => ({
  action: action || null,
  target: target === '' ? null : canonicalTarget(target),
  since: timeOf(since),
})

/** Parses an actor: the id of a key or person, the label of a key, or the name of a person. */
const actorOf = (value: string) => {
  const id = parse('KEY', value) ?? parse('PRS', value)
  return { actorId: id, actorLabel: value === '' || id ? null : value }
}

const isPerson = ({ actor_kind: kind }: store.AuditRow) => kind === 'person' || kind === 'operator_person'

const presentAct = (row: store.AuditRow) => ({
  uuid: print('AUD', row.id),
  at: iso(Date.parse(row.at)),
  actor: {
    kind: row.actor_kind === 'operator_person' ? ('person' as const) : row.actor_kind,
    ...(row.actor_id ? { uuid: print(isPerson(row) ? 'PRS' : 'KEY', row.actor_id) } : {}),
    label: row.actor_label,
    ...(row.actor_name && row.actor_name !== row.actor_label ? { name: row.actor_name } : {}),
    ...(row.actor_last_four ? { last_four: row.actor_last_four } : {}),
  },
  action: row.action,
  targets: row.targets,
  changes: row.changes,
  ...(row.address ? { address: row.address } : {}),
  ...(row.user_agent ? { user_agent: row.user_agent } : {}),
  ...(row.request_id ? { request_id: row.request_id } : {}),
  ...(row.session_id ? { session_uuid: print('SES', row.session_id) } : {}),
})

/** Returns a row without what people wrote, and without data of contacts. */
const redacted = (row: store.AuditRow): store.AuditRow =>
  isOfInbox(row.action)
    ? {
        ...row,
        changes: row.changes.map(({ field, before, after }) => ({
          field,
          ...(before === undefined ? {} : { before: redactChange(field, before) }),
          ...(after === undefined ? {} : { after: redactChange(field, after) }),
        })),
      }
    : row

/** Actors of an account: its keys and members, and refused sign-ins of these. */
const ownKinds = ['api_key', 'person', 'visitor'] as const

const operatorKinds = ['operator', 'operator_person'] as const

/** Maps a row to the account's view, without the key and address of an operator. */
const presentToAccount = (row: store.AuditRow) => {
  if (ownKinds.some((kind) => kind === row.actor_kind)) return presentAct(row)
  const { uuid, at, action, targets, changes } = presentAct(row)
  const kind = row.actor_kind === 'system' ? ('system' as const) : ('operator' as const)
  return { uuid, at, actor: { kind }, action, targets, changes }
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

  /** Parses an actor of an account, also the id of a member: one without a person has no acts. */
  const ownActorOf = async (account: string, value: string) => {
    const user = parse('USR', value)
    return user ? { actorId: (await store.personOf(db, account, user)) ?? user, actorLabel: null } : actorOf(value)
  }

  const pageBy = async (
    cursors: Cursors,
    query: Query,
    filter: Omit<store.Filter, keyof ReturnType<typeof filterOf>>,
  ) => {
    const pageRequest = requestedPage(query, cursors.key(query.cursor), boundOf(query.until))
    await checkAction(query.action ?? '')
    const { rows: found, examined } = await store.page(db, { ...filterOf(query), ...filter }, pageRequest.read)
    const { rows, fields } = cutPage(pageRequest, found, ({ at, id }) => cursors.write({ time: at, id }))
    return { rows, next: examined === null ? nextOf(fields) : { next_cursor: cursors.write(examined) } }
  }

  return [
    route(c.listAudit, async ({ query, request }) => {
      const account = await filteredAccount(db, query.account_uuid)
      const { rows, next } = await pageBy(operatorCursors, query, {
        account,
        kinds: null,
        ...actorOf(query.actor ?? ''),
      })
      const isObserver = request.operator?.role === 'observer'
      const acts = rows.map((row) => ({
        ...presentAct(isObserver ? redacted(row) : row),
        ...(row.account_id ? { account_uuid: print('ACC', row.account_id) } : {}),
      }))
      return ok({ count: acts.length, acts, ...next })
    }),

    route(c.listOwnAudit, async ({ query, ...call }) => {
      const { account } = call
      const { actor = '' } = query
      // Filters by label and id match only keys and members of the account, so that operators cannot be found by theirs.
      const by =
        actor === 'operator'
          ? { kinds: operatorKinds, actorId: null, actorLabel: null }
          : { kinds: actor === '' ? null : ownKinds, ...(await ownActorOf(account.id, actor)) }
      const { rows, next } = await pageBy(ownCursors, query, { account: account.id, ...by })
      const shown = (await contentsOf(db, call)).messages ? rows : rows.map(redacted)
      return ok({ count: rows.length, acts: shown.map(presentToAccount), ...next })
    }),
  ]
}
