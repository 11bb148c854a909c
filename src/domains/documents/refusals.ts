import { conflict, invalid, mediaType, notFound } from '../../platform/http/problem.ts'

export const refusals = {
  unsupportedType: (types: string) => mediaType(`content-type must be one of ${types}`),
  unknownDocument: (document: string) => notFound(`There is no document ${document}`).at('document_uuid'),
  contentNotOfType: (type: string) =>
    invalid(`The file does not begin like ${type}: send the right content-type`, 'invalid_document'),
  tooManyDocuments: (count: number, bytes: number, maxCount: number, maxBytes: number) =>
    conflict(
      `The account has ${count} documents of ${bytes} bytes; the limit is ${maxCount} of ${maxBytes}: delete some`,
      'too_many_documents',
    ),
  documentInUse: (number: string) => conflict(`${number} is registered with this document`, 'document_in_use'),
}
