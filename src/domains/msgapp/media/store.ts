import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { ChatMediaType } from '../../../ports/chat-message.ts'

export type MediaRow = {
  account_id: string
  id: string
  channel_id: string
  type: ChatMediaType
  mime_type: string
  name: string
  size: number | null
  /** Source of the file. `connection`: the SMS connection that brought its message. */
  source: { url: string; connection?: string } | { id: string }
  /** Key in the store; null until the file is there. */
  key: string | null
  /** Digest of the stored bytes, or of those on their way into the store. */
  digest: Buffer | null
  error: string | null
}

export const find = (sql: Sql, account: string, id: string) =>
  sql.maybe<MediaRow>`select * from msgapp_media where account_id = ${account} and id = ${id}`

/** A file of a message that is still to be fetched. */
export type UnfetchedFile = {
  account: string
  id: string
  channel: string
  type: string
  mimeType: string
  name: string
  size: number | null
  /** JSON. */
  source: string
}

/** Adds files of messages that are still to be fetched. */
export const addUnfetched = (tx: Tx, rows: readonly UnfetchedFile[]) => tx.run`
  insert into msgapp_media (account_id, id, channel_id, type, mime_type, name, size, source, created_at)
  select account_id, id, channel_id, type, mime_type, name, size, source::jsonb, (select app_now()) from unnest(
    ${rows.map((r) => r.account)}::uuid[], ${rows.map((r) => r.id)}::uuid[], ${rows.map((r) => r.channel)}::uuid[],
    ${rows.map((r) => r.type)}::text[], ${rows.map((r) => r.mimeType)}::text[], ${rows.map((r) => r.name)}::text[],
    ${rows.map((r) => r.size)}::bigint[], ${rows.map((r) => r.source)}::text[]
  ) as g (account_id, id, channel_id, type, mime_type, name, size, source)`

export type StoredFile = { type: ChatMediaType; mime: string; size: number; digest: Buffer; key: string }

/** Returns the files with these ids, in any order. */
export const findAll = (sql: Sql, account: string, ids: readonly string[]) => sql.many<MediaRow>`
  select m.* from unnest(${ids}::uuid[]) i (id)
  cross join lateral (
    select * from msgapp_media where account_id = ${account} and id >= i.id and id <= i.id order by id limit 1) m`

/** Takes the shared lock of a digest, before storing or reading a file. Waits for a deletion. */
export const lockDigestShared = (tx: Tx, account: string, digest: Buffer) => tx.run`
  select pg_advisory_xact_lock_shared(hashtextextended('msgapp media ' || ${account} || ${digest.toString('hex')}, 0))`

/** Takes the exclusive lock of a digest, before deleting its bytes. */
export const lockDigestExclusive = (tx: Tx, account: string, digest: Buffer) => tx.run`
  select pg_advisory_xact_lock(hashtextextended('msgapp media ' || ${account} || ${digest.toString('hex')}, 0))`

/** Locks a file that is still to be fetched. Null if it was fetched or has failed meanwhile. */
export const lockUnfetched = (tx: Tx, account: string, id: string) => tx.maybe<{ digest: Buffer | null }>`
  select digest from msgapp_media where account_id = ${account} and id = ${id} and key is null and error is null for update`

/** Records the digest before the file is in the store. */
export const recordDigest = (tx: Tx, account: string, id: string, digest: Buffer) =>
  tx.run`update msgapp_media set digest = ${digest} where account_id = ${account} and id = ${id}`

/** Whether any file without a failure has this digest, stored or about to be. */
export const isUsed = async (tx: Tx, account: string, digest: Buffer): Promise<boolean> =>
  (await tx.maybe`
    select from msgapp_media where account_id = ${account} and digest = ${digest} and error is null limit 1`) !== null

/** Marks a file as stored. Null if it has failed, or has other bytes, meanwhile. */
export const markStored = (sql: Sql, account: string, id: string, file: StoredFile) => sql.maybe<MediaRow>`
  update msgapp_media set type = ${file.type}, mime_type = ${file.mime}, size = ${file.size}, key = ${file.key}
  where account_id = ${account} and id = ${id} and digest = ${file.digest} and error is null returning *`

/**
 * Marks a file as failed.
 * @returns null if it is stored already; otherwise the digest of bytes that may be on their way into the store
 */
export const markFailed = (sql: Sql, account: string, id: string, reason: string) => sql.maybe<{
  digest: Buffer | null
}>`
  update msgapp_media set error = ${reason} where account_id = ${account} and id = ${id} and key is null
  returning digest`

/** Channel of files that were uploaded and belong to no message. */
const noChannel = '00000000-0000-0000-0000-000000000000'

/** Channel of files that are kept until they are deleted, such as sounds of calls. They belong to no message. */
export const permanentChannel = '00000000-0000-0000-0000-000000000001'

export type NewUpload = { id: string; type: ChatMediaType; mime: string; name: string; digest: Buffer }

/** Adds an uploaded file, before its bytes are in the store. */
export const addUpload = (tx: Tx, account: string, { id, type, mime, name, digest }: NewUpload) => tx.run`
  insert into msgapp_media (account_id, id, channel_id, type, mime_type, name, digest, created_at)
  values (${account}, ${id}, ${noChannel}, ${type}, ${mime}, ${name}, ${digest}, (select app_now()))`

/** Locks an upload that can be sent, against its deletion. @returns its digest, or null */
export const lockUpload = async (tx: Tx, account: string, id: string): Promise<Buffer | null> =>
  (
    await tx.maybe<{ digest: Buffer }>`
      select digest from msgapp_media
      where account_id = ${account} and id = ${id} and channel_id = ${noChannel} and key is not null and error is null
      for share`
  )?.digest ?? null

/** Adds a file of a message with the bytes of an upload. */
export const copyUpload = (tx: Tx, account: string, upload: string, { id, channel }: { id: string; channel: string }) =>
  tx.run`
    insert into msgapp_media (account_id, id, channel_id, type, mime_type, name, size, digest, key, created_at)
    select account_id, ${id}, ${channel}, type, mime_type, name, size, digest, key, (select app_now())
    from msgapp_media where account_id = ${account} and id = ${upload}`

/** Gives uploads a channel: from then on they are files of a message. @returns the ids of those that can be sent */
export const takeUploads = async (
  tx: Tx,
  account: string,
  uploads: readonly string[],
  channel: string,
): Promise<string[]> => {
  const taken = await tx.many<{ id: string }>`
    update msgapp_media set channel_id = ${channel}
    where account_id = ${account} and id = any(${uploads}::uuid[]) and channel_id = ${noChannel} and key is not null
      and error is null
    returning id`
  return taken.map(({ id }) => id)
}

/** Deletes files of a message. @returns the files whose bytes may be unused */
export const removeFiles = (tx: Tx, account: string, files: readonly string[]) => tx.many<{
  account_id: string
  digest: Buffer | null
}>`
  delete from msgapp_media where account_id = ${account} and id = any(${files}::uuid[]) returning account_id, digest`

/** Deletes uploads that were not sent. @returns the files whose bytes may be unused */
export const removeUploads = (tx: Tx, account: string, uploads: readonly string[]) => tx.many<{
  account_id: string
  digest: Buffer
}>`
  delete from msgapp_media
  where account_id = ${account} and id = any(${uploads}::uuid[]) and channel_id = ${noChannel} and digest is not null
  returning account_id, digest`

/** Deletes uploads older than some hours, at most `most` of the oldest. @returns the files whose bytes may be unused */
export const deleteUploads = (tx: Tx, hours: number, most: number) => tx.many<{ account_id: string; digest: Buffer }>`
  delete from msgapp_media m using (
    select account_id, id from msgapp_media
    where channel_id = ${noChannel} and created_at < app_now() - make_interval(hours => ${hours}::integer)
    order by created_at limit ${most} for update skip locked
  ) old
  where m.account_id = old.account_id and m.id = old.id and m.digest is not null
  returning m.account_id, m.digest`

/** Expires files older than `days`, at most `most` of the oldest. */
export const expireOld = (tx: Tx, days: number, most: number) => tx.many<{ account_id: string; digest: Buffer }>`
  update msgapp_media m set error = ${`files are kept for ${days} days`}
  from (
    select account_id, id from msgapp_media
    where key is not null and error is null and created_at < app_now() - make_interval(days => ${days})
      and channel_id <> ${permanentChannel}
    order by created_at limit ${most} for update skip locked
  ) old
  where m.account_id = old.account_id and m.id = old.id
  returning m.account_id, m.digest`

/** Whether at least this many jobs of a kind exist, in whatever state. */
export const hasJobs = async (tx: Tx, kind: string, count: number): Promise<boolean> =>
  (
    await tx.one<{ found: number }>`
      select count(*)::integer as found from (select from jobs where kind = ${kind} limit ${count}) counted`
  ).found >= count

export const inSeconds = async (tx: Tx, seconds: number): Promise<Date> =>
  (await tx.one<{ at: Date }>`select app_now() + make_interval(secs => ${seconds}) as at`).at
