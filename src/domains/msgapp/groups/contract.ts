import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { FreeText, Id, Named, Ok, Phone, pageFields, pagingQuery, Time } from '../../../platform/http/schema.ts'

const groups = { auth: 'account', shape: 'full', tag: 'Messaging app: groups' } as const

const Participant = Named(
  'GroupParticipant',
  Type.Object({
    statusCode: Type.Integer({ description: '200 added, 403 only invited, 404 not on the network, 409 already in' }),
    message: Type.String(),
    isGroupCreator: Type.Boolean(),
    isInviteV4Sent: Type.Boolean({
      description: 'True for a participant who was sent an invitation instead of being added',
    }),
    isAdmin: Type.Boolean(),
  }),
)

const Group = Named(
  'MsgappGroup',
  Type.Object({
    uuid: Id('WAG'),
    wa_group_id: Type.String({ description: 'Group id on the network', examples: ['120363025246125486@g.us'] }),
    name: Type.String(),
    wa_group_name: Type.String({ description: 'The same as name' }),
    is_muted: Type.Boolean({ description: 'Always false: networks do not report it' }),
    participant: Named(
      'ChannelParticipant',
      Type.Object({ phone_number: Type.String() }, { description: 'The account’s number in the group' }),
    ),
    description: Type.Optional(Type.String()),
    channel_uuid: Id('WPN'),
    channel_phone_number: Type.String(),
    session_key: Type.String({ description: 'Peer id of its conversation' }),
    read_only: Type.Boolean({
      description: 'True if only administrators may write, or the number is no longer in the group',
    }),
    is_read_only: Type.Boolean(),
    participants: Type.Record(Type.String(), Participant, { description: 'By phone number, with +' }),
    created_at: Time,
    updated_at: Time,
  }),
)

const Participants = (description: string) => Type.Array(Phone(), { minItems: 1, maxItems: 10, description })

const ours = 'A connected number of the account'
const busy = {
  conflict:
    'The number is not connected (channel_connecting), or the network does not answer (channel_busy); try again',
  notSupported: 'The network does not support this; the message says why',
  unprocessable: 'The network rejected the request, or a phone number is not E.164',
}

const networkCodes = {
  unavailable: ['channel_busy', 'group_pending'],
  conflict: ['channel_disconnected', 'channel_connecting', 'channel_booting'],
  unprocessable: ['refused_by_network'],
} as const

export const createGroup = contract({
  ...groups,
  id: 'createGroup',
  client: 'groups.create',
  needs: 'inbox',
  method: 'POST',
  url: '/open/msgapp/group/create',
  waits: true,
  summary: 'Create a group with at most 10 participants, not counting the creating number',
  description: 'The reply lists accepted and unaccepted numbers. The event is msgapp.group.join.',
  body: Type.Object({
    from_number: Phone(ours),
    group: Type.Object({
      name: FreeText(100),
      description: Type.Optional(Type.String({ maxLength: 2_048 })),
      participants: Participants('Phone numbers, without the one that creates the group'),
    }),
  }),
  status: 200,
  reply: Ok({
    group: Group,
    accepted_numbers: Type.Array(Type.String(), { description: 'Members of the group now' }),
    unaccepted_numbers: Type.Array(Type.String(), {
      description: 'Numbers that were not added; `participants` says why',
    }),
  }),
  codes: networkCodes,
  errors: { notFound: 'from_number is not a connected number of the account', ...busy },
})

export const listGroups = contract({
  ...groups,
  id: 'listGroups',
  csv: 'data',
  client: 'groups.list',
  needs: 'inbox',
  method: 'GET',
  url: '/open/msgapp/groups/:number',
  summary: 'The groups of a connected number, newest first; all of them unless a page is requested',
  description: 'The list has the groups in which the number is a participant.',
  params: Type.Object({ number: Phone(ours) }),
  query: Type.Object(pagingQuery),
  status: 200,
  reply: Ok({ ...pageFields, data: Type.Array(Group) }),
  errors: { notFound: 'The number is not a connected number of the account' },
})

const one = Type.Object({ group_uuid: Id('WAG') })
const missing = { notFound: 'The account has no such group' }

export const getGroup = contract({
  ...groups,
  id: 'getGroup',
  client: 'groups.get',
  needs: 'inbox',
  method: 'GET',
  url: '/open/msgapp/group/:group_uuid',
  summary: 'One group',
  description: 'The reply includes the participants and whether the channel is an administrator.',
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
  codes: networkCodes,
} as const
const members = {
  ...change,
  body: Type.Object({ participants: Participants('Phone numbers') }),
  reply: Ok({ group: Group, participants: Type.Record(Type.String(), Participant) }),
} as const

export const addParticipant = contract({
  ...members,
  id: 'addParticipant',
  client: 'groups.addParticipant',
  needs: 'inbox',
  url: '/open/msgapp/group/:group_uuid/add-participant',
  summary: 'Add people to a group, at most 10 at a time',
  description:
    'The reply has one status per number: 200 added, 403 only invited, 404 not on the network. ' +
    'The event is msgapp.group.join.',
})

export const removeParticipant = contract({
  ...members,
  id: 'removeParticipant',
  client: 'groups.removeParticipant',
  needs: 'inbox',
  url: '/open/msgapp/group/:group_uuid/remove-participant',
  summary: 'Remove people from a group, at most 10 at a time',
  description: 'The reply has one status per number. The event is msgapp.group.remove.',
})

export const promoteParticipant = contract({
  ...members,
  id: 'promoteParticipant',
  client: 'groups.promoteParticipant',
  needs: 'inbox',
  url: '/open/msgapp/group/:group_uuid/promote-participant',
  summary: 'Make people administrators of a group, at most 10 at a time',
  description: 'The reply has one status per number. The channel must be an administrator of the group.',
})

export const demoteParticipant = contract({
  ...members,
  id: 'demoteParticipant',
  client: 'groups.demoteParticipant',
  needs: 'inbox',
  url: '/open/msgapp/group/:group_uuid/demote-participant',
  summary: 'Make administrators of a group ordinary participants, at most 10 at a time',
  description: 'The reply has one status per number. The channel must be an administrator of the group.',
})

export const setGroupDescription = contract({
  ...change,
  id: 'setGroupDescription',
  client: 'groups.setDescription',
  needs: 'inbox',
  url: '/open/msgapp/group/:group_uuid/set-description',
  summary: 'Describe a group',
  description: 'An empty description removes the present one.',
  body: Type.Object({ description: Type.String({ maxLength: 2_048, description: 'Empty removes it' }) }),
  reply: Ok({ group: Group }),
})

export const setGroupPicture = contract({
  ...change,
  codes: networkCodes,
  errors: { ...missing, notSupported: busy.notSupported },
  id: 'setGroupPicture',
  client: 'groups.setPicture',
  needs: 'inbox',
  url: '/open/msgapp/group/:group_uuid/set-picture',
  summary: 'Set the picture of a group, or remove it; queued',
  description: 'The picture is downloaded and set in the background. null removes the present picture.',
  body: Type.Object({
    url: Type.Union([Type.String({ minLength: 1, maxLength: 2_048 }), Type.Null()], {
      description: 'Public address of a JPEG or PNG of at most 5 MB; null removes the picture',
      examples: ['https://example.com/picture.jpg'],
    }),
  }),
  reply: Ok({ batched: Type.Boolean({ description: 'True: the request is queued' }) }),
})
