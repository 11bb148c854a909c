import { ok, route, routeWithoutTransaction } from '../../platform/http/endpoint.ts'
import { cursorsOf } from '../../platform/http/list-cursor.ts'
import { cutPage, requestedPage, totalFields } from '../../platform/http/paging.ts'
import { refuse } from '../../platform/http/problem.ts'
import { storedBytes } from '../../platform/http/quotas.ts'
import { countDownload } from '../../platform/http/request-limiters.ts'
import { iso } from '../../platform/lib/clock.ts'
import { parse, print, uuid } from '../../platform/lib/id.ts'
import { mediaTypeOf } from '../../platform/lib/media-type.ts'
import type { Services } from '../../services.ts'
import * as c from './contract.ts'
import { maxDocumentBytes, maxDocuments } from './limits.ts'
import { fileHeaders, readFile, storeFile } from './ops.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

/** First bytes of each type: ISO 32000-2, 7.5.2; ISO/IEC 10918-1, B.1.1.3; RFC 2083, 3.1. */
const signatures = {
  'application/pdf': Buffer.from('%PDF-'),
  'image/jpeg': Buffer.from([0xff, 0xd8, 0xff]),
  'image/png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
}

const documentTypeOf = (header: string | undefined): store.MediaType => {
  const type = mediaTypeOf(header)
  for (const known of c.uploadDocument.media) if (known === type) return known
  throw refusals.unsupportedType(c.uploadDocument.media.join(', '))
}

const presentDocument = (row: store.DocumentRow) => ({
  uuid: print('DOC', row.id),
  name: row.name,
  kind: row.kind,
  media_type: row.media_type,
  size: row.size,
  created_at: iso(row.created_at),
})

const cursors = cursorsOf(c.listDocuments)

export const documentRoutes = ({ db, seal, quotas, limiters }: Services) => {
  const documentOf = async (account: string, printed: string) => {
    const id = parse('DOC', printed)
    return (id && (await store.find(db, account, id))) || refuse(refusals.unknownDocument(printed))
  }

  return [
    route(c.uploadDocument, async ({ account, query, body, request, tx }) => {
      const type = documentTypeOf(request.headers['content-type'])
      if (!Buffer.isBuffer(body) || !body.subarray(0, signatures[type].length).equals(signatures[type]))
        throw refusals.contentNotOfType(type)
      const { count, bytes } = await store.usage(tx, account.id)
      if (count >= maxDocuments || bytes + body.length > maxDocumentBytes)
        throw refusals.tooManyDocuments(count, bytes, maxDocuments, maxDocumentBytes)
      const document = { account_id: account.id, id: uuid(), name: query.name, kind: query.kind, media_type: type }
      const stored = await storeFile(tx, seal, document, body)
      await quotas.check(tx, account, 'stored_bytes', () => storedBytes(tx, account.id))
      return ok({ document: presentDocument(stored) })
    }),

    route(c.listDocuments, async ({ account, query }) => {
      const pageRequest = requestedPage(query, cursors.key(query.cursor))
      const [found, total] = await Promise.all([
        store.page(db, account.id, pageRequest.read),
        store.total(db, account.id),
      ])
      const { rows, fields } = cutPage(pageRequest, found, ({ at, id }) => cursors.write({ time: at, id }))
      return ok({ ...fields, ...totalFields(total), documents: rows.map(presentDocument) })
    }),

    route(c.getDocument, async ({ account, params }) =>
      ok({ document: presentDocument(await documentOf(account.id, params.document_uuid)) }),
    ),

    routeWithoutTransaction(c.getDocumentContent, async ({ account, params, reply, audit }) => {
      const found = await documentOf(account.id, params.document_uuid)
      countDownload(limiters, account.id, reply)
      await audit(null, { after: { name: found.name, kind: found.kind } })
      reply.headers(fileHeaders(found))
      return readFile(db, seal, found)
    }),

    route(c.deleteDocument, async ({ account, params, tx, audit }) => {
      const printed = params.document_uuid
      const id = parse('DOC', printed)
      const found = (id && (await store.lock(tx, account.id, id))) || refuse(refusals.unknownDocument(printed))
      const user = await store.registeredNumber(tx, account.id, found.id)
      if (user) throw refusals.documentInUse(user.number)
      await store.remove(tx, account.id, found.id)
      const { name, kind, media_type, size } = found
      await audit(tx, { before: { name, kind, media_type, size } })
      return ok({})
    }),
  ]
}
