import { createReadStream } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { Problem } from '../http/problem.ts'
import { spanOf } from '../http/range.ts'
import { parse } from '../lib/id.ts'
import type { Parts } from '../parts.ts'
import { recordingLinks } from './links.ts'
import * as recordings from './recordings.ts'

type Asked = {
  Params: { file: string }
  Querystring: { account?: string; until?: string; signature?: string }
}

const refused = () =>
  new Problem('notFound', 'There is no such recording, or the link to it has ended', 'recording_not_found')

const opened = async (path: string, span: { start: number; end: number } | null) => {
  const stream = createReadStream(path, span ?? {})
  await new Promise<void>((found, missing) => {
    stream.once('ready', found).once('error', missing)
  }).catch(() => {
    // Another machine's, or deleted by hand.
    throw refused()
  })
  return stream
}

/** Serves recordings by their links. No part of the interface for customers, who are given whole links, and so in no contract. */
export const installRecordings = (app: FastifyInstance, parts: Parts): void => {
  const links = recordingLinks(parts)
  app.get<Asked>('/recordings/:file', async ({ params, query, headers }, reply) => {
    const call = params.file.endsWith('.wav') ? parse('CDR', params.file.slice(0, -4)) : null
    const account = parse('ACC', `ACC${query.account ?? ''}`)
    if (!call || !account || !links.isOpen(account, call, String(query.until), String(query.signature))) throw refused()
    const known = await recordings.find(parts.db, account, call)
    if (!known) throw refused()
    const span = spanOf(headers.range, known.bytes)
    reply.headers({
      'content-type': 'audio/wav',
      'content-disposition': `inline; filename="${params.file}"`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': 'private, max-age=3600',
      'accept-ranges': 'bytes',
    })
    if (span === 'none') return reply.code(416).header('content-range', `bytes */${known.bytes}`).send()
    const stream = await opened(recordings.fileOf(parts.config, account, call), span)
    if (span === null) return reply.header('content-length', known.bytes).send(stream)
    reply.code(206).header('content-range', `bytes ${span.start}-${span.end}/${known.bytes}`)
    return reply.header('content-length', span.end - span.start + 1).send(stream)
  })
}
