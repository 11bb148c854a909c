import type { Sql } from '../../platform/db/sql.ts'

export type Table = { name: string; columns: string[] }

/** Tables whose rows are only valid in this installation. */
const volatileTables = ['processes', 'write_probe']

/** Every table with rows, partitions under their parent table. */
export const tables = (sql: Sql): Promise<Table[]> => sql.many<Table>`
  select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    and c.relname <> all(${volatileTables})
  group by c.relname order by c.relname`

/** Returns whether any table exists; an empty database has none. */
export const hasTables = async (sql: Sql): Promise<boolean> =>
  (await sql.maybe`select from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') limit 1`) !==
  null

export type Migration = { name: string; checksum: string }

export const migrations = (sql: Sql): Promise<Migration[]> => sql.many<Migration>`
  select name, checksum from schema_migrations where checksum <> '' order by name`

/** Sums of money in USD, as text with all digits. */
export type Money = { accounts: number; transfers: number; transferred: string; balances: string; held: string }

export const money = (sql: Sql): Promise<Money> => sql.one<Money>`
  select (select count(*) from accounts) as accounts, count(*) as transfers,
    coalesce(sum(amount), 0)::text as transferred,
    (select coalesce(sum(balance), 0)::text from balances) as balances,
    (select coalesce(sum(amount), 0)::text from holds) as held
  from transfers`

/** Accounts whose balance differs from the sum of their transfers, at most ten. */
export const unbalanced = (sql: Sql) => sql.many<{ account_id: string; balance: string; sum: string }>`
  select coalesce(b.account_id, t.account_id) as account_id, coalesce(b.balance, 0)::text as balance,
    coalesce(t.sum, 0)::text as sum
  from balances b
  full join (
    select account_id, sum(case when credit = 'balance' then amount when debit = 'balance' then -amount else 0 end) as sum
    from transfers group by account_id
  ) t using (account_id)
  where coalesce(b.balance, 0) <> coalesce(t.sum, 0) limit 10`

/** PostgreSQL's version, and the bytes of the database on disk. */
export const serverInfo = (sql: Sql) => sql.one<{ version: string; bytes: number }>`
  select current_setting('server_version') as version, pg_database_size(current_database()) as bytes`

/** The last value of each sequence. */
export const sequences = (sql: Sql) => sql.many<{ name: string; value: string }>`
  select sequencename as name, last_value::text as value from pg_sequences
  where schemaname = current_schema() and last_value is not null order by 1`

/** Sets a sequence of the schema. @returns false when the schema has none of this name, or it cannot have the value */
export const setSequence = async (sql: Sql, name: string, value: string): Promise<boolean> =>
  (await sql.run`
    select setval(format('%I.%I', schemaname, sequencename)::regclass, ${value}::bigint) from pg_sequences
    where schemaname = current_schema() and sequencename = ${name}
      and ${value}::bigint between min_value and max_value`) === 1

/** A foreign key, which has no name beyond its table. */
export type Constraint = { name: string; table: string; definition: string }

export const foreignKeys = (sql: Sql): Promise<Constraint[]> => sql.many<Constraint>`
  select conname as name, relname as table, pg_get_constraintdef(k.oid) as definition
  from pg_constraint k join pg_class c on c.oid = k.conrelid
  where contype = 'f' and conparentid = 0 and connamespace = current_schema()::regnamespace`

/**
 * A file that the database names: a message's file by its key, or a recording by its id. `digest` is that of the
 * content.
 */
export type StoredFile = {
  kind: 'media' | 'recordings'
  account: string
  name: string
  size: number
  digest: string | null
  encrypted: boolean
}

/** The id of a recording `r`, which is that of its call in databases from before recordings had ids. */
const recordingId = `coalesce((to_jsonb(r) ->> 'id')::uuid, r.call_id)`

/** Opens a cursor over those files: read with `nextFiles` in the same transaction. */
export const openFiles = async (sql: Sql, home: string | null): Promise<void> => {
  // DECLARE accepts no parameters.
  await sql.run`select set_config('trunkline.recordings_id', ${home ?? ''}, true)`
  await sql.raw(`declare stored_files no scroll cursor for
  select 'media' as kind, account_id as account, key as name, size, encode(digest, 'hex') as digest,
    key like '%.enc' as encrypted
  from msgapp_media where key is not null and error is null
  union all
  select 'recordings', account_id, account_id || '/' || ${recordingId} || '.wav' || case when encrypted then '.enc' else '' end,
    bytes, sha256, encrypted
  from call_recordings r where ready_at is not null and kept <> 'store'
    and home = nullif(current_setting('trunkline.recordings_id'), '')::uuid`)
}

export const closeFiles = (sql: Sql) => sql.raw('close stored_files')

/** The next files of the cursor, at most `count`. */
export const nextFiles = async (sql: Sql, count: 16 | 1_000): Promise<StoredFile[]> =>
  sql.raw<StoredFile>(count === 16 ? 'fetch 16 from stored_files' : 'fetch 1000 from stored_files')

/** Returns whether the database still names a file. */
export const isNamed = async (sql: Sql, { kind, account, name }: StoredFile): Promise<boolean> =>
  kind === 'media'
    ? (await sql.maybe`select from msgapp_media where account_id = ${account} and key = ${name} and error is null`) !==
      null
    : (await sql.maybe`
        select from call_recordings r where account_id = ${account} and kept <> 'store' and ready_at is not null
          and coalesce((to_jsonb(r) ->> 'id')::uuid, r.call_id) = ${name.slice(37, 73)}::uuid`) !== null

/** Prepares a restored database for `findFile` and `recordFile`. */
export const prepareFileList = async (sql: Sql): Promise<void> => {
  await sql.raw('create temp table backup_files (name text primary key)')
  await sql.raw('create index backup_media on msgapp_media (account_id, key)')
  await sql.raw(`create temp table backup_recordings as
    select account_id, ${recordingId} as id, bytes, sha256, encrypted from call_recordings r
    where ready_at is not null and kept <> 'store'`)
  await sql.raw('create index on backup_recordings (account_id, id)')
}

/** Returns the row of a backup's file; null when the database does not name it. */
export const findFile = (sql: Sql, name: string): Promise<StoredFile | null> => {
  const [, kind, account, id] = /^(media|recordings)\/([0-9a-f-]{36})\/([0-9a-f-]{36})?/.exec(name) ?? []
  const path = name.slice(name.indexOf('/') + 1)
  if (kind === 'media')
    return sql.maybe<StoredFile>`
      select 'media' as kind, account_id as account, key as name, size, encode(digest, 'hex') as digest,
        key like '%.enc' as encrypted
      from msgapp_media where account_id = ${account ?? null} and key = ${path} and error is null limit 1`
  return sql.maybe<StoredFile>`
    select 'recordings' as kind, account_id as account, ${path} as name, bytes as size, sha256 as digest, encrypted
    from backup_recordings
    where account_id = ${account ?? null} and id = ${id ?? null} and encrypted = (${path} like '%.enc')`
}

/** Records that the backup has a file. @returns false when it was recorded before */
export const recordFile = async (sql: Sql, name: string): Promise<boolean> =>
  (await sql.run`insert into backup_files (name) values (${name}) on conflict do nothing`) === 1

/** Returns the names of unrecorded files. */
export const unrecordedFiles = async (sql: Sql, files: readonly StoredFile[]): Promise<string[]> =>
  (
    await sql.many<{ name: string }>`
      select name from unnest(${files.map(({ kind, name }) => `${kind}/${name}`)}::text[]) given (name)
      where not exists (select from backup_files b where b.name = given.name)`
  ).map(({ name }) => name)

/** Returns whether the tables are those of a platform. */
export const isPlatformDatabase = async (sql: Sql): Promise<boolean> =>
  (
    await sql.one<{ ours: boolean }>`
      select to_regclass('schema_migrations') is not null and to_regclass('accounts') is not null
        and to_regclass('processes') is not null as ours`
  ).ours

/** Returns whether the session's role is a superuser of the server. */
export const isSuperuser = async (sql: Sql): Promise<boolean> =>
  (await sql.one<{ found: boolean }>`select rolsuper as found from pg_roles where rolname = current_user`).found
