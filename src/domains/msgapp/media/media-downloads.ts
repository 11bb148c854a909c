import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Logger } from 'pino'
import { byteRangeOf } from '../../../platform/http/range.ts'
import { countDownload, type RequestLimiters } from '../../../platform/http/request-limiters.ts'
import { UnreadableFile } from '../../../platform/lib/chunk-cipher.ts'
import { FileNotFound } from '../../../platform/lib/file-store.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import { downloadPollMs, downloadWaitMs } from '../limits.ts'
import { refusals } from '../refusals.ts'
import { isDisplayable } from './media-types.ts'
import type { Media, StoredMedia } from './ops.ts'
import type { MediaRow } from './store.ts'

/** Received files must not act as pages of this origin: only pictures, sound and video are displayed inline. */
const headersOf = ({ mime_type, name }: MediaRow): Record<string, string> => {
  const how = isDisplayable(mime_type) ? 'inline' : 'attachment'
  const called = encodeURIComponent(name || 'file').replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`)
  return {
    'content-type': mime_type,
    'content-disposition': `${how}; filename*=UTF-8''${called}`,
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'cross-origin-resource-policy': 'cross-origin',
    'cache-control': 'private, max-age=3600',
    'accept-ranges': 'bytes',
  }
}

type MediaRequest = {
  Params: { id: string }
  Querystring: { account?: string; until?: string; signature?: string }
}

const waitForFile = async (media: Media, account: string, id: string): Promise<StoredMedia> => {
  const end = performance.now() + downloadWaitMs
  for (;;) {
    const row = await media.find(account, id)
    if (!row || row.error !== null) throw refusals.mediaNotFound()
    const { key } = row
    if (key !== null) return { ...row, key }
    if (performance.now() > end) throw refusals.mediaPending()
    await setTimeout(downloadPollMs)
  }
}

const sendFile = async (
  media: Media,
  row: StoredMedia,
  requestHeaders: IncomingHttpHeaders,
  reply: FastifyReply,
  failed: (error: unknown) => void,
) => {
  const size = row.size ?? 0
  const span = byteRangeOf(requestHeaders, size)
  if (span === 'none') return reply.headers(headersOf(row)).code(416).header('content-range', `bytes */${size}`).send()
  // Headers follow only after the first successful read: a rejection must not be cached, nor be taken as the file.
  const opened = await media.read(row, span ?? undefined).catch((error: unknown) => {
    failed(error)
    if (error instanceof UnreadableFile) throw error
    throw error instanceof FileNotFound ? refusals.fileMissing() : refusals.fileStoreUnavailable()
  })
  const content = opened.once('error', failed)
  reply.headers(headersOf(row))
  if (span === null) return reply.header('content-length', size).send(content)
  const { start, end } = span
  reply
    .code(206)
    .header('content-range', `bytes ${start}-${end}/${size}`)
    .header('content-length', end - start + 1)
  return reply.send(content)
}

/** Serves files by signed links. Customers get complete links, so this is not part of the API contract. */
export const installMedia = (
  app: FastifyInstance,
  media: Media,
  { log, limiters }: { readonly log: Pick<Logger, 'error'>; readonly limiters: RequestLimiters },
): void => {
  app.get<MediaRequest>('/media/:id', async ({ params, query, headers }, reply) => {
    const { account = '', until = '', signature = '' } = query
    const known = [params.id, account].map((text) => parse('MSG', print('MSG', String(text))))
    const [id, owner] = known
    if (!id || !owner || !media.links.isValid(owner, id, String(until), String(signature)))
      throw refusals.mediaNotFound()
    countDownload(limiters, owner, reply)
    const failed = (error: unknown) => log.error({ media: id, err: error }, 'msgapp: reading media failed')
    return sendFile(media, await waitForFile(media, owner, id), headers, reply, failed)
  })
}
