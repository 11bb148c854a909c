import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import {
  Enum,
  FileBody,
  Id,
  Ok,
  pageFields,
  pageNumberQuery,
  pagingQuery,
  Success,
} from '../../platform/http/schema.ts'
import { schemasOf } from './contact-fields.ts'
import { Channel, Contact, Details } from './contact-schemas.ts'
import { maxFoundContacts } from './limits.ts'

const open = { auth: 'account', shape: 'full', tag: 'Contacts' } as const

const params = Type.Object({ contact_uuid: Id('CON') })
const unknown = 'The account has no such contact'
const unknownChannel = 'The account has no such channel'

const more = {
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
    { ...schemasOf('create'), ...more },
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
  body: Type.Object({ ...schemasOf('change'), ...more }, { examples: [{ first_name: 'Augusta' }] }),
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

const Query = (description: string) =>
  Type.Optional(Type.String({ maxLength: 200, description, examples: ['lovelac'] }))

export const listContacts = contract({
  ...open,
  id: 'listContacts',
  csv: 'contacts',
  client: 'contacts.list',
  needs: 'inbox',
  method: 'GET',
  url: '/open/contacts',
  summary: 'The contacts of the account: in the order of their creation or of their names, or those that a text finds',
  description:
    'Follow next_cursor to read every contact once, even while contacts are added. ' +
    `With q, the best ${maxFoundContacts} matches are listed, as by searchContacts.`,
  query: Type.Object({
    ...pagingQuery,
    ...perPage,
    cursor: Type.Optional(Type.String({ ...pagingQuery.cursor, maxLength: 1_000 })),
    q: Query('Finds contacts as searchContacts does, best first; sort has no effect then'),
    channel_uuid: Type.Optional(Id('WPN', 'Only contacts of this channel of the messaging app')),
    blocked: Type.Optional(Type.Boolean({ description: 'true: only blocked contacts; false: all' })),
    sort: Type.Optional(
      Enum(['created_at', '-created_at', 'name'], {
        description: 'Default: created_at, the oldest first. By name, pages are read by cursor alone',
      }),
    ),
  }),
  status: 200,
  reply: Ok({
    ...pageFields,
    contacts: Type.Array(Contact),
  }),
  errors: { notFound: unknownChannel },
  cli: 'contacts list',
})

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

export const blockContact = contract({
  ...open,
  id: 'blockContact',
  client: 'contacts.block',
  audited: true,
  needs: 'inbox',
  method: 'PUT',
  url: '/open/contacts/:contact_uuid/block',
  summary: 'Block a contact: texts and calls of its numbers reach no one',
  description:
    'Texts are stored with the sub_status blocked and make no event. Calls are refused, and stored with the end_reason ' +
    'caller_blocked. The account may still write to it and call it. The event is contact.updated.',
  params,
  status: 200,
  reply: Ok({ contact: Contact }),
  errors: { notFound: unknown },
})

export const unblockContact = contract({
  ...open,
  id: 'unblockContact',
  client: 'contacts.unblock',
  audited: true,
  needs: 'inbox',
  method: 'DELETE',
  url: '/open/contacts/:contact_uuid/block',
  summary: 'Unblock a contact: its next texts and calls arrive again',
  description: 'Earlier ones stay in the logs. The event is contact.updated.',
  params,
  status: 200,
  reply: Ok({ contact: Contact }),
  errors: { notFound: unknown },
})

export const getContactPicture = contract({
  ...open,
  id: 'getContactPicture',
  client: 'contacts.picture',
  needs: 'inbox',
  waits: true,
  method: 'GET',
  url: '/open/contacts/:contact_uuid/picture',
  summary: 'The picture of a contact: JPEG, PNG, GIF or WebP of at most 512 pixels a side',
  description:
    'The platform downloads the profile_pic_url, and caches the picture for an hour. Clients may keep it for a day.',
  params,
  status: 200,
  reply: FileBody('image/jpeg', 'JFIF…'),
  headers: { 'cache-control': 'private, for a day' },
  codes: { notFound: ['not_found', 'no_picture'] },
  errors: {
    notFound:
      'The account has no such contact, or it has no picture that can be shown (no_picture); the message says why',
  },
})
