import { Type } from 'typebox'
import { Confidential } from '../../platform/http/confidential.ts'
import { Enum, Id, Named, Time } from '../../platform/http/schema.ts'
import { getCall } from '../calls/contract.ts'
import { getMessage } from '../msgapp/messages/contract.ts'
import { getSmsMessage } from '../sms/contract.ts'
import { countCap, lastTextLength } from './limits.ts'

/** Statuses of a conversation. */
export const statuses = ['open', 'snoozed', 'closed'] as const

/** Kinds of items. `msgapp-call` is a call on a chat network; `change` an act of a person on the conversation. */
export const itemKinds = ['sms', 'msgapp', 'call', 'msgapp-call', 'note', 'change'] as const

/** Kinds of items that make a conversation the newest of its list: not notes and changes. */
export const contactKinds = ['sms', 'msgapp', 'call', 'msgapp-call'] as const

export const Status = Enum([...statuses])

/** Id of an item: the id of its message, call or note; `ITM…` where it has none. */
export const ItemId = (description = 'Id of the message, call or note; ITM… for other items') =>
  Type.String({
    pattern: '^(?:SMI|SMO|MSG|CDR|NTE|ITM)',
    maxLength: 64,
    description,
    examples: ['SMI01a1fcca-93ab-7cbc-9f10-be702f775479'],
  })

export const ChannelId = (description = 'SMS channel or channel of the messaging app; of a call its number') =>
  Type.String({
    pattern: '^(?:SMS|WPN|DID)',
    maxLength: 64,
    description,
    examples: ['SMS01a1fcca-93ab-7cbc-9f10-be702f775479'],
  })

const Direction = Enum(['inbound', 'outbound'])

export const Conversation = Named(
  'InboxConversation',
  Type.Object({
    uuid: Id('CNV'),
    counterpart: Type.String({
      description: 'E.164, a sender name, WAG… of a group, or remote:<channel>:<id> where the network hides the number',
      examples: ['+447700900123'],
    }),
    number: Type.Optional(Type.String({ description: 'Absent for groups and hidden numbers' })),
    group_uuid: Type.Optional(Id('WAG')),
    contact: Type.Optional(
      Named(
        'ConversationContact',
        Type.Object({
          uuid: Id('CON'),
          first_name: Type.String(),
          last_name: Type.String(),
          picture: Type.Union([Type.String(), Type.Null()]),
        }),
      ),
    ),
    name: Type.String({
      description: 'The name of the contact or by the network, or the number',
      examples: ['Ada Lovelace'],
    }),
    status: Status,
    assignee_uuid: Type.Optional(Id('USR', 'Absent: no assignee')),
    priority: Type.Integer({ minimum: 0, maximum: 2, description: '0 normal, 1 high, 2 urgent' }),
    tags: Type.Array(Id('TAG')),
    snoozed_until: Type.Optional(Time),
    snoozed_till_reply: Type.Boolean(),
    unread: Type.Integer({
      description: `Inbound items that the user of the session has not read; at most ${countCap.unread}. Keys share one read mark`,
    }),
    waiting_since: Type.Optional({
      ...Time,
      description: 'First inbound message or missed call that no person answered',
    }),
    last: Named(
      'ConversationLastItem',
      Type.Object({
        item_uuid: ItemId(),
        kind: Enum([...itemKinds]),
        direction: Type.Optional(Direction),
        text: Confidential(Type.String({ description: `At most ${lastTextLength} characters` })),
        at: Time,
        status: Type.Optional(
          Type.String({
            description: 'As in the SMS or call; on the messaging app queued, sent, received, read or failed',
          }),
        ),
        channel_uuid: Type.Optional(ChannelId()),
      }),
    ),
    channels: Type.Array(
      Named(
        'ConversationChannel',
        Type.Object({
          channel_uuid: ChannelId('SMS… or WPN…'),
          kind: Enum(['sms', 'msgapp']),
          phone_number: Type.String(),
          can_write: Type.Boolean(),
          reason: Type.Optional(
            Enum(
              [
                'opted_out',
                'number_suspended',
                'disabled',
                'inbound_only',
                'not_connected',
                'not_joined',
                'not_supported',
              ],
              {
                description: 'Why messages cannot be sent',
              },
            ),
          ),
        }),
      ),
      {
        description:
          'Channels by which the counterpart can be reached, the one of the last message first. Lists have that one only',
      },
    ),
    version: Type.Integer({ description: 'Rises with each change' }),
    created_at: Time,
  }),
)

const Note = Named(
  'ConversationNote',
  Type.Object({
    uuid: Id('NTE'),
    conversation_uuid: Id('CNV'),
    user_uuid: Type.Optional(Id('USR', 'Author; absent for an API key')),
    text: Confidential(Type.String({ description: 'Empty once the note was removed' })),
    mentions: Type.Array(Id('USR')),
    created_at: Time,
    edited_at: Type.Optional(Time),
    removed_at: Type.Optional(Time),
  }),
)

/** One changed field of a conversation. */
const Change = Named(
  'ConversationChange',
  Type.Object({
    field: Enum(['status', 'assignee_uuid', 'priority', 'tags', 'snoozed_until', 'snoozed_till_reply', 'number']),
    from: Type.Union([Type.String(), Type.Null()]),
    to: Type.Union([Type.String(), Type.Null()]),
  }),
)

export const ConversationItem = Named(
  'ConversationItem',
  Type.Object({
    uuid: ItemId(),
    kind: Enum([...itemKinds]),
    at: Time,
    direction: Type.Optional(Direction),
    user_uuid: Type.Optional(Id('USR', 'The person who sent, wrote or changed it, or took the call')),
    channel_uuid: Type.Optional(ChannelId()),
    sms: Type.Optional(getSmsMessage.reply.properties.message),
    message: Type.Optional(getMessage.reply.properties.message),
    removed: Type.Optional(
      Type.Literal(true, { description: 'The message of the messaging app was deleted; it has no content' }),
    ),
    call: Type.Optional(getCall.reply.properties.cdr),
    note: Type.Optional(Note),
    change: Type.Optional(Change),
  }),
)

/** Filters of the list of conversations, which saved views and bulk changes have too. */
export const conversationFilters = {
  status: Type.Optional(Status),
  assignee: Type.Optional(
    Type.String({
      pattern: '^(?:me|none|USR[0-9a-f-]{1,60})(?:,(?:me|none|USR[0-9a-f-]{1,60})){0,9}$',
      maxLength: 600,
      description: 'me, none, USR…, or several separated by commas. A key has no conversations of its own',
      examples: ['me,none'],
    }),
  ),
  mentioned: Type.Optional(Enum(['me'], { description: 'Has a note that mentions you' })),
  tag: Type.Optional(Id('TAG')),
  channel_uuid: Type.Optional(ChannelId('Channel of the last message or call')),
  kind: Type.Optional(Enum([...contactKinds], { description: 'Kind of the last message or call' })),
  unread: Type.Optional(Type.Boolean({ description: 'Has, or has not, inbound items that you have not read' })),
  waiting: Type.Optional(
    Type.Boolean({ description: 'Has, or has not, a message or missed call that nobody answered' }),
  ),
  priority: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 })),
  contact_uuid: Type.Optional(Id('CON')),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Words of the name, the number, or of messages and notes; the last word may be its beginning',
      examples: ['invoice'],
    }),
  ),
  since: Type.Optional(
    Type.String({
      format: 'date-time',
      maxLength: 40,
      description: 'Last activity not before',
      examples: ['2026-11-21T00:00:00Z'],
    }),
  ),
  until: Type.Optional(
    Type.String({
      format: 'date-time',
      maxLength: 40,
      description: 'Last activity before',
      examples: ['2026-11-22T00:00:00Z'],
    }),
  ),
  sort: Type.Optional(
    Enum(['-last_at', 'waiting_since'], {
      description:
        '-last_at: latest activity first (default). waiting_since: open conversations that wait, longest first',
    }),
  ),
}

/** Lists whose numbers are always available. */
export const countedLists = [
  'open',
  'mine',
  'unassigned',
  'waiting',
  'mine_waiting',
  'unread',
  'snoozed',
  'closed',
] as const
