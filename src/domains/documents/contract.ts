import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import {
  Enum,
  FileBody,
  FreeText,
  Id,
  Named,
  Ok,
  pageFields,
  pagingQuery,
  Success,
  Time,
} from '../../platform/http/schema.ts'

const open = { auth: 'account', shape: 'full', tag: 'Numbers' } as const

const media = ['application/pdf', 'image/jpeg', 'image/png'] as const
const unknown = 'No such document of the account'
const params = Type.Object({ document_uuid: Id('DOC') })

const Document = Named(
  'Document',
  Type.Object({
    uuid: Id('DOC'),
    name: Type.String({ examples: ['passport.pdf'] }),
    kind: Enum(['identity', 'address', 'proof']),
    media_type: Enum([...media]),
    size: Type.Integer({ description: 'Bytes' }),
    created_at: Time,
  }),
)

export const uploadDocument = contract({
  ...open,
  id: 'uploadDocument',
  client: 'documents.upload',
  needs: 'numbers',
  method: 'POST',
  url: '/open/numbers/documents',
  summary:
    'Upload a document that a regulator requires: the body is the file itself. Files are encrypted at rest; an account may store up to 1,000 documents and 256 MiB',
  description:
    'PDF, JPEG and PNG files up to 16 MiB are accepted. Use the uuid of the document to answer a requirement.',
  query: Type.Object({
    name: FreeText(200, 'Name for people'),
    kind: Enum(['identity', 'address', 'proof'], { description: 'The kind of the requirement that it meets' }),
  }),
  media,
  bodyLimit: 16 * 1024 * 1024,
  body: FileBody('application/pdf', '%PDF-1.7 …'),
  status: 201,
  reply: Ok({ document: Document }),
  codes: { invalid: ['invalid_document'], conflict: ['too_many_documents'] },
  errors: {
    invalid: 'name or kind is missing or wrong, or the file does not match its content-type',
    conflict: 'The account has reached its limit of documents, or the Idempotency-Key was used with another file',
    tooLarge: 'The file is larger than 16 MiB',
    mediaType: 'The file is neither application/pdf, nor image/jpeg, nor image/png',
  },
})

export const listDocuments = contract({
  ...open,
  id: 'listDocuments',
  csv: 'documents',
  client: 'documents.list',
  needs: 'numbers',
  method: 'GET',
  url: '/open/numbers/documents',
  summary: 'List the documents of the account, newest first',
  description: 'The list has the metadata of each file, not its content.',
  query: Type.Object({ ...pagingQuery }),
  status: 200,
  reply: Ok({
    ...pageFields,
    documents: Type.Array(Document),
  }),
  errors: {},
})

export const getDocument = contract({
  ...open,
  id: 'getDocument',
  client: 'documents.get',
  needs: 'numbers',
  method: 'GET',
  url: '/open/numbers/documents/:document_uuid',
  summary: 'Read the metadata of a document',
  description: 'The reply describes the file; download its content with getDocumentContent.',
  params,
  status: 200,
  reply: Ok({ document: Document }),
  errors: { notFound: unknown },
})

export const getDocumentContent = contract({
  ...open,
  id: 'getDocumentContent',
  audited: true,
  client: 'documents.content',
  needs: 'numbers',
  method: 'GET',
  url: '/open/numbers/documents/:document_uuid/content',
  summary: 'Download the file as it was uploaded',
  description: 'The response has the media type of the upload.',
  params,
  status: 200,
  reply: FileBody('application/pdf', '%PDF-1.7 …'),
  errors: { notFound: unknown },
})

export const deleteDocument = contract({
  ...open,
  id: 'deleteDocument',
  client: 'documents.delete',
  audited: true,
  needs: 'numbers',
  method: 'DELETE',
  url: '/open/numbers/documents/:document_uuid',
  summary: 'Delete a document permanently; refused while a number of the account is registered with it',
  description: 'The file and its metadata are removed. Numbers that were registered with it must be released first.',
  params,
  status: 200,
  reply: Success,
  codes: { conflict: ['document_in_use'] },
  errors: { notFound: unknown, conflict: 'A number of the account is registered with it' },
})
