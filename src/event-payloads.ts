import { type TProperties, type TSchema, Type } from 'typebox'
import { getCall } from './domains/calls/contract.ts'
import { getContact } from './domains/contacts/contract.ts'
import { type EventName, eventNames } from './domains/events/event-names.ts'
import { showBulkChange } from './domains/inbox/bulk/contract.ts'
import { getConversation, listItems } from './domains/inbox/contract.ts'
import { getChannel } from './domains/msgapp/channels/contract.ts'
import { getCheckBatch } from './domains/msgapp/checks/contract.ts'
import { getMessage } from './domains/msgapp/messages/contract.ts'
import { getVirtualNumber } from './domains/numbers/contract.ts'
import { getSmsMessage } from './domains/sms/contract.ts'
import type { EventDocument } from './platform/http/openapi-webhooks.ts'
import { roles } from './platform/http/role.ts'
import { Decimal, Enum, Id, Named, Time } from './platform/http/schema.ts'

/** Schemas of the bodies that webhooks receive. Most are an object of the interface with a few more fields. */

const localTime = Type.String({
  description: 'UTC without a zone',
  examples: ['2026-11-21T06:20:00'],
})

const common: TProperties = {
  uuid: Type.String({ description: 'Id of the object, or of the event if there is no object' }),
  test: Type.Optional(Type.Literal(true, { description: 'Present in tests of a webhook and in examples' })),
  note: Type.Optional(Type.String({ description: 'In a test without an example: what the account lacks' })),
}

/** An object schema without some of its fields. */
const without = (schema: { properties: TProperties }, ...names: string[]): TProperties =>
  Object.fromEntries(Object.entries(schema.properties).filter(([name]) => !names.includes(name)))

const payload = (name: string, fields: TProperties): TSchema =>
  Named(name, Type.Object({ event: Type.String({ description: 'Name of the subscription' }), ...common, ...fields }))

const { message: smsMessage } = getSmsMessage.reply.properties
const { message: chatMessage } = getMessage.reply.properties

const sms = payload('SmsEvent', {
  ...without(smsMessage, 'created_at'),
  created_at: localTime,
  channel_uuid: Id('SMS'),
})

const callFields: TProperties = {
  ...getCall.reply.properties.cdr.properties,
  received_on_number: Type.Optional(Type.String({ description: 'Inbound: the called number' })),
  received_on_number_uuid: Type.Optional(Id('DID', 'Inbound: the called number of the account')),
}

const call = payload('CallEvent', callFields)

const recording = payload('CallRecordingEvent', {
  ...callFields,
  recording_uuid: Id('REC'),
  recording_seconds: Type.Number(),
  recording_url: Type.String({ description: 'A WAV file. The link expires after eight days' }),
})

const message = {
  ...without(chatMessage, 'created_at'),
  created_at: localTime,
}

const chat = payload('MsgappMessageEvent', message)

const reaction = payload('MsgappReactionEvent', {
  ...message,
  reaction: Type.String({ description: 'Empty: the reaction was removed' }),
  reaction_by: Type.String({ description: 'Phone number, or id on the network' }),
  reacted_at: Time,
})

const edited = payload('MsgappEditEvent', {
  ...message,
  edited: Type.Literal(true),
  previous_text: Type.Optional(Type.String()),
})

const conversation = payload('MsgappConversationEvent', {
  ...message,
  previous_message_at: Type.Optional({ ...Time, description: 'Absent for the first message of a conversation' }),
})

const chatCall = payload('MsgappCallEvent', {
  channel_uuid: Id('WPN'),
  channel_phone_number: Type.String(),
  remote_phone_number: Type.Optional(Type.String()),
  remote_id: Type.Optional(Type.String({ description: 'Present if the number is unknown' })),
  wa_group_id: Type.Optional(Type.String()),
  wa_call_id: Type.String(),
  direction: Enum(['O', 'I']),
  is_video: Type.Boolean(),
  timestamp: Time,
  created_at: localTime,
})

const membership = payload('MsgappGroupEvent', {
  channel_uuid: Id('WPN'),
  channel_phone_number: Type.String(),
  group_uuid: Id('WAG'),
  wa_group_id: Type.Union([Type.String(), Type.Null()]),
  name: Type.String(),
  participants: Type.Array(Type.String({ description: 'Phone number, or id on the network' })),
  created_at: localTime,
})

const status = payload('MsgappStatusEvent', {
  ...getChannel.reply.properties.channel.properties,
  channel_uuid: Id('WPN'),
  channel_phone_number: Type.String(),
  reason: Type.Union([Type.String(), Type.Null()]),
  proof_age_seconds: Type.Optional(Type.Integer({ minimum: 0 })),
})

const number = payload('NumberEvent', {
  ...getVirtualNumber.reply.properties.number.properties,
  reason: Type.Optional(
    Type.String({ description: 'Absent for number.purchased; in number.updated only after documents were refused' }),
  ),
})

const contact = payload('ContactEvent', getContact.reply.properties.contact.properties)

const balance = payload('BalanceEvent', {
  account_uuid: Id('ACC'),
  balance: Decimal,
  low_balance: Decimal,
  currency: Type.Literal('USD'),
  created_at: Time,
})

const member = payload('MemberEvent', {
  uuid: Id('USR'),
  first_name: Type.String(),
  last_name: Type.String(),
  role: Enum([...roles]),
  status: Enum(['ACTIVE', 'PENDING_INVITE', 'SUSPENDED', 'DELETED']),
})

const check = payload('CheckEvent', {
  ...getCheckBatch.reply.properties.batch.properties,
  results: getCheckBatch.reply.properties.results,
})

/** `unread` belongs to one user, and `channels` to the moment of a request. */
const inboxConversation = {
  ...without(getConversation.reply.properties.conversation, 'unread', 'channels'),
  by_user_uuid: Type.Optional(Id('USR', 'The person who changed it; absent for keys and the platform')),
}
const inbox = payload('ConversationEvent', inboxConversation)

const assigned = payload('ConversationAssignedEvent', {
  ...inboxConversation,
  previous_assignee_uuid: Type.Optional(Id('USR')),
})

const note = payload('ConversationNoteEvent', {
  ...inboxConversation,
  item: listItems.reply.properties.items.items,
})

const bulk = payload('ConversationBulkEvent', {
  ...showBulkChange.reply.properties.job.properties,
  by_user_uuid: Type.Optional(Id('USR', 'The person who requested it; absent for keys')),
})

const programFailure = payload('ProgramFailedEvent', {
  ...callFields,
  application_uuid: Type.Optional(Id('APP', 'Absent for a program that is no application')),
  error: Type.Object({
    code: Type.String({
      description:
        'unreachable, timeout, status, content_type, malformed, verb, attribute, loop, forbidden_address or too_large',
    }),
    url: Type.Union([Type.String(), Type.Null()]),
    status: Type.Union([Type.Integer(), Type.Null()], { description: 'HTTP status of the answer' }),
    detail: Type.String(),
  }),
})

const documents: { readonly [name in EventName]: readonly [summary: string, body: TSchema] } = {
  'sms.message.received': ['An SMS arrived', sms],
  'sms.message.sent': ['A carrier accepted an SMS', sms],
  'sms.message.delivered': ['An SMS reached its recipient', sms],
  'sms.message.failed': ['An SMS could not be delivered', sms],
  'call.status.update': ['The status of a call changed', call],
  'call.incoming.completed': ['An inbound call ended', call],
  'call.outbound.completed': ['An outbound call ended', call],
  'call.initiated': ['A call began: it came in, or is being placed', call],
  'call.answered': ['A call was answered', call],
  'call.recording.ready': ['A recording of a call is available', recording],
  'call.program.failed': ['The program of a call failed; the call ends', programFailure],
  'msgapp.message.new': ['A message was sent or received on the messaging app', chat],
  'msgapp.message.received': ['A message arrived on the messaging app', chat],
  'msgapp.message.sent': ['The network accepted a message', chat],
  'msgapp.message.failed': ['The network rejected a message', chat],
  'msgapp.message.reaction': ['A reaction to a message was added or removed', reaction],
  'msgapp.message.edited': ['The text of a message was changed', edited],
  'msgapp.message.receipt.sent': ['A message was acknowledged by the network', chat],
  'msgapp.message.receipt.received': ['A message reached the device of its recipient', chat],
  'msgapp.message.receipt.read': ['A message was read', chat],
  'msgapp.conversation.new': ['A conversation began, or continued after the silence of the webhook', conversation],
  'msgapp.call.received': ['A call arrived on the messaging app', chatCall],
  'msgapp.call.made': ['The phone of a channel made a call on the messaging app', chatCall],
  'msgapp.group.message.received': ['A message arrived in a group', chat],
  'msgapp.group.message.reaction': ['A reaction to a message of a group was added or removed', reaction],
  'msgapp.group.join': ['People joined a group', membership],
  'msgapp.group.leave': ['People left a group', membership],
  'msgapp.group.remove': ['People were removed from a group', membership],
  'msgapp.number.status': ['The status of a channel changed', status],
  'number.purchased': ['The account bought a number', number],
  'number.released': ['A number left the account', number],
  'number.suspended': ['A number was suspended', number],
  'number.updated': [
    'The state of a number changed otherwise: its documents were decided, or its suspension ended',
    number,
  ],
  'contact.created': ['A contact was created', contact],
  'contact.updated': ['A contact was changed', contact],
  'balance.low': ['The balance fell below the limit of the account', balance],
  'member.joined': ['A person accepted an invitation to the account', member],
  'member.changed': ['A member was invited, changed, suspended or removed', member],
  'msgapp.check.completed': ['A batch of number checks ended', check],
  'conversation.created': ['A conversation of the inbox began', inbox],
  'conversation.updated': ['A conversation of the inbox changed: a new message, another state or tags', inbox],
  'conversation.assigned': ['A conversation of the inbox got another assignee, or lost it', assigned],
  'conversation.closed': ['A conversation of the inbox was closed', inbox],
  'conversation.note.created': ['A note was written in a conversation of the inbox', note],
  'conversation.bulk': ['A change of many conversations went on, or ended', bulk],
}

/** All events with the schemas of their bodies, in the order of the documentation. */
export const eventDocuments: readonly EventDocument[] = eventNames.map((name) => {
  const [summary, body] = documents[name]
  return { name, summary, body }
})
