import { Type } from 'typebox'
import { contract } from '../../http/endpoint.ts'
import { Id, listed, Ok, Phone, paging, Time, Words } from '../../http/schema.ts'

const groups = { auth: 'account', shape: 'full', tag: 'Messaging app: groups' } as const

const Participant = Type.Object({
  statusCode: Type.Integer({ description: '200 added, 403 only invited, 404 not on the network, 409 already in' }),
  message: Type.String(),
  isGroupCreator: Type.Boolean(),
  isInviteV4Sent: Type.Boolean({ description: 'True for who was sent an invitation instead of being added' }),
  isAdmin: Type.Boolean(),
})

const Group = Type.Object({
  uuid: Id('WAG'),
  wa_group_id: Type.String({ description: 'Its id on the network', examples: ['120363025246125486@g.us'] }),
  name: Type.String(),
  wa_group_name: Type.String({ description: 'The same as name' }),
  is_muted: Type.Boolean({ description: 'Always false: networks do not tell it' }),
  participant: Type.Object({ phone_number: Type.String() }, { description: 'The number of the account that is in it' }),
  description: Type.Optional(Type.String()),
  channel_uuid: Id('WPN'),
  channel_phone_number: Type.String(),
  session_key: Type.String({ description: 'Of its conversation' }),
  read_only: Type.Boolean({
    description: 'True where only administrators may write, or the number is no longer in it',
  }),
  is_read_only: Type.Boolean(),
  participants: Type.Record(Type.String(), Participant, { description: 'By phone number, with +' }),
  created_at: Time,
  updated_at: Time,
})

const Participants = (description: string) => Type.Array(Phone(), { minItems: 1, maxItems: 10, description })

const ours = 'A connected number of the account'
const busy = {
  conflict:
    'The number is not connected (channel_connecting), or the network does not answer (channel_busy); try again',
  notSupported: 'The network cannot do this; the message says why',
  unprocessable: 'The network refused, in its words, or a phone number is not E.164',
}

export const createGroup = contract({
  ...groups,
  id: 'createGroup',
  needs: 'inbox',
  method: 'POST',
  url: '/open/msgapp/group/create',
  waits: true,
  summary: 'Create a group with at most 10 participants beside the number that creates it',
  body: Type.Object({
    from_number: Phone(ours),
    group: Type.Object({
      name: Words(100),
      description: Type.Optional(Type.String({ maxLength: 2_048 })),
      participants: Participants('Phone numbers, without the one that creates the group'),
    }),
  }),
  status: 200,
  reply: Ok({
    group: Group,
    accepted_numbers: Type.Array(Type.String(), { description: 'Who is in the group now' }),
    unaccepted_numbers: Type.Array(Type.String(), { description: 'Who is not; `participants` says why' }),
  }),
  errors: { notFound: 'from_number is no connected number of the account', ...busy },
})

export const listGroups = contract({
  ...groups,
  id: 'listGroups',
  needs: 'inbox',
  method: 'GET',
  url: '/open/msgapp/groups/:number',
  summary: 'The groups of a connected number, newest first; all of them unless a page is asked for',
  params: Type.Object({ number: Phone(ours) }),
  query: Type.Object(paging),
  status: 200,
  reply: Ok({ ...listed, data: Type.Array(Group) }),
  errors: { notFound: 'The number is no connected number of the account' },
})

const one = Type.Object({ group_uuid: Id('WAG') })
const missing = { notFound: 'No such group' }

export const getGroup = contract({
  ...groups,
  id: 'getGroup',
  needs: 'inbox',
  method: 'GET',
  url: '/open/msgapp/group/:group_uuid',
  summary: 'One group',
  params: one,
  status: 200,
  reply: Ok({ group: Group, data: Group }),
  errors: missing,
})

const change = {
  ...groups,
  method: 'POST',
  waits: true,
  params: one,
  status: 200,
  errors: { ...missing, ...busy },
} as const
const members = {
  ...change,
  body: Type.Object({ participants: Participants('Phone numbers') }),
  reply: Ok({ group: Group, participants: Type.Record(Type.String(), Participant) }),
} as const

export const addParticipant = contract({
  ...members,
  id: 'addParticipant',
  needs: 'inbox',
  url: '/open/msgapp/group/:group_uuid/add-participant',
  summary: 'Add people to a group, at most 10 at a time',
})

export const removeParticipant = contract({
  ...members,
  id: 'removeParticipant',
  needs: 'inbox',
  url: '/open/msgapp/group/:group_uuid/remove-participant',
  summary: 'Remove people from a group, at most 10 at a time',
})

export const promoteParticipant = contract({
  ...members,
  id: 'promoteParticipant',
  needs: 'inbox',
  url: '/open/msgapp/group/:group_uuid/promote-participant',
  summary: 'Make people administrators of a group, at most 10 at a time',
})

export const demoteParticipant = contract({
  ...members,
  id: 'demoteParticipant',
  needs: 'inbox',
  url: '/open/msgapp/group/:group_uuid/demote-participant',
  summary: 'Make administrators of a group ordinary participants, at most 10 at a time',
})

export const setGroupDescription = contract({
  ...change,
  id: 'setGroupDescription',
  needs: 'inbox',
  url: '/open/msgapp/group/:group_uuid/set-description',
  summary: 'Describe a group',
  body: Type.Object({ description: Type.String({ maxLength: 2_048, description: 'Empty removes it' }) }),
  reply: Ok({ group: Group }),
})

export const setGroupPicture = contract({
  ...change,
  errors: { ...missing, notSupported: busy.notSupported },
  id: 'setGroupPicture',
  needs: 'inbox',
  url: '/open/msgapp/group/:group_uuid/set-picture',
  summary: 'Set the picture of a group, or remove it; queued',
  body: Type.Object({
    url: Type.Union([Type.String({ minLength: 1, maxLength: 2_048 }), Type.Null()], {
      description: 'Public address of a JPEG or PNG of at most 5 MB; null removes the picture',
      examples: ['https://example.com/picture.jpg'],
    }),
  }),
  reply: Ok({ batched: Type.Boolean({ description: 'True: the request is queued' }) }),
})
