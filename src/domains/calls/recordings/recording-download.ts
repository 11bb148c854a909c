import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { refuse } from '../../../platform/http/problem.ts'
import { byteRangeOf } from '../../../platform/http/range.ts'
import { countDownload } from '../../../platform/http/request-limiters.ts'
import { UnreadableFile } from '../../../platform/lib/chunk-cipher.ts'
import { type FileCipher, recordingCipher } from '../../../platform/lib/encrypted-file.ts'
import { type ByteRange, FileNotFound, type FileStore, openFile } from '../../../platform/lib/file-store.ts'
import { parse } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { refusals } from '../refusals.ts'
import * as recordings from './recording-files.ts'
import { linkedFileOf, recordingLinks } from './recording-links.ts'
import { storeKeyOf, storeOf } from './recording-upload.ts'

type LinkQuery = { account?: string; until?: string; signature?: string }

const pendingAnswer = (): never => {
  throw refusals.recordingPending()
}

const unlessMissing = (error: unknown): null => {
  if (error instanceof FileNotFound) return null
  throw error
}

type RecordingSource = {
  readonly account: string
  readonly config: Services['config']
  readonly cipher: FileCipher
  readonly store: FileStore | null
  /** Called with the error of a failed store request. */
  failed(error: unknown): void
}

/** Opens the recording from the disk, then from the store, as it may move meanwhile. */
const openRecording = async (
  where: RecordingSource,
  { id, kept, is_new, bytes, encrypted }: recordings.AvailableRecording,
  span: ByteRange | null,
) => {
  const { account, config, cipher, store, failed } = where
  const part = span ?? undefined
  const read = (get: (part?: ByteRange) => Promise<Readable>): Promise<Readable> =>
    encrypted ? recordings.decryptRecording(cipher, get, { account, id, bytes }, part) : get(part)
  const path = recordings.fileOf(config, account, id) + (encrypted ? recordings.encryptedSuffix : '')
  const here = kept === 'store' ? null : await read((part) => openFile(path, part)).catch(unlessMissing)
  if (here) return here
  const available =
    store &&
    (await read((part) => store.get(storeKeyOf(account, id, encrypted), part)).catch((error: unknown) => {
      if (error instanceof FileNotFound) return null
      if (error instanceof UnreadableFile) throw error
      failed(error)
      return pendingAnswer()
    }))
  // Another machine may still be uploading it. Otherwise it was deleted by hand.
  if (available) return available
  if (store && kept !== 'store' && is_new) return pendingAnswer()
  failed(new FileNotFound('neither the disk of this process nor the store has the recording'))
  throw refusals.recordingNotFound()
}

/** Serves recordings by their links. Customers receive whole links, so this path is in no contract. */
export const installRecordingDownloads = (app: FastifyInstance, parts: Services): void => {
  const links = recordingLinks(parts)
  const store = storeOf(parts.config)
  const cipher = recordingCipher(parts.seal)
  const send = async (name: string, query: LinkQuery, { headers }: FastifyRequest, reply: FastifyReply) => {
    const file = linkedFileOf(name)
    const account = parse('ACC', `ACC${query.account ?? ''}`)
    if (!file || !account || !links.isValid(account, file, String(query.until), String(query.signature)))
      throw refusals.recordingNotFound()
    countDownload(parts.limiters, account, reply)
    const known =
      (await ('call' in file
        ? recordings.findFirstRecording(parts.db, account, file.call)
        : recordings.findRecording(parts.db, account, file.recording))) ?? refuse(refusals.recordingNotFound())
    const span = byteRangeOf(headers, known.bytes)
    if (span === 'none') return reply.code(416).header('content-range', `bytes */${known.bytes}`).send()
    const failed = (error: unknown) =>
      parts.log.error({ recording: known.id, err: error }, 'recordings: store request failed')
    const broken = (error: unknown) =>
      parts.log.error({ recording: known.id, err: error }, 'recordings: reading failed')
    const where = { account, config: parts.config, cipher, store, failed }
    const stream = (await openRecording(where, known, span)).once('error', broken)
    reply.headers({
      'content-type': 'audio/wav',
      'content-disposition': `inline; filename="${name.endsWith('.wav') ? name : `${name}.wav`}"`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': 'private, max-age=3600',
      'accept-ranges': 'bytes',
    })
    if (span === null) return reply.header('content-length', known.bytes).send(stream)
    reply.code(206).header('content-range', `bytes ${span.start}-${span.end}/${known.bytes}`)
    return reply.header('content-length', span.end - span.start + 1).send(stream)
  }
  app.get<{ Params: { file: string }; Querystring: LinkQuery }>('/recordings/:file', (request, reply) =>
    send(request.params.file, request.query, request, reply),
  )
  // Links without a query, of the compatible interface.
  app.get<{ Params: LinkQuery & { file: string } }>('/recordings/:account/:until/:signature/:file', (request, reply) =>
    send(request.params.file, request.params, request, reply),
  )
}
