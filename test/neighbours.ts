import { quoteIdentifier } from '../src/platform/db/identifier.ts'
import type { TestDatabase } from './database.ts'

// Whatever an act changes, its neighbours stay: rows of the same tables that the act does not name.

/** Tables that every request may change: queues, counters, caches and logs of the platform itself. */
const ofPlatform = [
  ...['changes', 'jobs', 'schedules', 'processes', 'rate_limit_usage', 'idempotency_keys', 'balances', 'number_stock'],
  ...['conversation_counts', 'request_log', 'sms_batches', 'event_backlog', 'webhook_endpoint_leases', 'webhook_stats'],
  ...[
    'msgapp_links',
    'msgapp_link_events',
    'inbox_positions',
    'voice_lease',
    'stored_bytes',
    'contact_counts',
    'write_probe',
  ],
]

/** A row that was changed or deleted, as it was before. */
export type ChangedRow = { readonly table: string; readonly change: 'UPDATE' | 'DELETE'; readonly row: string }

/**
 * Notes every change and deletion of a row from now on, whoever makes it. An update counts only if it changes a value.
 * @param ignored further tables, which background work of the test changes
 */
export const watchRows = async (db: TestDatabase, ignored: readonly string[] = []) => {
  const tables = await db.many<{ name: string }>`
    select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition
      and c.relname <> all (${[...ofPlatform, ...ignored]}::text[])`
  await db.raw(`
    create unlogged table noted_rows (n bigserial primary key, "table" text, change text, "row" text);
    create function note_row() returns trigger language plpgsql as $$ begin
      if tg_op = 'DELETE' or old is distinct from new then
        insert into noted_rows ("table", change, "row") values (tg_table_name, tg_op, to_jsonb(old)::text);
      end if;
      return null;
    end $$;
    ${tables
      .map(
        ({ name }) =>
          `create trigger note_row after update or delete on ${quoteIdentifier(name)} for each row execute function note_row()`,
      )
      .join(';')}`)
  return {
    /** Returns the rows that changed since the last call. */
    take: async (): Promise<ChangedRow[]> => {
      const rows = await db.many<ChangedRow & { n: string }>`
        delete from noted_rows returning n::text, "table", change, "row"`
      return rows.sort((a, b) => Number(a.n) - Number(b.n)).map(({ table, change, row }) => ({ table, change, row }))
    },
  }
}

/** Ids without a prefix that a text contains. */
export const idsIn = (text: string): readonly string[] =>
  text.match(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g) ?? []

/**
 * Runs an act and returns the rows that it changed although they have none of the named ids in any column.
 * @param names texts with the ids and numbers of what the act concerns
 */
export const neighboursChanged = async <T>(
  rows: Awaited<ReturnType<typeof watchRows>>,
  names: (result: T) => readonly string[] | Promise<readonly string[]>,
  act: () => Promise<T>,
): Promise<{ readonly result: T; readonly changed: readonly ChangedRow[] }> => {
  await rows.take()
  const result = await act()
  const named = await names(result)
  const changed = (await rows.take()).filter(({ row }) => !named.some((one) => row.includes(one)))
  return { result, changed }
}
