import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import { Id, Named, Ok, Phone, Time } from '../../platform/http/schema.ts'
import { countCap } from './limits.ts'
import { ChannelId, Conversation, ConversationItem, conversationFilters, ItemId, itemKinds, Status } from './schemas.ts'

const inbox = { auth: 'account', needs: 'inbox', shape: 'full', tag: 'Inbox' } as const

const params = Type.Object({ conversation_uuid: Id('CNV') })
const unknown = 'No such conversation of the account, or not one that you may see'

const listPage = {
  results_per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default: 50' })),
  cursor: Type.Optional(Type.String({ maxLength: 300, description: 'next_cursor of the previous page' })),
}

const ConversationReply = Ok({ conversation: Conversation })

export const listConversations = contract({
  ...inbox,
  id: 'listInboxConversations',
  client: 'conversations.list',
  csv: 'conversations',
  method: 'GET',
  url: '/open/conversations',
  summary: 'The conversations of the account over all channels, latest activity first',
  description:
    'A conversation has all messages, calls and notes with one person or group. ' +
    'Some filters examine 10,000 conversations, so a short page may have a next_cursor. ' +
    'Agents see their own and unassigned conversations only, if the account says so.',
  query: Type.Object({
    ...conversationFilters,
    view: Type.Optional(Id('VIW', 'Filters of a saved view; other parameters replace those of the view')),
    ...listPage,
  }),
  status: 200,
  reply: Ok({
    count: Type.Integer({ description: 'Rows in this page' }),
    conversations: Type.Array(Conversation),
    next_cursor: Type.Optional(Type.String({ description: 'For the next page; absent on the last one' })),
  }),
  errors: { notFound: 'The user, tag, channel, contact or view does not exist or is not the account’s' },
  cli: 'conversations list',
})

export const countConversations = contract({
  ...inbox,
  id: 'countConversations',
  client: 'conversations.counts',
  method: 'GET',
  url: '/open/conversations/counts',
  summary: 'Numbers of conversations in the usual lists and in saved views',
  description: `Numbers stop at ${countCap.view}: more is then true.`,
  query: Type.Object({
    views: Type.Optional(
      Type.String({
        maxLength: 2_000,
        pattern: '^[A-Za-z0-9_-]+(?:,[A-Za-z0-9_-]+){0,49}$',
        description:
          'open, mine, unassigned, waiting, mine_waiting, unread, snoozed, closed, mentions, or VIW…, separated by commas. Default: all but mentions and views',
        examples: ['open,mine,unassigned'],
      }),
    ),
  }),
  status: 200,
  reply: Ok({
    counts: Type.Record(
      Type.String(),
      Named(
        'ConversationCount',
        Type.Object({
          n: Type.Integer({ examples: [14] }),
          more: Type.Boolean({ description: `There are more than ${countCap.view}` }),
        }),
      ),
    ),
  }),
  codes: { invalid: ['unknown_view'] },
  errors: { notFound: 'The account has no such view' },
})

export const beginConversation = contract({
  ...inbox,
  id: 'beginConversation',
  client: 'conversations.begin',
  method: 'POST',
  url: '/open/conversations',
  summary: 'Begin a conversation with a number or a group, or get the one that exists',
  description: 'The last messages and calls with the number are taken in. The event is conversation.created.',
  body: Type.Object(
    {
      number: Type.Optional(Phone('The counterpart, E.164; either this or group_uuid')),
      group_uuid: Type.Optional(Id('WAG', 'A group of the messaging app')),
      channel_uuid: Type.Optional(ChannelId('The channel to write on: SMS… or WPN…')),
    },
    { examples: [{ number: '+447700900123' }] },
  ),
  status: 201,
  also: { 200: 'The conversation exists already' },
  reply: ConversationReply,
  codes: { invalid: ['counterpart_required'] },
  errors: { notFound: 'The group or the channel does not exist or is not the account’s' },
})

export const getConversation = contract({
  ...inbox,
  id: 'getInboxConversation',
  client: 'conversations.get',
  method: 'GET',
  url: '/open/conversations/:conversation_uuid',
  summary: 'One conversation, with the channels by which the counterpart can be reached',
  description: 'The messages, calls and notes are listed by its items.',
  params,
  status: 200,
  reply: ConversationReply,
  errors: { notFound: unknown },
})

export const changeConversation = contract({
  ...inbox,
  id: 'changeConversation',
  client: 'conversations.change',
  audited: true,
  method: 'PATCH',
  url: '/open/conversations/:conversation_uuid',
  summary: 'Open, snooze or close a conversation, assign it, or change its priority',
  description:
    'With version, the change is refused if the conversation changed since (version_conflict). ' +
    'Events: conversation.updated, and conversation.assigned or conversation.closed.',
  params,
  body: Type.Object(
    {
      status: Type.Optional(Status),
      assignee_uuid: Type.Optional(Type.Union([Id('USR'), Type.Null()], { description: 'null: no assignee' })),
      priority: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 })),
      snoozed_until: Type.Optional(
        Type.Union([{ ...Time, maxLength: 40 }, Type.Null()], {
          description: 'Opens the conversation then; sets the status snoozed',
        }),
      ),
      snoozed_till_reply: Type.Optional(
        Type.Boolean({ description: 'Opens the conversation with the next inbound message; sets the status snoozed' }),
      ),
      version: Type.Optional(Type.Integer({ minimum: 1, description: 'The version that you changed' })),
    },
    { examples: [{ status: 'closed' }] },
  ),
  status: 200,
  reply: ConversationReply,
  codes: { invalid: ['snooze_in_the_past', 'snooze_without_end'], unprocessable: ['assignee_not_active'] },
  errors: {
    notFound: `${unknown}; or the account has no such user`,
    conflict: 'The conversation has another version (version_conflict)',
    unprocessable: 'The assignee is not an active user with the capability inbox (assignee_not_active)',
  },
})

export const listItems = contract({
  ...inbox,
  id: 'listConversationItems',
  client: 'conversations.items',
  csv: 'items',
  method: 'GET',
  url: '/open/conversations/:conversation_uuid/items',
  summary: 'The messages, calls, notes and changes of a conversation, newest first',
  description:
    'next_cursor leads to older items. With around, the page surrounds an item, and previous_cursor leads to newer ones.',
  params,
  query: Type.Object({
    ...listPage,
    around: Type.Optional(ItemId('An item of the conversation')),
    kinds: Type.Optional(
      Type.String({
        pattern: `^(?:${itemKinds.join('|')})(?:,(?:${itemKinds.join('|')})){0,${itemKinds.length - 1}}$`,
        description: `Kinds separated by commas: ${itemKinds.join(', ')}. Default: all`,
        examples: ['sms,note'],
      }),
    ),
  }),
  status: 200,
  reply: Ok({
    count: Type.Integer({ description: 'Rows in this page' }),
    items: Type.Array(ConversationItem),
    next_cursor: Type.Optional(Type.String({ description: 'For older items; absent at the end' })),
    previous_cursor: Type.Optional(Type.String({ description: 'For newer items; absent on the newest page' })),
  }),
  errors: { notFound: `${unknown}; or it has no such item` },
})

export const readConversation = contract({
  ...inbox,
  id: 'markConversationRead',
  client: 'conversations.read',
  unrecorded: true,
  method: 'POST',
  url: '/open/conversations/:conversation_uuid/read',
  summary: 'Mark a conversation as read up to an item, or as unread',
  description: 'The mark belongs to the user of the session; keys of an account share one.',
  params,
  body: Type.Object(
    {
      until: Type.Optional(ItemId('The last item read')),
      unread: Type.Optional(Type.Literal(true, { description: 'The last inbound item is unread again' })),
    },
    { examples: [{ unread: true }] },
  ),
  status: 200,
  reply: Ok({ unread: Type.Integer({ description: `Inbound items after the mark; at most ${countCap.unread}` }) }),
  codes: { invalid: ['read_mark_required'] },
  errors: { notFound: `${unknown}; or it has no such item` },
})

export const listContactConversations = contract({
  ...inbox,
  id: 'listContactConversations',
  client: 'contacts.conversations',
  method: 'GET',
  url: '/open/contacts/:contact_uuid/conversations',
  summary: 'The conversations with the numbers of a contact, latest activity first',
  description: 'At most 100. A contact with several numbers has a conversation for each.',
  params: Type.Object({ contact_uuid: Id('CON') }),
  status: 200,
  reply: Ok({ conversations: Type.Array(Conversation) }),
  errors: { notFound: 'The account has no such contact' },
})
