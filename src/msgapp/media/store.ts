import type { ChatMediaType } from '../../connectors/message-port.ts'
import type { Sql } from '../../db/sql.ts'

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
  error: string | null
}

export const find = (sql: Sql, account: string, id: string) =>
  sql.maybe<MediaRow>`select * from msgapp_media where account_id = ${account} and id = ${id}`

export type Kept = { type: ChatMediaType; mime: string; size: number; digest: Buffer; key: string }

/** The file is in the store. Null when its message was deleted meanwhile. */
export const keep = (sql: Sql, account: string, id: string, file: Kept) => sql.maybe<MediaRow>`
  update msgapp_media set type = ${file.type}, mime_type = ${file.mime}, size = ${file.size}, digest = ${file.digest},
    key = ${file.key}
  where account_id = ${account} and id = ${id} and error is null returning *`

/** It never will be. */
export const giveUp = (sql: Sql, account: string, id: string, reason: string) => sql.run`
  update msgapp_media set error = ${reason} where account_id = ${account} and id = ${id} and key is null`
