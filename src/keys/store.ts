import type { Sql, Tx } from '../db/sql.ts'

type Check = { fingerprint: string }

/** The fingerprint of the key that seals the secrets of this database; null in a database of before or without secrets. */
export const fingerprint = async (db: Sql): Promise<string | null> =>
  (await db.maybe<{ value: Check }>`select value from facts where name = 'master-key'`)?.value.fingerprint ?? null

/** Stores it unless another process was first. @returns the one that is stored */
export const keepFingerprint = async (tx: Tx, made: string): Promise<string> => {
  const value: Check = { fingerprint: made }
  await tx.run`insert into facts (name, value) values ('master-key', ${value}) on conflict (name) do nothing`
  return (await tx.one<{ value: Check }>`select value from facts where name = 'master-key'`).value.fingerprint
}

export const replaceFingerprint = async (tx: Tx, made: string): Promise<void> => {
  const value: Check = { fingerprint: made }
  await tx.run`
    insert into facts (name, value) values ('master-key', ${value}) on conflict (name) do update set value = excluded.value`
}

/** A secret that is sealed without a place, to try a key on; null where there is none. */
export const anySecret = async (db: Sql): Promise<Buffer | null> =>
  (
    await db.maybe<{ sealed: Buffer }>`
      (select sealed_private as sealed from signing_keys limit 1)
      union all (select sealed_secrets from connections where sealed_secrets is not null limit 1)
      union all (select sealed_secret from webhooks limit 1)
      limit 1`
  )?.sealed ?? null

export type Forgotten = {
  /** Names of connections whose passwords have to be entered again. */
  connections: string[]
  /** Numbers of the messaging app that have to be paired again. */
  channels: string[]
  /** Webhooks that get a new signing secret. */
  webhooks: { account_id: string; id: string }[]
  /** Documents of accounts that have to be uploaded again. */
  documents: number
  /** Words that accounts gave for the registration of numbers. */
  answers: number
}

/** Everything that only the lost key can open. */
export const lost = async (db: Sql): Promise<Forgotten> => ({
  connections: (
    await db.many<{ name: string }>`
      select name from connections
      where sealed_secrets is not null and kind <> 'sandbox' and not settings @> '{"sandbox": true}' order by name`
  ).map(({ name }) => name),
  channels: (
    await db.many<{ phone_number: string }>`
      select phone_number from msgapp_channels
      where deleted_at is null and id in (select channel_id from msgapp_vault) order by phone_number`
  ).map(({ phone_number }) => phone_number),
  webhooks: await db.many`select account_id, id from webhooks where deleted_at is null`,
  documents: (await db.one<{ count: number }>`select count(*) as count from documents`).count,
  answers: (
    await db.one<{ count: number }>`
    select count(*) as count from registration_answers where sealed_value is not null`
  ).count,
})

/** Columns that hold what is sealed, and what `forget` does with each; a test compares them with the schema. */
export const sealedColumns = {
  'connections.sealed_secrets': 'emptied, and the connection is disabled',
  'document_parts.sealed': 'deleted with the document',
  'idempotency.sealed_body': 'deleted',
  'msgapp_links.sealed_pairing': 'emptied',
  'msgapp_vault.sealed_value': 'deleted',
  'registration_answers.sealed_value': 'deleted',
  'signing_keys.sealed_private': 'deleted: voice tokens end',
  'webhooks.sealed_previous_secret': 'emptied',
  'webhooks.sealed_secret': 'replaced by a new one',
} as const

/** Removes everything that only the lost key can open. */
export const forget = async (tx: Tx, secretOf: () => Buffer): Promise<void> => {
  const webhooks = await tx.many<{ account_id: string; id: string }>`select account_id, id from webhooks for update`
  await tx.run`
    update webhooks w set sealed_secret = g.sealed, sealed_previous_secret = null, previous_until = null
    from unnest(${webhooks.map(({ account_id }) => account_id)}::uuid[], ${webhooks.map(({ id }) => id)}::uuid[],
      ${webhooks.map(() => secretOf())}::bytea[]) g (account_id, id, sealed)
    where w.account_id = g.account_id and w.id = g.id`
  // Sandbox connections get new passwords at each start.
  await tx.run`
    update connections set sealed_secrets = null, updated_at = app_now(),
      enabled = enabled and (kind = 'sandbox' or settings @> '{"sandbox": true}')
    where sealed_secrets is not null`
  await tx.run`delete from signing_keys`
  await tx.run`delete from idempotency`
  await tx.run`delete from msgapp_vault`
  await tx.run`update msgapp_links set sealed_pairing = null where sealed_pairing is not null`
  await tx.run`delete from registration_answers where sealed_value is not null`
  await tx.run`delete from documents`
}
