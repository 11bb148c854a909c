import type { Sql } from '../../../platform/db/sql.ts'
import type { Media, StoredMedia } from '../../msgapp/media/ops.ts'
import * as store from './store.ts'

/** Returns the file of a clip; null if the account has no such clip. @param id without prefix */
export const findClipFile = async (
  sql: Sql,
  media: Pick<Media, 'find'>,
  account: string,
  id: string,
): Promise<StoredMedia | null> => {
  const clip = await store.find(sql, account, id)
  const file = clip && (await media.find(account, clip.media_id))
  return file && file.key !== null && file.error === null ? { ...file, key: file.key } : null
}
