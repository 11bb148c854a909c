import type { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { holdDownload } from '../http/limiters.ts'
import { notFound, Problem } from '../http/problem.ts'
import { spanOf } from '../http/range.ts'
import { type FileCipher, Unreadable } from '../lib/encrypted-file.ts'
import { Missing, openFile, type Place, type Span } from '../lib/files.ts'
import { parse } from '../lib/id.ts'
import type { Parts } from '../parts.ts'
import { keyOf, storeOf } from './archive.ts'
import { recordingLinks } from './links.ts'
import * as recordings from './recordings.ts'

type Asked = {
  Params: { file: string }
  Querystring: { account?: string; until?: string; signature?: string }
}

const refused = (): never => notFound('There is no such recording, or the link to it has ended', 'recording_not_found')

const away = (): never => {
  throw new Problem('unavailable', 'The recording cannot be had at this moment: try again', 'recording_pending', {
    'retry-after': '5',
  })
}

const unlessMissing = (error: unknown): null => {
  if (error instanceof Missing) return null
  throw error
}

type Where = {
  readonly account: string
  readonly call: string
  readonly config: Parts['config']
  readonly cipher: FileCipher
  readonly store: Place | null
  /** Told why the store could not be asked. */
  failed(error: unknown): void
}

/** From the disk or the store: it may move while it is looked for. */
const opened = async (where: Where, { kept, is_new, bytes, encrypted }: recordings.Heard, span: Span | null) => {
  const { account, call, config, cipher, store, failed } = where
  const part = span ?? undefined
  const read = (get: (part?: Span) => Promise<Readable>): Promise<Readable> =>
    encrypted ? recordings.openEncrypted(cipher, get, { account, call, bytes }, part) : get(part)
  const path = recordings.fileOf(config, account, call) + (encrypted ? recordings.encryptedEnding : '')
  const here = kept === 'store' ? null : await read((part) => openFile(path, part)).catch(unlessMissing)
  if (here) return here
  const there =
    store &&
    (await read((part) => store.get(keyOf(account, call, encrypted), part)).catch((error: unknown) => {
      if (error instanceof Missing) return null
      if (error instanceof Unreadable) throw error
      failed(error)
      return away()
    }))
  // Another machine may be about to bring it there; else it was deleted by hand.
  return there ?? (store && kept !== 'store' && is_new ? away() : refused())
}

/** Serves recordings by their links. No part of the interface for customers, who are given whole links, and so in no contract. */
export const installRecordings = (app: FastifyInstance, parts: Parts): void => {
  const links = recordingLinks(parts)
  const store = storeOf(parts.config)
  const cipher = recordings.recordingCipher(parts.seal)
  app.get<Asked>('/recordings/:file', async ({ params, query, headers }, reply) => {
    const call = params.file.endsWith('.wav') ? parse('CDR', params.file.slice(0, -4)) : null
    const account = parse('ACC', `ACC${query.account ?? ''}`)
    if (!call || !account || !links.isOpen(account, call, String(query.until), String(query.signature)))
      return refused()
    holdDownload(parts.limiters, account, reply)
    const known = (await recordings.find(parts.db, account, call)) ?? refused()
    const span = spanOf(headers, known.bytes)
    if (span === 'none') return reply.code(416).header('content-range', `bytes */${known.bytes}`).send()
    const failed = (error: unknown) =>
      parts.log.error({ call, err: error }, 'the store of recordings could not be asked')
    const broken = (error: unknown) => parts.log.error({ call, err: error }, 'recordings: reading failed')
    const where = { account, call, config: parts.config, cipher, store, failed }
    const stream = (await opened(where, known, span)).once('error', broken)
    reply.headers({
      'content-type': 'audio/wav',
      'content-disposition': `inline; filename="${params.file}"`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': 'private, max-age=3600',
      'accept-ranges': 'bytes',
    })
    if (span === null) return reply.header('content-length', known.bytes).send(stream)
    reply.code(206).header('content-range', `bytes ${span.start}-${span.end}/${known.bytes}`)
    return reply.header('content-length', span.end - span.start + 1).send(stream)
  })
}
