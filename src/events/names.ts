/** Events on a channel of an account, by what the channel is. */
export const channelEvents = {
  sms: ['sms.message.received', 'sms.message.sent', 'sms.message.delivered', 'sms.message.failed'],
  call: ['call.status.update', 'call.incoming.completed', 'call.outbound.completed'],
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
  'contact.created',
  'contact.updated',
  'balance.low',
  'msgapp.check.completed',
] as const

/** What an account can be told of. */
export type EventName = (typeof channelEvents)[keyof typeof channelEvents][number] | (typeof accountEvents)[number]

/** All of them, as the documentation lists them. */
export const eventNames: readonly EventName[] = [...Object.values(channelEvents).flat(), ...accountEvents]

/** Of services of this kind: one may subscribe to them, and they never happen here yet. */
const unheard = ['msgapp.group.message.reaction', 'msgapp.order.received', 'msgapp.audio.transcribed']
const isUnheard = (name: string): boolean => unheard.includes(name) || /^msgapp\.waba\.[a-z._]{1,60}$/.test(name)

/** Second spellings, by which one may subscribe too. */
const spellings = new Map<string, EventName>([['call.outgoing.completed', 'call.outbound.completed']])

/** The event of a name in whatever spelling; undefined when there is none. */
export const eventNamed = (spelt: string): EventName | undefined =>
  spellings.get(spelt) ?? eventNames.find((name) => name === spelt)

export type EventKind = keyof typeof channelEvents | 'account'

/** What somebody who subscribes by this name gets: the event's own name, and on what it happens. Null when there is none. */
export const subscribable = (spelt: string): { name: string; kind: EventKind } | null => {
  const name = spellings.get(spelt) ?? spelt
  for (const kind of ['sms', 'call', 'msgapp'] as const)
    if (channelEvents[kind].some((known) => known === name)) return { name, kind }
  if (accountEvents.some((known) => known === name)) return { name, kind: 'account' }
  return isUnheard(name) ? { name, kind: 'msgapp' } : null
}
