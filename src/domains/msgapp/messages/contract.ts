import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, Id, Named, Ok, Phone, pagingQuery, Time, totalCapped } from '../../../platform/http/schema.ts'
import { Content, MessagePin, Pin } from './content-schema.ts'

const messages = { auth: 'account', needs: 'inbox', shape: 'full', tag: 'Messaging app: messages' } as const

const Template = Named(
  'TemplateMessage',
  Type.Object(
    {
      name: Type.String({ pattern: '^[a-z0-9_]{1,512}$', examples: ['appointment_tomorrow'] }),
      language: Type.String({ pattern: '^[a-z]{2,3}(_[A-Z]{2,3})?$', examples: ['en_GB'] }),
      parameters: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), {
          maxItems: 100,
          description: 'Values for the placeholders of its body, in order',
        }),
      ),
      components: Type.Optional(
        Type.Array(Type.Record(Type.String(), Type.Unknown()), {
          maxItems: 30,
          description: 'All components of the template, in the network’s own format; instead of parameters',
        }),
      ),
    },
    {
      description:
        'A message text approved by the network in advance, for recipients who did not write in the last 24 hours',
    },
  ),
)

const Media = Named(
  'MessageMedia',
  Type.Object({
    url: Type.Optional(Type.String({ description: 'Temporary link to the file; absent while there is none' })),
    type: Enum(['image', 'video', 'audio', 'document']),
    mime_type: Type.String({ examples: ['image/jpeg'] }),
    name: Type.Optional(Type.String()),
    size: Type.Optional(Type.Integer({ description: 'Bytes' })),
    error: Type.Optional(Type.String({ description: 'Why the file is not available' })),
  }),
)

const Contact = Named(
  'MessageContact',
  Type.Object({
    uuid: Type.String(),
    first_name: Type.String(),
    last_name: Type.String(),
    profile_pic_url: Type.Union([Type.String(), Type.Null()]),
  }),
)

const Message = Named(
  'MsgappMessage',
  Type.Object({
    id: Id('MSG'),
    uuid: Id('MSG'),
    channel_uuid: Id('WPN'),
    timestamp: Time,
    session_key: Type.String({ examples: ['WW-WPN01a1fcca-93ab-7cbc-9f10-be702f775479-447700900123@c.us'] }),
    message: Named(
      'MessageContent',
      Type.Object({
        text: Type.Optional(Type.String()),
        media: Type.Optional(Media),
        pin: Type.Optional(MessagePin),
        template: Type.Optional(Template),
        content: Type.Optional(Content),
      }),
    ),
    created_at: Time,
    remote_phone_number: Type.Optional(
      Type.String({
        description: 'The other party; in a group the author. Absent while the network does not report it',
      }),
    ),
    remote_id: Type.Optional(Type.String({ description: 'The network’s id of a person whose number is unknown' })),
    participant: Type.Optional(
      Named(
        'MessageParticipant',
        Type.Object(
          { phone_number: Type.String() },
          { description: 'In a group alone: the author, if the number is known' },
        ),
      ),
    ),
    channel_phone_number: Type.String(),
    group_uuid: Type.Optional(Id('WAG')),
    wa_group_id: Type.Optional(Type.String()),
    sent_by: Enum(['user', 'api', 'agent'], {
      description: 'user: the remote party; api: this API; agent: another device of the number',
    }),
    is_from_flow_run: Type.Boolean(),
    is_from_api: Type.Boolean(),
    is_from_chatter: Type.Boolean({ description: 'Sent by the remote party' }),
    is_from_agent: Type.Boolean({ description: 'Sent by the owner of the number, from another device of it' }),
    wa_msg_id: Type.Optional(
      Type.String({ description: 'Id on the network; absent until the network accepted the message' }),
    ),
    wa_msg_ack: Type.Integer({
      minimum: 0,
      maximum: 3,
      description: '0 created, 1 sent, 2 received, 3 read; never decreases. In a group: by at least one member',
    }),
    sent: Type.Boolean(),
    received: Type.Boolean(),
    read: Type.Boolean(),
    read_at: Type.Optional(Time),
    failure: Type.Optional(
      Named(
        'MessageFailure',
        Type.Object(
          { code: Type.String(), reason: Type.String() },
          { description: 'Why it did not arrive; wa_msg_ack stays' },
        ),
      ),
    ),
    edited_at: Type.Optional(Time),
    reactions: Type.Optional(
      Type.Array(Named('MessageReaction', Type.Object({ by: Type.String(), reaction: Type.String(), at: Time }))),
    ),
    contact: Type.Optional(Contact),
  }),
)

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
  client: 'msgapp.send',
  method: 'POST',
  url: '/open/msgapp/send-message',
  summary: 'Send a text, a file or a location on the messaging app, to a number or a group',
  description:
    'The message is queued and sent in the order of its conversation. ' +
    'Its progress is published as msgapp.message events. Repeat safely with an Idempotency-Key.',
  body: Type.Object(
    {
      from_number: Phone('A connected number of the account, E.164'),
      to_number: Type.Optional(Phone('The recipient, E.164; either this, to_group_uuid or to_remote_id')),
      to_group_uuid: Type.Optional(Id('WAG', 'A group that the number is in')),
      to_remote_id: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 1000,
          description: 'A person whose number the network hides, by the remote_id of their messages',
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
            'A file: fetched once, stored, and sent. Images of at most 5 MB, sound and video 16 MB, others 100 MB',
          examples: ['https://example.com/menu.pdf'],
        }),
      ),
      pin: Type.Optional(Pin),
      template: Type.Optional(Template),
    },
    { examples: [{ from_number: '+447700900001', to_number: '+447700900123', text: 'Hello from Trunkline' }] },
  ),
  status: 202,
  reply: Ok({
    message_uuid: Type.String({ examples: ['MSG01a1fcca-93ab-7cbc-9f10-be702f775479'] }),
    batched: Type.Literal(true, {
      description: 'The message is stored, and goes out as soon as the number is connected',
    }),
  }),
  codes: { invalid: ['url_refused'], unprocessable: ['own_number'], conflict: ['group_pending'] },
  errors: {
    notFound:
      'from_number is not a connected number of the account, is in no such group, or nobody with that id wrote to it',
    notSupported: 'The network of the number does not support this (not_supported)',
    conflict: 'The group is not created yet (group_pending), or the Idempotency-Key was used with another body',
  },
})

const oneMessage = {
  params: Type.Object({ session_key: SessionKey, message_uuid: Id('MSG') }),
  errors: { notFound: 'The account has no such message in that conversation' },
} as const

export const getMessage = contract({
  ...messages,
  ...oneMessage,
  id: 'getMessage',
  client: 'msgapp.getMessage',
  method: 'GET',
  url: '/open/msgapp/message/:session_key/:message_uuid',
  summary: 'One message of the messaging app',
  description: 'Read the acknowledgement here, or subscribe to the msgapp.message.receipt events.',
  status: 200,
  reply: Ok({ message: Message }),
})

export const deleteMessage = contract({
  ...messages,
  ...oneMessage,
  id: 'deleteMessage',
  client: 'msgapp.deleteMessage',
  method: 'DELETE',
  waits: true,
  url: '/open/msgapp/message/:session_key/:message_uuid',
  summary: 'Delete a message: for everyone while the network allows it, otherwise only here',
  description:
    'The reply states for whom the message was deleted. ' +
    'A message that is deleted only here remains on the other device.',
  status: 200,
  reply: Ok({
    message_uuid: Id('MSG'),
    deleted_for: Enum(['everyone', 'us'], {
      description: 'everyone: deleted for all; us: deleted only here',
    }),
  }),
})

export const readConversation = contract({
  ...messages,
  id: 'readConversation',
  unrecorded: true,
  client: 'msgapp.markRead',
  method: 'POST',
  url: '/open/msgapp/conversation/:session_key/read',
  summary: 'Mark a conversation as read, here and for the senders',
  description: 'The senders get a read receipt where the network supports it.',
  params: Type.Object({ session_key: SessionKey }),
  body: Type.Object({
    message_uuid: Type.Optional(Id('MSG', 'The last message read. Default: every message so far')),
  }),
  status: 200,
  reply: Ok({
    unread_count: Type.Integer({ description: 'Messages that came after that one' }),
    batched: Type.Boolean({
      description:
        'Whether the senders are notified once the number is connected; false if nothing was unread, or the network cannot do it (abilities)',
    }),
  }),
  errors: { notFound: 'The account has no such conversation, or no such message in it' },
})

const listing = {
  query: Type.Object({
    ...pagingQuery,
  }),
  status: 200,
} as const

const page = {
  count: Type.Integer({ description: 'Rows in this response' }),
  page: Type.Integer(),
  total: Type.Optional(Type.Integer({ description: 'All matches, at most 10,000; absent on pages by cursor' })),
  total_capped: totalCapped,
  next_cursor: Type.Optional(Type.String({ description: 'Cursor of the next page; absent on the last one' })),
}

const list = Ok({ ...page, messages: Type.Array(Message) })

export const listMessages = contract({
  ...messages,
  ...listing,
  id: 'listMessages',
  csv: 'messages',
  client: 'msgapp.messages',
  method: 'GET',
  url: '/open/msgapp/messages/:number',
  summary: 'The messages of a connected number, newest first',
  description: 'The list mixes the conversations of the number. Follow next_cursor for older messages.',
  params: Type.Object({ number: Phone('A connected number of the account') }),
  reply: list,
  errors: { notFound: noChannel },
})

export const getConversation = contract({
  ...messages,
  ...listing,
  id: 'getConversation',
  csv: 'messages',
  client: 'msgapp.conversation',
  method: 'GET',
  url: '/open/msgapp/messages/:number/:remote',
  summary: 'The messages of a connected number with one person, newest first',
  description: 'The remote may be a number or a remote id. Follow next_cursor for older messages.',
  params: Type.Object({
    number: Phone('A connected number of the account'),
    remote: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'E.164; or the network’s id (remote_id) of a person whose number is unknown',
      examples: ['+447700900123'],
    }),
  }),
  reply: list,
  codes: { unprocessable: ['invalid_phone_number'] },
  errors: { notFound: noChannel },
})

export const listGroupMessages = contract({
  ...messages,
  ...listing,
  id: 'listGroupMessages',
  csv: 'messages',
  client: 'msgapp.groupMessages',
  method: 'GET',
  url: '/open/msgapp/groups/messages/:group_uuid',
  summary: 'The messages of a group, newest first',
  description: 'Follow next_cursor for older messages.',
  params: Type.Object({ group_uuid: Id('WAG') }),
  reply: list,
  errors: { notFound: 'The account has no such group' },
})

export const listConversations = contract({
  ...messages,
  ...listing,
  id: 'listConversations',
  client: 'msgapp.conversations',
  method: 'GET',
  url: '/open/msgapp/conversations/:channel_uuid',
  summary: 'The conversations of a channel, newest activity first',
  description: 'Each conversation shows its last message and its unread count. Follow next_cursor for more.',
  params: Type.Object({ channel_uuid: Id('WPN') }),
  query: Type.Object({
    ...listing.query.properties,
    phone_number: Type.Optional(Phone('Only the conversation with this number')),
  }),
  reply: Ok({
    ...page,
    sessions: Type.Array(
      Named(
        'Conversation',
        Type.Object({
          session_key: Type.String(),
          channel_uuid: Id('WPN'),
          channel_phone_number: Type.String(),
          remote_phone_number: Type.Optional(Type.String()),
          remote_id: Type.Optional(Type.String()),
          pushname: Type.Optional(Type.String({ description: 'Name that the other party shows' })),
          group_uuid: Type.Optional(Id('WAG')),
          name: Type.Optional(Type.String({ description: 'Subject of the group' })),
          contact: Type.Optional(Contact),
          unread_count: Type.Integer({ description: 'Messages received since the last one that was sent, or read' }),
          last_activity_at: Time,
          last_message: Type.Optional(Message),
        }),
      ),
    ),
  }),
  errors: { notFound: 'The account has no such channel' },
})
