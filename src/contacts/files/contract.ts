import { Type } from 'typebox'
import { contract } from '../../http/endpoint.ts'
import { Country, Enum, File, Ok } from '../../http/schema.ts'

const open = { auth: 'account', shape: 'full', tag: 'Contacts' } as const

const BadLines = Type.Array(
  Type.Object({ line: Type.Integer({ minimum: 1 }), error: Type.String({ examples: ['the first name is missing'] }) }),
  { description: 'The first 1,000 of the bad lines, in their order' },
)

export const importContacts = contract({
  ...open,
  id: 'importContacts',
  needs: 'inbox',
  method: 'POST',
  url: '/open/contacts/import',
  summary:
    'Import contacts, of any number, from CSV (first_name, last_name, phone, phone_2, email, address, profile_pic_url, or the ' +
    'names that address books give them) or from vCards (text/vcard). One bad line, and nothing is imported',
  stream: true,
  media: ['text/csv', 'text/vcard', 'text/x-vcard'],
  query: Type.Object({
    duplicates: Type.Optional(
      Enum(['skip', 'merge', 'create'], {
        description:
          'What to do with a contact of whose phone numbers and e-mail addresses the account has one already: pass it over ' +
          '(the default), add to the one that is there what it lacks, or create it all the same',
      }),
    ),
    bad_lines: Type.Optional(
      Enum(['refuse', 'skip'], {
        description: 'refuse (the default): one, and nothing is imported; skip: the others are',
      }),
    ),
    country: Type.Optional({
      ...Country,
      description: 'Whose national numbers are read too, such as 07700 900123 of GB',
    }),
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
    merged: Type.Integer({ description: 'Added to one that was there' }),
    skipped: Type.Integer({ description: 'Passed over, since one was there' }),
    bad_lines: Type.Integer({ description: 'Passed over, since they are bad' }),
    lines: BadLines,
  }),
  errors: {
    invalid: 'Lines are bad, and nothing was imported; every one of the first 1,000 is told',
    mediaType: 'The file is neither text/csv nor text/vcard',
  },
  faults: Type.Object({
    bad_lines: Type.Optional(Type.Integer({ description: 'How many there are in all' })),
    lines: Type.Optional(BadLines),
  }),
})

export const exportContacts = contract({
  ...open,
  id: 'exportContacts',
  needs: 'inbox',
  method: 'GET',
  url: '/open/contacts/export',
  summary: 'All contacts as a file, of CSV or of vCards 4.0, that the import takes again',
  query: Type.Object({ format: Type.Optional(Enum(['csv', 'vcf'], { description: 'Default csv' })) }),
  status: 200,
  reply: File('text/csv', 'first_name,last_name,phone\r\n'),
  headers: { 'content-disposition': 'The name of the file' },
  errors: {},
})
