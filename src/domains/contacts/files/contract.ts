import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Country, Enum, FileBody, Named, Ok } from '../../../platform/http/schema.ts'
import { nameFields, otherFields } from '../contact-fields.ts'
import { previewBytes, previewLines } from '../limits.ts'
import { meanings } from './csv-columns.ts'

const open = { auth: 'account', shape: 'full', tag: 'Contacts' } as const

const columns = [...nameFields, 'phone', 'phone_2', 'email', 'address', ...otherFields]

const BadLines = Type.Array(
  Named(
    'ContactImportError',
    Type.Object({
      line: Type.Integer({ minimum: 1 }),
      error: Type.String({ examples: ['the first name is missing'] }),
    }),
  ),
  { description: 'The first 1,000 bad lines and bad details, in order' },
)

const fileFields = {
  encoding: Type.String({ description: 'The encoding in which the file was read', examples: ['windows-1252'] }),
  ignored_columns: Type.Array(Type.String(), {
    description: 'Columns of a CSV file, or properties of vCards, with values that were not taken over: the first 100',
    examples: [['Job Title']],
  }),
}

export const importContacts = contract({
  ...open,
  id: 'importContacts',
  client: 'contacts.import',
  needs: 'inbox',
  method: 'POST',
  url: '/open/contacts/import',
  summary:
    `Import contacts, of any number, from CSV (${columns.join(', ')}, or the ` +
    'names that address books give them) or from vCards (text/vcard). One bad line rejects the whole file',
  description:
    'The file is streamed. Its encoding and its separator (comma, semicolon or tab) are detected; a charset of the ' +
    'Content-Type is used for a file that is not UTF-8. A bad number or address is left out and reported, and its ' +
    'contact imported. The reply counts created, merged and skipped contacts.',
  stream: true,
  media: ['text/csv', 'text/vcard', 'text/x-vcard'],
  query: Type.Object({
    duplicates: Type.Optional(
      Enum(['skip', 'merge', 'create'], {
        description:
          'How to treat a contact if the account already has one of its phone numbers or e-mail addresses: skip it ' +
          '(the default), merge it into the existing contact, or create it anyway',
      }),
    ),
    bad_lines: Type.Optional(
      Enum(['refuse', 'skip'], {
        description: 'refuse (the default): one bad line rejects the whole file; skip: the other lines are imported',
      }),
    ),
    country: Type.Optional({
      ...Country,
      description: 'Country whose national numbers are accepted too, such as 07700 900123 of GB',
    }),
    columns: Type.Optional(
      Type.String({
        maxLength: 10_000,
        description: `Meanings of the columns of a CSV file, in their order, with commas: ${meanings.join(', ')}. Empty: by the name in the first line`,
        examples: ['name,,ignore,phone'],
      }),
    ),
    header: Type.Optional(
      Type.Boolean({ description: 'false: the first line of a CSV file is a contact, and columns has the names' }),
    ),
  }),
  body: Type.Unsafe<string>({
    type: 'string',
    contentMediaType: 'text/csv',
    examples: ['first_name,last_name,phone,email\nAda,Lovelace,+447700900123,ada@example.com\n'],
  }),
  status: 201,
  reply: Ok({
    read: Type.Integer({ description: 'Contacts in the file' }),
    created: Type.Integer(),
    merged: Type.Integer({ description: 'Merged into an existing contact' }),
    skipped: Type.Integer({ description: 'Skipped because the contact exists' }),
    bad_lines: Type.Integer({ description: 'Skipped because the line is bad' }),
    bad_details: Type.Integer({
      description: 'Numbers and addresses that are bad. Their contacts are imported without them; lines names them',
    }),
    lines: BadLines,
    ...fileFields,
  }),
  codes: { invalid: ['invalid_file'], unavailable: ['import_running'] },
  errors: {
    invalid: 'Some lines are bad, so nothing was imported; lists the first 1,000',
    mediaType: 'The file is neither text/csv nor text/vcard',
  },
  faults: Type.Object({
    bad_lines: Type.Optional(Type.Integer({ description: 'Total number of bad lines' })),
    lines: Type.Optional(BadLines),
    encoding: Type.Optional(fileFields.encoding),
    ignored_columns: Type.Optional(fileFields.ignored_columns),
  }),
})

export const previewContactImport = contract({
  ...open,
  id: 'previewContactImport',
  client: 'contacts.previewImport',
  needs: 'inbox',
  method: 'POST',
  url: '/open/contacts/import/preview',
  summary: 'How a file of contacts would be read: its encoding, its separator, its columns, and its first lines',
  description: `Nothing is imported. Send the first ${previewBytes / 1024} KiB of the file, or all of it: the rest is not read.`,
  stream: true,
  media: ['text/csv', 'text/vcard', 'text/x-vcard'],
  body: Type.Unsafe<string>({
    type: 'string',
    contentMediaType: 'text/csv',
    examples: ['Vorname;Nachname;Telefon\nAda;Lovelace;+447700900123\n'],
  }),
  status: 200,
  reply: Ok({
    encoding: fileFields.encoding,
    separator: Type.Optional(
      Type.String({ description: 'Separator of a CSV file: comma, semicolon or tab', examples: [';'] }),
    ),
    columns: Type.Array(
      Named(
        'ContactImportColumn',
        Type.Object({
          title: Type.String({ examples: ['Vorname'] }),
          meaning: Enum([...meanings, 'recognised'], {
            description: 'recognised: a part of an address, a label or a further name. For vCards: name, phone, email',
          }),
        }),
      ),
    ),
    rows: Type.Array(
      Named('ContactImportRow', Type.Object({ line: Type.Integer({ minimum: 1 }), cells: Type.Array(Type.String()) })),
      { description: `The first line, and up to ${previewLines} lines after it` },
    ),
  }),
  codes: { invalid: ['invalid_file'] },
  errors: {
    invalid: 'The body is empty',
    mediaType: 'The file is neither text/csv nor text/vcard',
  },
})

export const exportContacts = contract({
  ...open,
  id: 'exportContacts',
  audited: true,
  proof: true,
  client: 'contacts.export',
  needs: 'inbox',
  method: 'GET',
  url: '/open/contacts/export',
  summary: 'All contacts as CSV or vCard 4.0; the import accepts the file',
  description: 'The file contains every contact of the account.',
  query: Type.Object({ format: Type.Optional(Enum(['csv', 'vcf'], { description: 'Default csv' })) }),
  status: 200,
  reply: FileBody('text/csv', 'first_name,last_name,phone\r\n'),
  headers: { 'content-disposition': 'The name of the file' },
  errors: {},
})
