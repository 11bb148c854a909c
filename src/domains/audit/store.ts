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

/** Returns a page of acts of one account or of all, newest first. */
export const page = (db: Sql, f: Filter, start: ListPage) => {
  const asked = makeConditions()
  asked.add('account_id = ?', f.account)
  asked.add('actor_kind = any(?::text[])', f.kinds)
  asked.add('actor_id = ?', f.actorId)
  asked.add('actor_label = ?', f.actorLabel)
  asked.add('action = ?', f.action)
  asked.add('targets @> array[?::text]', f.target)
  asked.add('at >= ?', f.since)
  const { text, values } = makeListQuery(actsByTime, asked).page('*', start)
  return db.raw<AuditRow>(
    `select account_id, id, ${exactTime('r.at')} as at, actor_kind, actor_id, actor_label, actor_last_four, address,
       user_agent, request_id, action, targets, changes, session_id
     from (${text}) r order by r.at desc, r.id desc`,
    values,
  )
}

export const hasAction = async (db: Sql, action: string): Promise<boolean> =>
  (await db.maybe`select 1 from audit where action = ${action} limit 1`) !== null

export const hasAccount = async (db: Sql, id: string): Promise<boolean> =>
  (await db.maybe`select 1 from accounts where id = ${id}`) !== null

/** Deletes at most `limit` of the acts that are older than `days`, oldest first. */
export const deleteOlder = (tx: Tx, days: number, limit: number) => tx.run`
  delete from audit where id in (
    select id from audit where at < now() - make_interval(days => ${days}) order by at limit ${limit})`
