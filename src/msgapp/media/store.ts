import type { ChatMediaType } from '../../connectors/message-port.ts'
import type { Sql, Tx } from '../../db/sql.ts'

export type MediaRow = {
  account_id: string
  id: string
  channel_id: string
  type: ChatMediaType
  mime_type: string
  name: string
  size: number | null
  /** Where it is fetched from. */
  source: { url: string } | { id: string }
  /** In the store; null until it is there. */
  key: string | null
  /** Of what is in the store, or was on its way there. */
  digest: Buffer | null
  error: string | null
}

export const find = (sql: Sql, account: string, id: string) =>
  sql.maybe<MediaRow>`select * from msgapp_media where account_id = ${account} and id = ${id}`

export type Kept = { type: ChatMediaType; mime: string; size: number; digest: Buffer; key: string }

/** A file of this content is about to be put into the store, or looked at. Waits for who takes it away. */
export const amongKeepers = (tx: Tx, account: string, digest: Buffer) => tx.run`
  select pg_advisory_xact_lock_shared(hashtextextended('msgapp media ' || ${account} || ${digest.toString('hex')}, 0))`

/** Waits until nobody begins to keep a file of this content, and holds them off. */
export const alone = (tx: Tx, account: string, digest: Buffer) => tx.run`
  select pg_advisory_xact_lock(hashtextextended('msgapp media ' || ${account} || ${digest.toString('hex')}, 0))`

/** Holds a file that is to be fetched until the transaction ends. Null when it was fetched or given up meanwhile. */
export const hold = (tx: Tx, account: string, id: string) => tx.maybe<{ digest: Buffer | null }>`
  select digest from msgapp_media where account_id = ${account} and id = ${id} and key is null and error is null for update`

/** What the file holds, before it is in the store. */
export const claim = (tx: Tx, account: string, id: string, digest: Buffer) =>
  tx.run`update msgapp_media set digest = ${digest} where account_id = ${account} and id = ${id}`

/** Whether a file that is to be had holds this, or is about to. */
export const isWanted = async (tx: Tx, account: string, digest: Buffer): Promise<boolean> =>
  (await tx.maybe`
    select from msgapp_media where account_id = ${account} and digest = ${digest} and error is null limit 1`) !== null

/** The file is in the store. Null when it was given up, or claimed for other bytes, meanwhile. */
export const keep = (sql: Sql, account: string, id: string, file: Kept) => sql.maybe<MediaRow>`
  update msgapp_media set type = ${file.type}, mime_type = ${file.mime}, size = ${file.size}, key = ${file.key}
  where account_id = ${account} and id = ${id} and digest = ${file.digest} and error is null returning *`

/** It never will be. @returns null when it is there; the digest is that of what may be on its way into the store */
export const giveUp = (sql: Sql, account: string, id: string, reason: string) => sql.maybe<{ digest: Buffer | null }>`
  update msgapp_media set error = ${reason} where account_id = ${account} and id = ${id} and key is null
  returning digest`

/** Lets go of files that are older than so many days: of the oldest ones so many. */
export const forgetOld = (tx: Tx, days: number, most: number) => tx.many<{ account_id: string; digest: Buffer }>`
  update msgapp_media m set error = ${`files are kept for ${days} days`}
  from (
    select account_id, id from msgapp_media
    where key is not null and error is null and created_at < app_now() - make_interval(days => ${days})
    order by created_at limit ${most} for update skip locked
  ) old
  where m.account_id = old.account_id and m.id = old.id
  returning m.account_id, m.digest`

/** Whether there are so many jobs of a kind, whatever holds them up. */
export const hasJobs = async (tx: Tx, kind: string, count: number): Promise<boolean> =>
  (await tx.maybe`select from jobs where kind = ${kind} offset ${count - 1} limit 1`) !== null

export const inSeconds = async (tx: Tx, seconds: number): Promise<Date> =>
  (await tx.one<{ at: Date }>`select app_now() + make_interval(secs => ${seconds}) as at`).at
