import type { Sql } from '../../platform/db/sql.ts'
import { presenceRowMinutes, presenceSeconds } from './limits.ts'

/** The report of a page. Ids have no prefix. */
export type PresenceWrite = {
  readonly account: string
  readonly socket: string
  readonly user: string
  readonly person: string
  /** Null: the page shows no conversation. */
  readonly conversation: string | null
  readonly state: 'viewing' | 'typing' | null
  /** True if the page is, or was until now, visible. */
  readonly wasVisible: boolean
}

/** Stores what pages report, one row for each. */
export const write = (sql: Sql, rows: readonly PresenceWrite[]) => sql.run`
  insert into presences as p (account_id, socket_id, user_id, person_id, conversation_id, state, until, visible_at,
    updated_at)
  select r.account_id, r.socket_id, r.user_id, r.person_id, r.conversation_id, r.state,
    case when r.conversation_id is not null then clock_timestamp() + make_interval(secs => ${presenceSeconds}) end,
    case when r.was_visible then clock_timestamp() end, clock_timestamp()
  from unnest(${rows.map((r) => r.account)}::uuid[], ${rows.map((r) => r.socket)}::uuid[],
    ${rows.map((r) => r.user)}::uuid[], ${rows.map((r) => r.person)}::uuid[],
    ${rows.map((r) => r.conversation)}::uuid[], ${rows.map((r) => r.state)}::text[],
    ${rows.map((r) => r.wasVisible)}::boolean[])
    r (account_id, socket_id, user_id, person_id, conversation_id, state, was_visible)
  on conflict (account_id, socket_id) do update set conversation_id = excluded.conversation_id,
    state = excluded.state, until = excluded.until, visible_at = coalesce(excluded.visible_at, p.visible_at),
    updated_at = excluded.updated_at`

export type PresenceRow = { account_id: string; conversation_id: string; user_id: string; name: string; state: string }

/** The people in conversations, each once, those who type first. */
export const peopleOf = (
  sql: Sql,
  accounts: readonly string[],
  conversations: readonly string[],
  most: number,
) => sql.many<PresenceRow>`
  select w.account_id, w.id as conversation_id, p.user_id, p.state,
    full_name(u.first_name, u.last_name) as name
  from unnest(${accounts}::uuid[], ${conversations}::uuid[]) w (account_id, id)
  cross join lateral (
    select user_id, min(state) as state from presences
    where account_id = w.account_id and conversation_id = w.id and until > clock_timestamp()
    group by user_id order by 2, 1 limit ${most}::integer) p
  join users u on u.account_id = w.account_id and u.id = p.user_id
  order by p.state, name, p.user_id`

/** Deletes rows of pages that have gone. Rows that another process writes are left for the next time. */
export const deleteOld = (sql: Sql) => sql.run`
  delete from presences where (account_id, socket_id) in (
    select account_id, socket_id from presences
    where updated_at < clock_timestamp() - make_interval(mins => ${presenceRowMinutes})
    limit 10000 for update skip locked)`
