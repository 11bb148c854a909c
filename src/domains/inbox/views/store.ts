import type { Sql, Tx } from '../../../platform/db/sql.ts'

export type ViewPage = 'inbox' | 'contacts' | 'calls' | 'numbers' | 'messages' | 'events' | 'webhooks' | 'usage'

export type ViewRow = {
  id: string
  /** Null: shared. */
  user_id: string | null
  name: string
  page: ViewPage
  query: Record<string, string | number | boolean>
  place: number
}

/** Shared views in their order, then those of one owner. @param page null: of all pages */
export const list = (sql: Sql, account: string, owner: string, page: string | null) => sql.many<ViewRow>`
  select id, user_id, name, page, query, place from saved_views
  where account_id = ${account} and (user_id is null or user_id = ${owner})
    and (${page}::text is null or page = ${page})
  order by user_id nulls first, place, id`

/** Locks views that an owner may see. */
export const lock = (tx: Tx, account: string, owner: string, ids: readonly string[]) => tx.many<ViewRow>`
  select id, user_id, name, page, query, place from saved_views
  where account_id = ${account} and id = any (${ids}::uuid[]) and (user_id is null or user_id = ${owner})
  order by id for update`

/** Serialises changes of the views of an account: their number and order. */
export const lockAccount = (tx: Tx, account: string) => tx.run`
  select pg_advisory_xact_lock(hashtextextended('inbox settings ' || ${account}, 0))`

/** Number of shared views or those of an owner, and the place behind the last. @param user null: shared */
export const end = (tx: Tx, account: string, user: string | null) => tx.one<{ n: number; place: number }>`
  select count(*)::integer as n, (coalesce(max(place), 0) + 1)::integer as place from saved_views
  where account_id = ${account} and user_id is not distinct from ${user}::uuid`

export const create = (tx: Tx, account: string, v: ViewRow) => tx.run`
  insert into saved_views (account_id, id, user_id, name, page, query, place, created_at)
  values (${account}, ${v.id}, ${v.user_id}, ${v.name}, ${v.page}, ${v.query}, ${v.place}, (select app_now()))`

export const change = (tx: Tx, account: string, v: ViewRow) => tx.run`
  update saved_views set user_id = ${v.user_id}, name = ${v.name}, page = ${v.page}, query = ${v.query}, place = ${v.place}
  where account_id = ${account} and id = ${v.id}`

export const remove = (tx: Tx, account: string, id: string) => tx.run`
  delete from saved_views where account_id = ${account} and id = ${id}`

/** Stores the places of views: 1, 2, … in the order of `ids`. */
export const order = (tx: Tx, account: string, ids: readonly string[]) => tx.run`
  update saved_views v set place = o.place
  from unnest(${ids}::uuid[]) with ordinality o (id, place)
  where v.account_id = ${account} and v.id = o.id and v.place <> o.place`
