import { quoteIdentifier, quoteIdentifiers } from '../../platform/db/identifier.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'

type Check = { fingerprint: string }

/** Returns the fingerprint of this database's master key; null for a database of an earlier version or without
 *  secrets. */
export const fingerprint = async (db: Sql): Promise<string | null> =>
  (await db.maybe<{ value: Check }>`select value from installation_state where name = 'master-key'`)?.value
    .fingerprint ?? null

/** Stores the fingerprint unless another process was first. @returns the stored fingerprint */
export const keepFingerprint = async (tx: Tx, fingerprint: string): Promise<string> => {
  const value: Check = { fingerprint }
  await tx.run`insert into installation_state (name, value) values ('master-key', ${value}) on conflict (name) do nothing`
  return (await tx.one<{ value: Check }>`select value from installation_state where name = 'master-key'`).value
    .fingerprint
}

export const replaceFingerprint = async (tx: Sql, fingerprint: string): Promise<void> => {
  const value: Check = { fingerprint }
  await tx.run`
    insert into installation_state (name, value) values ('master-key', ${value}) on conflict (name) do update set value = excluded.value`
}

/** Returns a secret sealed without a place, to try a key on; null if there is none. */
export const anySecret = async (db: Sql): Promise<Buffer | null> =>
  (
    await db.maybe<{ sealed: Buffer }>`
      (select sealed_private as sealed from signing_keys limit 1)
      union all (select sealed_secrets from connections where sealed_secrets is not null limit 1)
      union all (select sealed_secret from webhooks limit 1)
      limit 1`
  )?.sealed ?? null

export type LostSecrets = {
  /** Names of connections whose passwords must be entered again. */
  connections: string[]
  /** Messaging app numbers that must be paired again. */
  channels: string[]
  /** Webhooks that get a new signing secret. */
  webhooks: { account_id: string; id: string }[]
  /** Number of account documents that must be uploaded again. */
  documents: number
  /** Number of answers for number registrations that accounts must give again. */
  answers: number
}

/** Lists all data that only the lost key can open. */
export const findLostSecrets = async (db: Sql): Promise<LostSecrets> => ({
  connections: (
    await db.many<{ name: string }>`
      select name from connections
      where sealed_secrets is not null and kind <> 'sandbox' and not settings @> '{"sandbox": true}' order by name`
  ).map(({ name }) => name),
  channels: (
    await db.many<{ phone_number: string }>`
      select phone_number from msgapp_channels
      where deleted_at is null and id in (select channel_id from msgapp_credentials) order by phone_number`
  ).map(({ phone_number }) => phone_number),
  webhooks: await db.many`select account_id, id from webhooks where deleted_at is null`,
  documents: (await db.one<{ count: number }>`select count(*) as count from documents`).count,
  answers: (
    await db.one<{ count: number }>`
    select count(*) as count from registration_answers where sealed_value is not null`
  ).count,
})

/** Columns with sealed values, and the effect of `forgetSecrets` on each; a test compares them with the schema. */
export const sealedColumns = {
  'call_applications.sealed_secret': 'replaced by a new one',
  'connections.sealed_secrets': 'emptied, and the connection is disabled',
  'document_parts.sealed': 'deleted with the document',
  'idempotency.sealed_body': 'deleted',
  'mails.sealed_values': 'deleted: the mail is not sent',
  'msgapp_links.sealed_pairing': 'emptied',
  'msgapp_credentials.sealed_value': 'deleted',
  'person_totp.sealed_secret': 'deleted: the password alone signs in',
  'program_secrets.sealed_previous_secret': 'deleted',
  'program_secrets.sealed_secret': 'deleted: requests to programs are signed by a new one',
  'push_keys.sealed_private': 'deleted: browsers must subscribe again',
  'push_subscriptions.sealed_target': 'deleted',
  'registration_answers.sealed_value': 'deleted',
  'signing_keys.sealed_private': 'deleted: voice tokens end',
  'twilio_tokens.sealed_token': 'deleted: accounts make new credentials for Twilio’s libraries',
  'webhooks.sealed_headers': 'emptied: calls have no headers of their own until they are given again',
  'webhooks.sealed_previous_secret': 'emptied',
  'webhooks.sealed_secret': 'replaced by a new one',
} as const

/** A column of sealed values: SQL expressions of the value and of the place that it is bound to. */
export type SealedColumn = {
  readonly name: string
  readonly table: string
  readonly column: string
  readonly place: string
}

const at = (table: string, column: string, place = "''"): SealedColumn => ({
  name: `${table}.${column}`,
  table,
  column,
  place,
})

/** All sealed columns, with the place of their values: see the callers of Seal.closeBytes(). */
export const sealedColumnList: readonly SealedColumn[] = [
  at('call_applications', 'sealed_secret'),
  at('connections', 'sealed_secrets'),
  at('document_parts', 'sealed', "'document ' || account_id || ' ' || document_id || ' ' || part"),
  at('idempotency', 'sealed_body'),
  at('mails', 'sealed_values', "'mail ' || id"),
  at('msgapp_links', 'sealed_pairing', "'msgapp/' || channel_id || '/pairing'"),
  at('msgapp_credentials', 'sealed_value', "'msgapp/' || channel_id || '/' || type || '/' || id"),
  at('person_totp', 'sealed_secret', "'second factor ' || person_id"),
  at('program_secrets', 'sealed_previous_secret'),
  at('program_secrets', 'sealed_secret'),
  at('push_keys', 'sealed_private', "'push key'"),
  at('push_subscriptions', 'sealed_target', "'push ' || id"),
  at('registration_answers', 'sealed_value'),
  at('signing_keys', 'sealed_private'),
  at('twilio_tokens', 'sealed_token', "'twilio token ' || key_id"),
  at('webhooks', 'sealed_headers', "'webhook headers ' || id"),
  at('webhooks', 'sealed_previous_secret'),
  at('webhooks', 'sealed_secret'),
]

/** Returns the sealed columns that the schema has. That of an older backup lacks those of later migrations. */
export const presentSealedColumns = async (sql: Sql): Promise<SealedColumn[]> => {
  const present = await sql.many<{ name: string }>`
    select table_name || '.' || column_name as name
    from unnest(${sealedColumnList.map(({ table }) => table)}::text[], ${sealedColumnList.map(({ column }) => column)}::text[])
      as g (table_name, column_name)
    join pg_attribute a on a.attrelid = to_regclass(table_name) and a.attname = column_name and not a.attisdropped`
  const names = new Set(present.map(({ name }) => name))
  return sealedColumnList.filter(({ name }) => names.has(name))
}

export type SealedRow = { row: string; sealed: Buffer; place: string }

/** Yields the values of a column, 16 at a time (a part of a document has 1 MiB), in the caller's transaction. */
export async function* sealedRows(sql: Sql, { table, column, place }: SealedColumn): AsyncGenerator<SealedRow[]> {
  await sql.raw(`declare sealed_values no scroll cursor for
    select ctid::text as row, ${quoteIdentifier(column)} as sealed, ${place} as place from ${quoteIdentifier(table)}
    where ${quoteIdentifier(column)} is not null`)
  for (;;) {
    const rows = await sql.raw<SealedRow>('fetch 16 from sealed_values')
    if (rows.length === 0) break
    yield rows
  }
  await sql.raw('close sealed_values')
}

/** Writes resealed values of a column. */
export const reseal = (sql: Sql, { table, column }: SealedColumn, rows: readonly { row: string; sealed: Buffer }[]) =>
  sql.raw(
    `update ${quoteIdentifier(table)} t set ${quoteIdentifier(column)} = g.sealed
      from unnest($1::text[], $2::bytea[]) g (row, sealed) where t.ctid = g.row::tid`,
    [rows.map(({ row }) => row), rows.map(({ sealed }) => sealed)],
  )

/** An answer to a regulator in a pending order; `sealed` is base64. */
export type OrderAnswer = { readonly sealed: string | null }
type Order = { account_id: string; id: string; answers: OrderAnswer[] }

/** Returns the orders with sealed answers, which a JSON column holds. */
export const sealedOrders = (sql: Sql): Promise<Order[]> => sql.many<Order>`
  select account_id, id, answers from number_orders where jsonb_path_exists(answers, '$[*].sealed ? (@ != null)')`

export const resealOrder = (sql: Sql, { account_id, id, answers }: Order) => sql.run`
  update number_orders set answers = ${JSON.stringify(answers)}::jsonb where account_id = ${account_id} and id = ${id}`

/** Returns the previous master keys, sealed under the current one, in base64, newest first. They keep older encrypted
 *  files readable. */
export const formerKeys = async (sql: Sql): Promise<string[]> =>
  (await sql.maybe<{ value: string[] }>`select value from installation_state where name = 'former-master-keys'`)
    ?.value ?? []

export const replaceFormer = (sql: Sql, keys: readonly string[]) => sql.run`
  insert into installation_state (name, value) values ('former-master-keys', ${JSON.stringify(keys)}::jsonb)
  on conflict (name) do update set value = excluded.value`

/** Counts the processes with a heartbeat within the last 20 s. */
export const countAlive = async (sql: Sql): Promise<number> =>
  (
    await sql.one<{ count: number }>`
      select count(*) as count from processes where seen_at > clock_timestamp() - interval '20 seconds'`
  ).count

/**
 * Locks sealed values against other sessions until the transaction ends, and terminates the sessions of the platform. A
 * session that reconnects waits for `installation_state`, and then finds another fingerprint.
 */
export const lockAll = async (sql: Sql): Promise<void> => {
  const tables = [
    ...new Set(sealedColumnList.map(({ table }) => table)),
    'number_orders',
    'processes',
    'installation_state',
  ]
  await sql.raw("set local lock_timeout = '15s'")
  await sql.raw(`lock table ${quoteIdentifiers(tables)} in access exclusive mode`)
  await sql.raw(`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and usename = current_user and application_name = 'trunkline' and pid <> pg_backend_pid()`)
}

/** Deletes or replaces all data that only the lost key can open. */
export const forgetSecrets = async (tx: Tx, secretOf: () => Buffer): Promise<void> => {
  const webhooks = await tx.many<{ account_id: string; id: string }>`select account_id, id from webhooks for update`
  await tx.run`
    update webhooks w set sealed_secret = g.sealed, sealed_previous_secret = null, previous_until = null,
      sealed_headers = null, header_names = '{}'
    from unnest(${webhooks.map(({ account_id }) => account_id)}::uuid[], ${webhooks.map(({ id }) => id)}::uuid[],
      ${webhooks.map(() => secretOf())}::bytea[]) g (account_id, id, sealed)
    where w.account_id = g.account_id and w.id = g.id`
  const applications = await tx.many<{ account_id: string; id: string }>`
    select account_id, id from call_applications for update`
  await tx.run`
    update call_applications a set sealed_secret = g.sealed
    from unnest(${applications.map(({ account_id }) => account_id)}::uuid[], ${applications.map(({ id }) => id)}::uuid[],
      ${applications.map(() => secretOf())}::bytea[]) g (account_id, id, sealed)
    where a.account_id = g.account_id and a.id = g.id`
  // Sandbox connections get new passwords at each start.
  await tx.run`
    update connections set sealed_secrets = null, updated_at = app_now(),
      enabled = enabled and (kind = 'sandbox' or settings @> '{"sandbox": true}')
    where sealed_secrets is not null`
  await tx.run`
    update mails set sealed_values = null, state = 'failed', outcome = 'The master key was lost', ended_at = app_now()
    where sealed_values is not null`
  await tx.run`delete from program_secrets`
  await tx.run`delete from push_subscriptions`
  await tx.run`delete from push_keys`
  await tx.run`delete from signing_keys`
  await tx.run`delete from twilio_tokens`
  await tx.run`delete from idempotency`
  await tx.run`delete from msgapp_credentials`
  await tx.run`update msgapp_links set sealed_pairing = null where sealed_pairing is not null`
  await tx.run`delete from person_totp`
  await tx.run`delete from registration_answers where sealed_value is not null`
  await tx.run`delete from documents`
  await tx.run`delete from installation_state where name = 'former-master-keys'`
  for (const order of await sealedOrders(tx))
    await resealOrder(tx, { ...order, answers: order.answers.filter(({ sealed }) => sealed === null) })
}
