import type { Readable } from 'node:stream'
import { ok, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import type { Schedule } from '../../../platform/jobs/schedule.ts'
import { print } from '../../../platform/lib/id.ts'
import { storable } from '../../../platform/lib/storable.ts'
import type { Services } from '../../../services.ts'
import { maxUploadBytes, uploadBatchSize, uploadHours } from '../limits.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import { requestDeletions } from './media-gc.ts'
import { mimeOf } from './media-types.ts'
import * as store from './store.ts'

// Files that people upload and then send. An upload is a file without a channel; each message gets a row of its own,
// which shares the bytes.

/** Returns the name of a header, percent-encoded as in a URL; the last part of a path. */
const nameOfHeader = (header: string | string[] | undefined): string => {
  const text = String(header ?? '')
  let name = text
  try {
    name = decodeURIComponent(text)
  } catch {
    // Not percent-encoded: the name as it is.
  }
  return storable(name.split(/[\\/]/).at(-1) ?? '', 200)
}

/** Deletes uploads that are older than a day. Messages have rows of their own. */
export const deleteOldUploads: Schedule = {
  name: 'msgapp-old-uploads',
  every: 600,
  run: async (tx) => requestDeletions(tx, await store.deleteUploads(tx, uploadHours, uploadBatchSize)).then(() => {}),
}

export const uploadRoutes = ({ chat: { media } }: Pick<Services, 'chat'>) => [
  routeWithoutTransaction(c.uploadMedia, async ({ account, body, request }) => {
    if (Number(request.headers['content-length'] ?? 0) > maxUploadBytes) throw refusals.uploadTooLarge(maxUploadBytes)
    if (body === undefined) throw refusals.emptyFile()
    const name = nameOfHeader(request.headers['x-file-name'])
    const mime = mimeOf(request.headers['content-type'] ?? null, name)
    // The body of a stream is its reader.
    const row = await media.upload(account.id, { body: body as Readable, mime, name })
    return ok({
      media: {
        uuid: print('MED', row.id),
        url: media.links.urlOf(account.id, row.id),
        type: row.type,
        mime_type: row.mime_type,
        name: row.name,
        size: row.size ?? 0,
      },
    })
  }),
]
