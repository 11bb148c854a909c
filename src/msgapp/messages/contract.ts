import { Type } from 'typebox'
import { contract } from '../../http/endpoint.ts'
import { Enum, Id, Ok, Phone, paging, Time } from '../../http/schema.ts'

const messages = { auth: 'account', needs: 'inbox', shape: 'full', tag: 'Messaging app: messages' } as const

const Pin = Type.Object({
  latitude: Type.Number({ minimum: -90, maximum: 90, examples: [51.5007] }),
  longitude: Type.Number({ minimum: -180, maximum: 180, examples: [-0.1246] }),
  name: Type.Optional(Type.String({ maxLength: 200 })),
  address: Type.Optional(Type.String({ maxLength: 400 })),
  url: Type.Optional(Type.String({ maxLength: 2048 })),
})

const Template = Type.Object(
  {
    name: Type.String({ pattern: '^[a-z0-9_]{1,512}$', examples: ['appointment_tomorrow'] }),
    language: Type.String({ pattern: '^[a-z]{2,3}(_[A-Z]{2,3})?$', examples: ['en_GB'] }),
    parameters: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), {
        maxItems: 100,
        description: 'For the places of its body, in order',
      }),
    ),
    components: Type.Optional(
      Type.Array(Type.Record(Type.String(), Type.Unknown()), {
        maxItems: 30,
        description: 'All of what stands in it, as the network’s own interface has it; instead of parameters',
      }),
    ),
  },
  { description: 'A text that the network approved before, for whoever did not write in the last 24 hours' },
)

const Media = Type.Object({
  url: Type.Optional(Type.String({ description: 'Where the file is to be had, for a while; absent when it is not' })),
  type: Enum(['image', 'video', 'audio', 'document']),
  mime_type: Type.String({ examples: ['image/jpeg'] }),
  name: Type.Optional(Type.String()),
  size: Type.Optional(Type.Integer({ description: 'Bytes' })),
  error: Type.Optional(Type.String({ description: 'Why the file is not to be had' })),
})

const Contact = Type.Object({
  uuid: Type.String(),
  first_name: Type.String(),
  last_name: Type.String(),
  profile_pic_url: Type.Union([Type.String(), Type.Null()]),
})

const Message = Type.Object({
  id: Id('MSG'),
  uuid: Id('MSG'),
  channel_uuid: Id('WPN'),
  timestamp: Time,
  session_key: Type.String({ examples: ['WW-WPN01a1fcca-93ab-7cbc-9f10-be702f775479-447700900123@c.us'] }),
  message: Type.Object({
    text: Type.Optional(Type.String()),
    media: Type.Optional(Media),
    pin: Type.Optional(Pin),
    template: Type.Optional(Template),
  }),
  created_at: Time,
  remote_phone_number: Type.Optional(
    Type.String({ description: 'The other end; in a group who wrote. Absent while the network does not tell it' }),
  ),
  remote_id: Type.Optional(Type.String({ description: 'The network’s id of somebody whose number is not known' })),
  participant: Type.Optional(
    Type.Object({ phone_number: Type.String() }, { description: 'Who wrote it, where the number is known' }),
  ),
  channel_phone_number: Type.String(),
  group_uuid: Type.Optional(Id('WAG')),
  wa_group_id: Type.Optional(Type.String()),
  sent_by: Enum(['user', 'api', 'agent'], {
    description: 'user: the remote party; api: this interface; agent: another device of the number',
  }),
  is_from_flow_run: Type.Boolean(),
  is_from_api: Type.Boolean(),
  is_from_chatter: Type.Boolean({ description: 'Sent by the remote party' }),
  is_from_agent: Type.Boolean({ description: 'Sent by the owner of the number, from another device of it' }),
  wa_msg_id: Type.Optional(Type.String({ description: 'On the network; absent until it took the message' })),
  wa_msg_ack: Type.Integer({
    minimum: 0,
    maximum: 3,
    description: '0 created, 1 sent, 2 received, 3 read; it never falls. In a group: by one member at least',
  }),
  sent: Type.Boolean(),
  received: Type.Boolean(),
  read: Type.Boolean(),
  read_at: Type.Optional(Time),
  failure: Type.Optional(
    Type.Object(
      { code: Type.String(), reason: Type.String() },
      { description: 'Why it did not arrive; the acknowledgement stays as it was' },
    ),
  ),
  edited_at: Type.Optional(Time),
  reactions: Type.Optional(Type.Array(Type.Object({ by: Type.String(), reaction: Type.String(), at: Time }))),
  contact: Type.Optional(Contact),
})

const SessionKey = Type.String({
  pattern: '^WW-WPN',
  maxLength: 300,
  description: 'WW-<channel_uuid>-<digits>@c.us, or …-<group>@g.us',
  examples: ['WW-WPN01a1fcca-93ab-7cbc-9f10-be702f775479-447700900123@c.us'],
})

const noChannel = 'The account has no such number on the messaging app'

export const sendMessage = contract({
  ...messages,
  id: 'sendMessage',
  method: 'POST',
  url: '/open/msgapp/send-message',
  summary: 'Send a text, a file or a place on the messaging app, to a number or a group',
  body: Type.Object({
    from_number: Phone('A connected number of the account, E.164'),
    to_number: Type.Optional(Phone('The recipient, E.164; this, to_group_uuid or to_remote_id')),
    to_group_uuid: Type.Optional(Id('WAG', 'A group that the number is in')),
    to_remote_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1000,
        description:
          'Somebody who wrote and whose number the network does not tell, by the remote_id of what they wrote',
        examples: ['123456789012345@lid'],
      }),
    ),
    text: Type.Optional(
      Type.String({ maxLength: 4096, description: 'At most 4,096 characters', examples: ['Hello from Trunkline'] }),
    ),
    url: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'A file: fetched once, kept, and sent. Images of at most 5 MB, sound and video 16 MB, others 100 MB',
        examples: ['https://example.com/menu.pdf'],
      }),
    ),
    pin: Type.Optional(Pin),
    template: Type.Optional(Template),
  }),
  status: 202,
  reply: Ok({
    message_uuid: Type.String({ examples: ['MSG01a1fcca-93ab-7cbc-9f10-be702f775479'] }),
    batched: Type.Literal(true, { description: 'It is kept, and goes out as soon as the number is connected' }),
  }),
  errors: {
    notFound:
      'from_number is no connected number of the account, it is in no such group, or nobody of that id wrote to it',
    notSupported: 'The network of the number cannot do this (not_supported)',
    conflict: 'The group is not made yet (group_pending), or the Idempotency-Key was used with another body',
  },
})

const oneMessage = {
  params: Type.Object({ session_key: SessionKey, message_uuid: Id('MSG') }),
  errors: { notFound: 'No such message in that conversation of the account' },
} as const

export const getMessage = contract({
  ...messages,
  ...oneMessage,
  id: 'getMessage',
  method: 'GET',
  url: '/open/msgapp/message/:session_key/:message_uuid',
  summary: 'One message of the messaging app',
  status: 200,
  reply: Ok({ message: Message }),
})

export const deleteMessage = contract({
  ...messages,
  ...oneMessage,
  id: 'deleteMessage',
  method: 'DELETE',
  waits: true,
  url: '/open/msgapp/message/:session_key/:message_uuid',
  summary: 'Delete a message: for everyone while the network allows it, else only here',
  status: 200,
  reply: Ok({
    message_uuid: Id('MSG'),
    deleted_for: Enum(['everyone', 'us'], {
      description: 'everyone: nobody has it any more; us: only here it is gone',
    }),
  }),
})

export const readConversation = contract({
  ...messages,
  id: 'readConversation',
  method: 'POST',
  url: '/open/msgapp/conversation/:session_key/read',
  summary: 'Mark a conversation as read, here and for who wrote',
  params: Type.Object({ session_key: SessionKey }),
  body: Type.Object({
    message_uuid: Type.Optional(Id('MSG', 'The last one that was read; without it everything that has come is read')),
  }),
  status: 200,
  reply: Ok({
    unread_count: Type.Integer({ description: 'Messages that came after that one' }),
    batched: Type.Boolean({
      description:
        'Who wrote is told as soon as the number is connected; false where nothing was unread, or the network cannot tell (abilities)',
    }),
  }),
  errors: { notFound: 'The account has no such conversation, or no such message in it' },
})

const listing = {
  query: Type.Object({
    ...paging,
    cursor: Type.Optional(
      Type.String({ maxLength: 200, description: 'next_cursor of the page before: costs the same however deep' }),
    ),
  }),
  status: 200,
} as const

const page = {
  count: Type.Integer({ description: 'Rows in this answer' }),
  page: Type.Integer(),
  total: Type.Optional(Type.Integer({ description: 'All matches; absent on pages by cursor' })),
  next_cursor: Type.Optional(Type.String({ description: 'For the next page; absent on the last one' })),
}

const list = Ok({ ...page, messages: Type.Array(Message) })

export const listMessages = contract({
  ...messages,
  ...listing,
  id: 'listMessages',
  method: 'GET',
  url: '/open/msgapp/messages/:number',
  summary: 'The messages of a connected number, newest first',
  params: Type.Object({ number: Phone('A connected number of the account') }),
  reply: list,
  errors: { notFound: noChannel },
})

export const getConversation = contract({
  ...messages,
  ...listing,
  id: 'getConversation',
  method: 'GET',
  url: '/open/msgapp/messages/:number/:remote',
  summary: 'The messages of a connected number with somebody, newest first',
  params: Type.Object({
    number: Phone('A connected number of the account'),
    remote: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'E.164; or the network’s id (remote_id) of somebody whose number is not known',
      examples: ['+447700900123'],
    }),
  }),
  reply: list,
  errors: { notFound: noChannel },
})

export const listGroupMessages = contract({
  ...messages,
  ...listing,
  id: 'listGroupMessages',
  method: 'GET',
  url: '/open/msgapp/groups/messages/:group_uuid',
  summary: 'The messages of a group, newest first',
  params: Type.Object({ group_uuid: Id('WAG') }),
  reply: list,
  errors: { notFound: 'No such group of the account' },
})

export const listConversations = contract({
  ...messages,
  ...listing,
  id: 'listConversations',
  method: 'GET',
  url: '/open/msgapp/conversations/:channel_uuid',
  summary: 'The conversations of a channel, newest activity first',
  params: Type.Object({ channel_uuid: Id('WPN') }),
  query: Type.Object({
    ...listing.query.properties,
    phone_number: Type.Optional(Phone('The conversation with this number alone')),
  }),
  reply: Ok({
    ...page,
    sessions: Type.Array(
      Type.Object({
        session_key: Type.String(),
        channel_uuid: Id('WPN'),
        channel_phone_number: Type.String(),
        remote_phone_number: Type.Optional(Type.String()),
        remote_id: Type.Optional(Type.String()),
        pushname: Type.Optional(Type.String({ description: 'What the other end calls itself' })),
        group_uuid: Type.Optional(Id('WAG')),
        name: Type.Optional(Type.String({ description: 'Of the group' })),
        contact: Type.Optional(Contact),
        unread_count: Type.Integer({ description: 'Messages that came since the last one that was sent, or read' }),
        last_activity_at: Time,
        last_message: Type.Optional(Message),
      }),
    ),
  }),
  errors: { notFound: 'No such channel of the account' },
})
