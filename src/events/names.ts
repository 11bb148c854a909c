/** Events on a channel of an account, by what the channel is. */
const channelEvents = {
  sms: ['sms.message.received', 'sms.message.sent', 'sms.message.delivered', 'sms.message.failed'],
  call: ['call.status.update', 'call.incoming.completed', 'call.outbound.completed'],
  msgapp: [
    'msgapp.message.new',
    'msgapp.message.received',
    'msgapp.message.sent',
    'msgapp.message.reaction',
    'msgapp.message.edited',
    'msgapp.message.receipt.sent',
    'msgapp.message.receipt.received',
    'msgapp.message.receipt.read',
    'msgapp.conversation.new',
    'msgapp.call.received',
    'msgapp.call.made',
    'msgapp.group.message.received',
    'msgapp.group.join',
    'msgapp.group.leave',
    'msgapp.group.remove',
    'msgapp.number.status',
  ],
} as const

/** Events that concern the whole account. */
const accountEvents = [
  'number.purchased',
  'number.released',
  'number.suspended',
  'contact.created',
  'contact.updated',
  'balance.low',
] as const

/** What an account can be told of. */
export type EventName = (typeof channelEvents)[keyof typeof channelEvents][number] | (typeof accountEvents)[number]

/** All of them, as the documentation lists them. */
export const eventNames: readonly EventName[] = [...Object.values(channelEvents).flat(), ...accountEvents]
