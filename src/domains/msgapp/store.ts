import type { Db, Sql, Tx } from '../../platform/db/sql.ts'
import { connectionLeaseSeconds } from './limits.ts'

/**
 * Leases those of these connections that are free, and extends ours.
 * @returns the connections that are ours
 */
export const lease = async (db: Db, owner: string, connections: readonly string[]): Promise<Set<string>> => {
  const rows = await db.many<{ connection_id: string }>`
    insert into msgapp_leases (connection_id, owner, leased_until)
    select c, ${owner}, clock_timestamp() + make_interval(secs => ${connectionLeaseSeconds}) from unnest(${connections}::uuid[]) c
    order by c
    on conflict (connection_id) do update set owner = excluded.owner, leased_until = excluded.leased_until
    where msgapp_leases.owner = excluded.owner or msgapp_leases.leased_until <= clock_timestamp()
    returning connection_id`
  return new Set(rows.map(({ connection_id }) => connection_id))
}

export const release = (db: Db, owner: string, connection: string) =>
  db.run`delete from msgapp_leases where connection_id = ${connection} and owner = ${owner}`

export const releaseAll = (db: Db) => db.run`delete from msgapp_leases`

export type CredentialRow = { id: string; sealed_value: Buffer }

export const findCredentials = (
  db: Db,
  channel: string,
  type: string,
  ids: readonly string[],
) => db.many<CredentialRow>`
  select id, sealed_value from msgapp_credentials
  where channel_id = ${channel} and type = ${type} and id = any(${ids}::text[])`

export type CredentialEntry = { type: string; id: string; sealed: Buffer | null }

/** Writes all entries or none. Null deletes an entry. Entries of a deleted channel are ignored. */
export const storeCredentials = async (tx: Tx, channel: string, entries: readonly CredentialEntry[]): Promise<void> => {
  const gone = entries.filter(({ sealed }) => sealed === null)
  const here = entries.filter(({ sealed }) => sealed !== null)
  if (gone.length > 0)
    await tx.run`
      delete from msgapp_credentials v using unnest(
        ${gone.map(({ type }) => type)}::text[], ${gone.map(({ id }) => id)}::text[]) g (type, id)
      where v.channel_id = ${channel} and v.type = g.type and v.id = g.id`
  if (here.length > 0)
    await tx.run`
      insert into msgapp_credentials (channel_id, type, id, sealed_value)
      select ${channel}::uuid, h.type, h.id, h.sealed from unnest(
        ${here.map(({ type }) => type)}::text[], ${here.map(({ id }) => id)}::text[],
        ${here.map(({ sealed }) => sealed)}::bytea[]) h (type, id, sealed)
      where exists (select 1 from msgapp_channels where id = ${channel} and deleted_at is null for share)
      on conflict (channel_id, type, id) do update set sealed_value = excluded.sealed_value`
}

/** @param except types that stay */
export const deleteCredentials = (sql: Sql, channel: string, except: readonly string[] = []) =>
  sql.run`delete from msgapp_credentials where channel_id = ${channel} and type <> all(${except}::text[])`

/** Stores answers; existing ones stay. */
export const addAnswers = (tx: Tx, answers: readonly { id: string; answer: unknown }[]) => tx.run`
  insert into msgapp_answers (id, answer, created_at)
  select a.id, a.answer::jsonb, clock_timestamp() from unnest(
    ${answers.map(({ id }) => id)}::uuid[], ${answers.map(({ answer }) => JSON.stringify(answer))}::text[]) a (id, answer)
  on conflict do nothing`

export const answers = (db: Db, ids: readonly string[]) => db.many<{ id: string; answer: unknown }>`
  select id, answer from msgapp_answers where id = any(${ids}::uuid[])`

/** Cancels a job that was completed before: its answer exists. */
export const cancelAnswered = (tx: Tx, id: string) => tx.run`
  delete from jobs where id = ${id} and exists (select 1 from msgapp_answers where id = ${id})`

/** Deletes answers for which no request waits or can be repeated with its Idempotency-Key. */
export const purgeAnswers = (tx: Tx) => tx.run`
  delete from msgapp_answers where created_at < clock_timestamp() - interval '24 hours'`
