import type { Sql } from '../../../platform/db/sql.ts'
import type { SignedLinks } from '../../../platform/lib/signed-links.ts'
import type { ChatMediaType } from '../../../ports/chat-message.ts'
import type { Media } from '../../msgapp/media/ops.ts'
import { presentMessage } from '../message-presenter.ts'
import type { MessageRow, PresentedFile } from '../store.ts'

type FileRow = {
  readonly id: string
  readonly type: ChatMediaType
  readonly mimeType: string
  readonly name: string
  readonly size?: number | null
  readonly error?: string | null
}

/** Maps a file of a message to its form in the API, with a temporary link to it. */
export const presentFile = (links: SignedLinks, account: string, file: FileRow): PresentedFile => ({
  ...(file.error ? { error: file.error } : { url: links.urlOf(account, file.id) }),
  type: file.type,
  mime_type: file.mimeType,
  ...(file.name === '' ? {} : { name: file.name }),
  ...(typeof file.size === 'number' ? { size: file.size } : {}),
})

/** Maps messages of an account to their form in the API. Their files are read if any message has some. */
export const presentMessages = async <Row extends MessageRow>(
  { links, findAll }: Pick<Media, 'links' | 'findAll'>,
  sql: Sql,
  account: string,
  rows: readonly Row[],
) => {
  const ids = rows.flatMap(({ media_ids }) => media_ids ?? [])
  const found = ids.length === 0 ? [] : await findAll(sql, account, ids)
  const files = new Map(
    found.map(({ id, mime_type: mimeType, ...file }) => [id, presentFile(links, account, { id, mimeType, ...file })]),
  )
  return rows.map((row) => {
    const media = row.media_ids?.flatMap((id) => files.get(id) ?? [])
    return presentMessage({ ...row, ...(media ? { media } : {}) })
  })
}
