/** Events on a channel of an account, by the kind of channel. */
export const channelEvents = {
  sms: ['sms.message.received', 'sms.message.sent', 'sms.message.delivered', 'sms.message.failed'],
  call: [
    'call.status.update',
    'call.incoming.completed',
    'call.outbound.completed',
    'call.initiated',
    'call.answered',
    'call.recording.ready',
    'call.program.failed',
  ],
  msgapp: [
    'msgapp.message.new',
    'msgapp.message.received',
    'msgapp.message.sent',
    'msgapp.message.failed',
    'msgapp.message.reaction',
    'msgapp.message.edited',
    'msgapp.message.receipt.sent',
    'msgapp.message.receipt.received',
    'msgapp.message.receipt.read',
    'msgapp.conversation.new',
    'msgapp.call.received',
    'msgapp.call.made',
    'msgapp.group.message.received',
    'msgapp.group.message.reaction',
    'msgapp.group.join',
    'msgapp.group.leave',
    'msgapp.group.remove',
    'msgapp.number.status',
  ],
} as const

/** Events that concern the whole account. */
export const accountEvents = [
  'number.purchased',
  'number.released',
  'number.suspended',
  'number.updated',
  'contact.created',
  'contact.updated',
  'balance.low',
  'member.joined',
  'member.changed',
  'msgapp.check.completed',
  'conversation.created',
  'conversation.updated',
  'conversation.assigned',
  'conversation.closed',
  'conversation.note.created',
  'conversation.bulk',
] as const

/** Name of an event that the platform publishes. */
export type EventName = (typeof channelEvents)[keyof typeof channelEvents][number] | (typeof accountEvents)[number]

/** All event names, in the order of the documentation. */
export const eventNames: readonly EventName[] = [...Object.values(channelEvents).flat(), ...accountEvents]

/** Events of comparable services: webhooks may subscribe to them, but the platform does not publish them yet. */
const neverPublished = ['msgapp.order.received', 'msgapp.audio.transcribed']
const isNeverPublished = (name: string): boolean =>
  neverPublished.includes(name) || /^msgapp\.waba\.[a-z._]{1,60}$/.test(name)

/** Aliases that webhooks may subscribe to. */
const aliases = new Map<string, EventName>([['call.outgoing.completed', 'call.outbound.completed']])

/** Returns the event for a name or alias; undefined when there is none. */
export const findEventName = (spelt: string): EventName | undefined =>
  aliases.get(spelt) ?? eventNames.find((name) => name === spelt)

export type EventKind = keyof typeof channelEvents | 'account'

/** Returns the event that a subscription to this name or alias receives, with its kind; null when there is none. */
export const subscribable = (spelt: string): { name: string; kind: EventKind } | null => {
  const name = aliases.get(spelt) ?? spelt
  for (const kind of ['sms', 'call', 'msgapp'] as const)
    if (channelEvents[kind].some((known) => known === name)) return { name, kind }
  if (accountEvents.some((known) => known === name)) return { name, kind: 'account' }
  return isNeverPublished(name) ? { name, kind: 'msgapp' } : null
}
