import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import {
  Enum,
  FreeText,
  Id,
  Named,
  Ok,
  pageFields,
  pageNumberQuery,
  pagingQuery,
  Success,
  Time,
  webAddress,
} from '../../platform/http/schema.ts'
import { detailTypes } from './details.ts'
import { maxDetails } from './limits.ts'

const open = { auth: 'account', shape: 'full', tag: 'Contacts' } as const

const params = Type.Object({ contact_uuid: Id('CON') })
const unknown = 'The account has no such contact'
const unknownChannel = 'The account has no such channel'

const Kind = Enum([...detailTypes], {
  description: 'E e-mail address, A physical address, PH phone number, WAPH phone number on the messaging app',
})

const Contact = Named(
  'Contact',
  Type.Object({
    uuid: Id('CON'),
    first_name: Type.String({ examples: ['Ada'] }),
    last_name: Type.String({ examples: ['Lovelace'] }),
    profile_pic_url: Type.Union([Type.String(), Type.Null()]),
    channel_uuid: Type.Optional(Id('WPN')),
    sync: Type.Optional(
      Named(
        'ContactSync',
        Type.Object(
          {
            state: Enum(['queued', 'synced', 'failed', 'not_supported']),
            error: Type.Optional(Type.String()),
            synced_at: Type.Optional(Time),
          },
          { description: 'State of the contact in the address book of its channel' },
        ),
      ),
    ),
    details: Type.Array(
      Named(
        'ContactDetail',
        Type.Object({
          id: Type.Integer(),
          value: Type.String({ description: 'Phone numbers in E.164', examples: ['+447700900123'] }),
          type: Kind,
          created_at: Type.Integer({ description: 'Unix seconds' }),
          updated_at: Type.Integer({ description: 'Unix seconds; 0: never' }),
        }),
      ),
    ),
    created_at: Time,
    last_updated: Time,
  }),
)

const GivenDetail = Named(
  'NewContactDetail',
  Type.Object({
    type: Kind,
    value: Type.String({ minLength: 1, maxLength: 500, examples: ['+447700900123'] }),
  }),
)

/** Some clients send an empty object instead of leaving the field out. */
const Details = Type.Union([
  Type.Array(GivenDetail, { minItems: 1, maxItems: maxDetails }),
  Named('NoContactDetails', Type.Object({}, { maxProperties: 0 })),
])

const FirstName = FreeText(100)
const LastName = Type.String({ maxLength: 100, examples: ['Lovelace'] })
const Picture = Type.Union([
  Type.String({
    pattern: webAddress,
    maxLength: 2048,
    description: 'A public URL',
    examples: ['https://example.com/ada.jpg'],
  }),
  Type.Null(),
])
const Channel = Type.Union([Id('WPN', 'A channel of the messaging app'), Type.Null()])

const more = {
  last_name: Type.Optional(LastName),
  profile_pic_url: Type.Optional(Picture),
  channel_uuid: Type.Optional(Channel),
  contact_details: Type.Optional(Details),
  contact_detail: Type.Optional(Details),
}

export const createContact = contract({
  ...open,
  id: 'createContact',
  client: 'contacts.create',
  needs: 'inbox',
  method: 'POST',
  url: '/open/contacts',
  summary: 'Create a contact: a first name and at least one detail, in contact_details (or contact_detail)',
  description:
    'The event is contact.created. With channel_uuid the contact is also added to the address book of that channel.',
  body: Type.Object(
    { first_name: FirstName, ...more },
    {
      examples: [
        { first_name: 'Ada', last_name: 'Lovelace', contact_details: [{ type: 'E', value: 'ada@example.com' }] },
      ],
    },
  ),
  status: 201,
  reply: Ok({ contact: Contact }),
  errors: { notFound: unknownChannel, unprocessable: 'The value of a phone detail is not a phone number' },
})

export const updateContact = contract({
  ...open,
  id: 'updateContact',
  client: 'contacts.update',
  needs: 'inbox',
  method: 'PUT',
  url: '/open/contacts/:contact_uuid',
  summary:
    'Change a contact: absent fields stay. A list of details replaces the previous one; matching details keep their ids',
  description: 'Absent fields stay unchanged. The event is contact.updated.',
  params,
  body: Type.Object(
    {
      first_name: Type.Optional(FirstName),
      ...more,
      last_name: Type.Optional(Type.Union([LastName, Type.Null()])),
    },
    { examples: [{ first_name: 'Augusta' }] },
  ),
  status: 200,
  reply: Ok({ contact: Contact }),
  errors: {
    notFound: 'The account has no such contact or channel',
    unprocessable: 'The value of a phone detail is not a phone number',
  },
})

const page = (name: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: name ? `The same as ${name}` : 'Default 50' }))

const perPage = { results_per_page: page(''), per_page: page('results_per_page') }

export const listContacts = contract({
  ...open,
  id: 'listContacts',
  csv: 'contacts',
  client: 'contacts.list',
  needs: 'inbox',
  method: 'GET',
  url: '/open/contacts',
  summary: 'The contacts of the account in the order of their creation',
  description: 'Follow next_cursor to read every contact once, even while contacts are added.',
  query: Type.Object({
    ...pagingQuery,
    ...perPage,
    channel_uuid: Type.Optional(Id('WPN', 'Only contacts of this channel of the messaging app')),
  }),
  status: 200,
  reply: Ok({
    ...pageFields,
    contacts: Type.Array(Contact),
  }),
  errors: { notFound: unknownChannel },
  cli: 'contacts list',
})

const Query = (description: string) =>
  Type.Optional(Type.String({ maxLength: 200, description, examples: ['lovelac'] }))

export const searchContacts = contract({
  ...open,
  id: 'searchContacts',
  client: 'contacts.search',
  needs: 'inbox',
  method: 'GET',
  url: '/open/contacts/search',
  summary:
    'Find contacts, best first: by words of the name or of an e-mail address, by their beginnings or parts, without regard to accents ' +
    'or one wrong letter; and by three or more digits anywhere in a number',
  description: 'The best matches come first. Use listContacts to read all contacts.',
  query: Type.Object({
    q: Query('Query; every word must match. Blank finds every contact, in the order of creation'),
    query: Query('The same as q'),
    ...pageNumberQuery,
    ...perPage,
    channel_uuid: Type.Optional(Id('WPN', 'Only contacts of this channel of the messaging app')),
  }),
  status: 200,
  reply: Ok({
    count: pageFields.count,
    page: pageFields.page,
    total: pageFields.total,
    total_capped: pageFields.total_capped,
    contacts: Type.Array(Contact),
  }),
  errors: { notFound: unknownChannel },
})

export const getContact = contract({
  ...open,
  id: 'getContact',
  client: 'contacts.get',
  needs: 'inbox',
  method: 'GET',
  url: '/open/contacts/:contact_uuid',
  summary: 'One contact',
  description: 'The reply includes all details and the state of the synchronisation with the messaging app.',
  params,
  status: 200,
  reply: Ok({ contact: Contact }),
  errors: { notFound: unknown },
})

export const deleteContact = contract({
  ...open,
  id: 'deleteContact',
  client: 'contacts.delete',
  needs: 'inbox',
  method: 'DELETE',
  url: '/open/contacts/:contact_uuid',
  summary: 'Delete a contact',
  description: 'The contact is removed permanently, with all of its details.',
  params,
  status: 200,
  reply: Success,
  errors: { notFound: unknown },
})
