import { Type } from 'typebox'
import { contract } from '../http/endpoint.ts'
import { Enum, File, Id, Ok, paging, Time, Words } from '../http/schema.ts'

const open = { auth: 'account', shape: 'full', tag: 'Numbers' } as const

const media = ['application/pdf', 'image/jpeg', 'image/png'] as const
const unknown = 'No such document of the account'
const params = Type.Object({ document_uuid: Id('DOC') })

const Document = Type.Object({
  uuid: Id('DOC'),
  name: Type.String({ examples: ['passport.pdf'] }),
  kind: Enum(['identity', 'address', 'proof']),
  media_type: Enum([...media]),
  size: Type.Integer({ description: 'Bytes' }),
  created_at: Time,
})

export const uploadDocument = contract({
  ...open,
  id: 'uploadDocument',
  needs: 'numbers',
  method: 'POST',
  url: '/open/numbers/documents',
  summary:
    'Upload a document that a regulator asks for: the body is the file itself. It is encrypted at rest; an account keeps up to 1,000 documents and 256 MiB',
  query: Type.Object({
    name: Words(200, 'How people call it'),
    kind: Enum(['identity', 'address', 'proof'], { description: 'As that of the requirement for which it is' }),
  }),
  media,
  bodyLimit: 16 * 1024 * 1024,
  body: File('application/pdf', '%PDF-1.7 …'),
  status: 201,
  reply: Ok({ document: Document }),
  errors: {
    invalid: 'name or kind is missing or wrong, or the file is not what its content-type says',
    conflict: 'The account keeps as many documents as it may; or the Idempotency-Key was used with another file',
    tooLarge: 'The file is over 16 MiB',
    mediaType: 'The file is neither application/pdf, nor image/jpeg, nor image/png',
  },
})

export const listDocuments = contract({
  ...open,
  id: 'listDocuments',
  needs: 'numbers',
  method: 'GET',
  url: '/open/numbers/documents',
  summary: 'The documents of the account, newest first',
  query: Type.Object({ ...paging }),
  status: 200,
  reply: Ok({
    count: Type.Integer({ description: 'Rows in this page' }),
    page: Type.Integer(),
    total: Type.Integer(),
    documents: Type.Array(Document),
  }),
  errors: {},
})

export const getDocument = contract({
  ...open,
  id: 'getDocument',
  needs: 'numbers',
  method: 'GET',
  url: '/open/numbers/documents/:document_uuid',
  summary: 'What is known of a document',
  params,
  status: 200,
  reply: Ok({ document: Document }),
  errors: { notFound: unknown },
})

export const getDocumentContent = contract({
  ...open,
  id: 'getDocumentContent',
  needs: 'numbers',
  method: 'GET',
  url: '/open/numbers/documents/:document_uuid/content',
  summary: 'The file itself, as it was uploaded',
  params,
  status: 200,
  reply: File('application/pdf', '%PDF-1.7 …'),
  errors: { notFound: unknown },
})

export const deleteDocument = contract({
  ...open,
  id: 'deleteDocument',
  audited: true,
  needs: 'numbers',
  method: 'DELETE',
  url: '/open/numbers/documents/:document_uuid',
  summary: 'Delete a document for good; not while a number of the account is registered with it',
  params,
  status: 200,
  reply: Ok({}),
  errors: { notFound: unknown, conflict: 'A number of the account is registered with it' },
})
