import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Logger } from 'pino'
import { holdDownload, type RequestLimiters } from '../../http/limiters.ts'
import { Problem } from '../../http/problem.ts'
import { spanOf } from '../../http/range.ts'
import { parse, print } from '../../lib/id.ts'
import { isShown } from './limits.ts'
import type { Media, StoredMedia } from './ops.ts'
import type { MediaRow } from './store.ts'

/** A file may be asked for at once when a webhook tells of it: it is waited for so long while it is fetched. */
const patienceMs = 10_000
const everyMs = 250

/** Nothing that somebody sent may act as a page of ours: shown in place are pictures, sound and video alone. */
const headersOf = ({ mime_type, name }: MediaRow): Record<string, string> => {
  const how = isShown(mime_type) ? 'inline' : 'attachment'
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

type Asked = {
  Params: { id: string }
  Querystring: { account?: string; until?: string; signature?: string }
}

const refused = () => new Problem('notFound', 'There is no such file, or the link to it has ended', 'media_not_found')

const arrived = async (media: Media, account: string, id: string): Promise<StoredMedia> => {
  const end = performance.now() + patienceMs
  for (;;) {
    const row = await media.find(account, id)
    if (!row || row.error !== null) throw refused()
    const { key } = row
    if (key !== null) return { ...row, key }
    if (performance.now() > end)
      throw new Problem('unavailable', 'The file is still being fetched: try again', 'media_pending', {
        'retry-after': '5',
      })
    await setTimeout(everyMs)
  }
}

const send = async (
  media: Media,
  row: StoredMedia,
  asked: IncomingHttpHeaders,
  reply: FastifyReply,
  failed: (error: unknown) => void,
) => {
  const size = row.size ?? 0
  const span = spanOf(asked, size)
  if (span === 'none') return reply.headers(headersOf(row)).code(416).header('content-range', `bytes */${size}`).send()
  // Headers follow once the beginning could be read: a refusal must not be kept, nor pass for the file.
  const content = (await media.read(row, span ?? undefined)).once('error', failed)
  reply.headers(headersOf(row))
  if (span === null) return reply.header('content-length', size).send(content)
  const { start, end } = span
  reply
    .code(206)
    .header('content-range', `bytes ${start}-${end}/${size}`)
    .header('content-length', end - start + 1)
  return reply.send(content)
}

/** Serves files by their links. No part of the interface for customers, who are given whole links, and so in no contract. */
export const installMedia = (
  app: FastifyInstance,
  media: Media,
  { log, limiters }: { readonly log: Pick<Logger, 'error'>; readonly limiters: RequestLimiters },
): void => {
  app.get<Asked>('/media/:id', async ({ params, query, headers }, reply) => {
    const { account = '', until = '', signature = '' } = query
    const known = [params.id, account].map((text) => parse('MSG', print('MSG', String(text))))
    const [id, owner] = known
    if (!id || !owner || !media.links.isOpen(owner, id, String(until), String(signature))) throw refused()
    holdDownload(limiters, owner, reply)
    const failed = (error: unknown) => log.error({ media: id, err: error }, 'files of messages: reading failed')
    return send(media, await arrived(media, owner, id), headers, reply, failed)
  })
}
