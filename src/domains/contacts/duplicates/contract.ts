import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, Id, Named, Ok } from '../../../platform/http/schema.ts'
import { schemasOf } from '../contact-fields.ts'
import { Channel, Contact, Details } from '../contact-schemas.ts'
import { maxDuplicatesShown, maxMerged } from '../limits.ts'

const open = { auth: 'account', needs: 'inbox', shape: 'full', tag: 'Contacts' } as const

export const listDuplicates = contract({
  ...open,
  id: 'listDuplicateContacts',
  client: 'contacts.duplicates',
  method: 'GET',
  url: '/open/contacts/duplicates',
  summary: 'Contacts that may be one person: with one number, one e-mail address, or one name without case and accents',
  description:
    'Each reply examines at most 10,000 numbers, addresses or names, so a short page, even an empty one, may have a next_cursor.',
  query: Type.Object({
    by: Type.Optional(Enum(['number', 'email', 'name'], { description: 'Default: number' })),
    results_per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Default: 50' })),
    cursor: Type.Optional(Type.String({ maxLength: 2_000, description: 'next_cursor of the previous page' })),
  }),
  status: 200,
  reply: Ok({
    count: Type.Integer({ description: 'Rows in this page' }),
    duplicates: Type.Array(
      Named(
        'DuplicateContacts',
        Type.Object({
          by: Enum(['number', 'email', 'name']),
          key: Type.String({
            description: 'The number, address or name that they have in common',
            examples: ['+447700900123'],
          }),
          count: Type.Integer({ description: 'Contacts with it' }),
          contacts: Type.Array(Contact, { description: `The oldest ${maxDuplicatesShown} of them` }),
        }),
      ),
    ),
    next_cursor: Type.Optional(Type.String({ description: 'For the next page; absent on the last one' })),
  }),
  errors: {},
})

export const mergeContacts = contract({
  ...open,
  id: 'mergeContacts',
  client: 'contacts.merge',
  audited: true,
  method: 'POST',
  url: '/open/contacts/:contact_uuid/merge',
  summary: 'Merge contacts into one: it gets their details, and they are deleted',
  description:
    'Messages, calls and conversations follow by their numbers. The own values of the contact stay, and empty ones are filled; ' +
    'fields sets others. It is blocked if one of them is, unless fields.blocked is false. The event is contact.updated.',
  params: Type.Object({ contact_uuid: Id('CON', 'The contact that remains') }),
  body: Type.Object(
    {
      from: Type.Array(Id('CON'), {
        minItems: 1,
        maxItems: maxMerged,
        uniqueItems: true,
        description: 'The contacts that are merged into it, and deleted',
      }),
      fields: Type.Optional(
        Named(
          'MergedContactFields',
          Type.Object(
            {
              ...schemasOf('change'),
              channel_uuid: Type.Optional(Channel),
              contact_details: Type.Optional(Details),
              blocked: Type.Optional(Type.Boolean()),
            },
            { description: 'Values of the contact that remains. A list of details replaces the details of all' },
          ),
        ),
      ),
    },
    { examples: [{ from: ['CON01a1fcca-93ab-7cbc-9f10-be702f775479'], fields: { first_name: 'Ada' } }] },
  ),
  status: 200,
  reply: Ok({ contact: Contact, merged: Type.Integer({ description: 'Contacts that were merged into it' }) }),
  codes: { invalid: ['merge_with_itself'], unprocessable: ['too_many_details'] },
  errors: {
    notFound: 'The account has no such contact or channel; the message names it',
    unprocessable:
      'The contact would have too many details (too_many_details), or a phone detail is not a phone number',
  },
})
