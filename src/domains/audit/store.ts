import { makeConditions } from '../../platform/db/conditions.ts'
import { exactTime, type ListPage, makeListQuery } from '../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { AuditActorKind, Change } from '../../platform/http/audit.ts'

export type AuditRow = {
  account_id: string | null
  id: string
  at: string
  actor_kind: AuditActorKind
  session_id: string | null
  actor_id: string | null
  actor_label: string
  /** Name of the member now; null for others. */
  actor_name: string | null
  actor_last_four: string | null
  address: string | null
  user_agent: string | null
  request_id: string | null
  action: string
  targets: string[]
  changes: Change[]
}

export type Filter = {
  account: string | null
  /** Only acts whose actor is of one of these kinds. */
  kinds: readonly AuditActorKind[] | null
  actorId: string | null
  actorLabel: string | null
  action: string | null
  target: string | null
  since: Date | null
}

const actsByTime = {
  table: 'audit',
  key: [
    { name: 'at', type: 'timestamptz' },
    { name: 'id', type: 'uuid' },
  ],
  isNewestFirst: true,
} as const

/** Acts of targets. The row of each act is found by its id, whatever the planner expects. */
const actsOfTarget = {
  table: { rows: 'audit_targets cross join lateral (select * from audit where id = act_id limit 1) act' },
  key: [
    { name: 'acted_at', type: 'timestamptz' },
    { name: 'act_id', type: 'uuid' },
  ],
  isNewestFirst: true,
} as const

/** Acts of a target. Further filters examine these acts, 10,000 for a page. */
const byTarget = ({ account, kinds, actorId, actorLabel, action, target, since }: Filter) => {
  const conditions = makeConditions()
  conditions.add('target = ?', target)
  conditions.add('owner_id = ?', account)
  conditions.add('acted_at >= ?', since)
  const filters = [
    { text: 'actor_kind = any(?::text[])', value: kinds },
    { text: 'actor_id = ?', value: actorId },
    { text: 'actor_label = ?', value: actorLabel },
    { text: 'action = ?', value: action },
  ].flatMap(({ text, value }) => (value === null ? [] : [{ text, value }]))
  return makeListQuery(actsOfTarget, conditions, [], { filters })
}

const actsOf = (filter: Filter) => {
  if (filter.target !== null) return byTarget(filter)
  const { account, kinds, actorId, actorLabel, action, since } = filter
  const conditions = makeConditions()
  conditions.add('account_id = ?', account)
  conditions.add('actor_id = ?', actorId)
  conditions.add('actor_label = ?', actorLabel)
  conditions.add('action = ?', action)
  conditions.add('at >= ?', since)
  if (kinds === null) return makeListQuery(actsByTime, conditions)
  // The actor has an index, which need not have acts of these kinds.
  if (actorId !== null || actorLabel !== null)
    return makeListQuery(actsByTime, conditions, [], {
      filters: [{ text: 'actor_kind = any(?::text[])', value: kinds }],
    })
  // An index has the acts of one kind in their order, not those of several.
  return makeListQuery(
    actsByTime,
    conditions,
    kinds.map((kind) => `actor_kind = ${conditions.bind(kind)}`),
  )
}

/**
 * Returns a page of acts of one account or of all, newest first, with the last act that was examined if the page is short
 * and more may follow.
 */
export const page = async (db: Sql, filter: Filter, start: ListPage) => {
  const list = actsOf(filter)
  const { text, values } = list.page('*', start)
  const rows = await db.raw<AuditRow>(
    `select account_id, id, ${exactTime('r.at')} as at, actor_kind, actor_id, actor_label, actor_last_four, address,
       user_agent, request_id, action, targets, changes, session_id, (
         select full_name(first_name, last_name) from users u
         where r.actor_kind = 'person' and u.account_id = r.account_id and u.person_id = r.actor_id
         order by u.status = 'DELETED', u.created_at, u.id limit 1) as actor_name
     from (${text}) r order by r.at desc, r.id desc`,
    values,
  )
  const isShort = start.limit !== null && rows.length < start.limit
  const last = isShort ? list.lastExamined(start.after) : null
  const [examined = null] = last === null ? [] : await db.raw<{ time: string; id: string }>(last.text, last.values)
  return { rows, examined }
}

/** Returns the person of a user; null if the account has no such user, or the user no person. */
export const personOf = async (db: Sql, account: string, user: string): Promise<string | null> =>
  (
    await db.maybe<{ person_id: string | null }>`
      select person_id from users where account_id = ${account} and id = ${user}`
  )?.person_id ?? null

export const hasAction = async (db: Sql, action: string): Promise<boolean> =>
  (await db.maybe`select 1 from audit where action = ${action} limit 1`) !== null

/** Deletes at most `limit` of the acts that are older than `days`, oldest first. */
export const deleteOlder = (tx: Tx, days: number, limit: number) => tx.run`
  with old as materialized (
    select id, at, targets from audit where at < now() - make_interval(days => ${days}) order by at limit ${limit}),
  unlinked as (
    delete from audit_targets t using old o cross join lateral unnest(o.targets) named (target)
    where t.target = named.target and t.acted_at = o.at and t.act_id = o.id)
  delete from audit where id in (select id from old)`
