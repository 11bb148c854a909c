import type { Db, Sql, Tx } from '../db/sql.ts'

/** Seconds of a lease on a connection, by the real clock. */
export const leaseSeconds = 15

/** Takes those of these connections that nobody else runs, and prolongs ours. @returns those that are ours */
export const lease = async (db: Db, owner: string, connections: readonly string[]): Promise<Set<string>> => {
  const rows = await db.many<{ connection_id: string }>`
    insert into msgapp_leases (connection_id, owner, leased_until)
    select c, ${owner}, clock_timestamp() + make_interval(secs => ${leaseSeconds}) from unnest(${connections}::uuid[]) c
    order by c
    on conflict (connection_id) do update set owner = excluded.owner, leased_until = excluded.leased_until
    where msgapp_leases.owner = excluded.owner or msgapp_leases.leased_until <= clock_timestamp()
    returning connection_id`
  return new Set(rows.map(({ connection_id }) => connection_id))
}

export const release = (db: Db, owner: string, connection: string) =>
  db.run`delete from msgapp_leases where connection_id = ${connection} and owner = ${owner}`

export const releaseAll = (db: Db) => db.run`delete from msgapp_leases`

export type VaultRow = { id: string; sealed_value: Buffer }

export const kept = (db: Db, channel: string, type: string, ids: readonly string[]) => db.many<VaultRow>`
  select id, sealed_value from msgapp_vault
  where channel_id = ${channel} and type = ${type} and id = any(${ids}::text[])`

export type VaultEntry = { type: string; id: string; sealed: Buffer | null }

/** Each entry whole or not at all, all of them or none. Null forgets. Of a channel that is deleted nothing is kept any more. */
export const keep = async (tx: Tx, channel: string, entries: readonly VaultEntry[]): Promise<void> => {
  const gone = entries.filter(({ sealed }) => sealed === null)
  const here = entries.filter(({ sealed }) => sealed !== null)
  if (gone.length > 0)
    await tx.run`
      delete from msgapp_vault v using unnest(
        ${gone.map(({ type }) => type)}::text[], ${gone.map(({ id }) => id)}::text[]) g (type, id)
      where v.channel_id = ${channel} and v.type = g.type and v.id = g.id`
  if (here.length > 0)
    await tx.run`
      insert into msgapp_vault (channel_id, type, id, sealed_value)
      select ${channel}::uuid, h.type, h.id, h.sealed from unnest(
        ${here.map(({ type }) => type)}::text[], ${here.map(({ id }) => id)}::text[],
        ${here.map(({ sealed }) => sealed)}::bytea[]) h (type, id, sealed)
      where exists (select 1 from msgapp_channels where id = ${channel} and deleted_at is null for share)
      on conflict (channel_id, type, id) do update set sealed_value = excluded.sealed_value`
}

/** @param except types that stay */
export const forget = (sql: Sql, channel: string, except: readonly string[] = []) =>
  sql.run`delete from msgapp_vault where channel_id = ${channel} and type <> all(${except}::text[])`

/** Writes answers; one that is there stays. */
export const addAnswers = (tx: Tx, answers: readonly { id: string; answer: unknown }[]) => tx.run`
  insert into msgapp_answers (id, answer, created_at)
  select a.id, a.answer::jsonb, clock_timestamp() from unnest(
    ${answers.map(({ id }) => id)}::uuid[], ${answers.map(({ answer }) => JSON.stringify(answer))}::text[]) a (id, answer)
  on conflict do nothing`

export const answers = (db: Db, ids: readonly string[]) => db.many<{ id: string; answer: unknown }>`
  select id, answer from msgapp_answers where id = any(${ids}::uuid[])`

/** Takes a job back that was done before: its answer is there. */
export const withdrawAnswered = (tx: Tx, id: string) => tx.run`
  delete from jobs where id = ${id} and exists (select 1 from msgapp_answers where id = ${id})`

/** Those that nobody waits for any more, nor asks for again by its Idempotency-Key. */
export const forgetAnswers = (tx: Tx) => tx.run`
  delete from msgapp_answers where created_at < clock_timestamp() - interval '24 hours'`
