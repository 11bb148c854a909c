/** Events on a channel of an account, by what the channel is. */
const channelEvents = {
  sms: ['sms.message.received', 'sms.message.sent', 'sms.message.delivered', 'sms.message.failed'],
  call: ['call.status.update', 'call.incoming.completed', 'call.outbound.completed'],
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
