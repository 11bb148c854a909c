import type { Sql } from '../src/platform/db/sql.ts'

/** Blocks that this transaction has read of tables and of their indexes, by name. An index may filter entries that it does not
 *  count as read. */
export const blocksRead = async (sql: Sql, tables: readonly string[]): Promise<Map<string, number>> => {
  const rows = await sql.many<{ name: string; count: number }>`
    select c.relname as name, pg_stat_get_xact_blocks_fetched(c.oid) as count from pg_class c
    left join pg_index i on i.indexrelid = c.oid
    where coalesce(i.indrelid, c.oid) = any (${tables}::text[]::regclass[])`
  return new Map(rows.map(({ name, count }) => [name, count]))
}
