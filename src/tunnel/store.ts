import type { Sql } from '../db/sql.ts'

export type EventRow = { id: string; name: string; payload: string }

/** Events of an account behind an id, but for those told already. @param names null for all */
export const since = (
  sql: Sql,
  account: string,
  after: string,
  told: readonly string[],
  names: readonly string[] | null,
  limit: number,
) => sql.many<EventRow>`
  select id, name, payload::text as payload from events
  where account_id = ${account} and id > ${after}::uuid and id <> all (${told}::uuid[])
    and (${names}::text[] is null or name = any (${names}::text[]))
  order by id limit ${limit}`
