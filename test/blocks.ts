import type { Db, Sql } from '../src/platform/db/sql.ts'

/** Blocks that this transaction has read of tables and of their indexes, by name. An index may filter entries that it does not
 *  count as read. */
export const blocksRead = async (sql: Sql, tables: readonly string[]): Promise<Map<string, number>> => {
  const rows = await sql.many<{ name: string; count: number }>`
    select c.relname as name, pg_stat_get_xact_blocks_fetched(c.oid) as count from pg_class c
    left join pg_index i on i.indexrelid = c.oid
    where coalesce(i.indrelid, c.oid) = any (${tables}::text[]::regclass[])`
  return new Map(rows.map(({ name, count }) => [name, count]))
}

/**
 * Keeps autovacuum away from the tables of a test, which makes the statistics itself: those of a table with uncommitted
 * rows say that it is empty, and PostgreSQL plans all statements again.
 */
export const withoutAutovacuum = (db: Db) =>
  db.raw(`do $$ declare t regclass; begin
    for t in select oid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace loop
      execute format('alter table %s set (autovacuum_enabled = false)', t);
    end loop;
  end $$`)
