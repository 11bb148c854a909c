import type { LiveEvent } from '../live/log-position.ts'
import type { Conversation, Item } from './inbox-types.ts'

// The meaning of the log's events for the inbox. Pure, so that it is tested without a browser: the store carries it out.

/** The part of the inbox that the page has. */
export type InboxSnapshot = {
  readonly conversation: (uuid: string) => Conversation | undefined
  /** The conversation with a number or a group, if the page has it. */
  readonly withCounterpart: (counterpart: string) => Conversation | undefined
  /** Items of a thread that is loaded. */
  readonly items: (conversation: string) => readonly Item[] | undefined
  /** The thread that the person reads now. */
  readonly isRead: (conversation: string) => boolean
}

export type Changes = {
  readonly conversations: readonly Conversation[]
  readonly items: readonly { readonly conversation: string; readonly items: readonly Item[] }[]
  /** Conversations of which the page lacks something: it reads them. */
  readonly missing: readonly string[]
  /** Threads whose newest items the page reads. */
  readonly behind: readonly string[]
  /** A message that its thread must have soon: the inbox may take it in after its event. */
  readonly awaited?: { readonly conversation: string; readonly item: string }
  /** The state of a last message, which is no change of its conversation. */
  readonly state?: { readonly conversation: string; readonly last: Conversation['last'] }
}

const nothing: Changes = { conversations: [], items: [], missing: [], behind: [] }

type Data = Readonly<Record<string, unknown>>

/** The newer version of a conversation. An event has no read mark and no channels: those of the page remain. */
export const newerOf = (current: Conversation | undefined, next: Conversation): Conversation | undefined =>
  current !== undefined && current.version >= next.version ? undefined : next

const isNewInbound = (current: Conversation, next: Data): boolean => {
  const last = next.last as Conversation['last'] // of the event's contract
  return last.direction === 'inbound' && last.item_uuid !== current.last.item_uuid
}

const conversationChange = (data: Data, known: InboxSnapshot): Changes => {
  const uuid = String(data.uuid)
  const current = known.conversation(uuid)
  const item = data.item as Item | undefined // of the event's contract
  const added = item && known.items(uuid) ? [{ conversation: uuid, items: [item] }] : []
  if (!current) return { ...nothing, missing: [uuid], items: added }
  const { event, test, note, by_user_uuid, previous_assignee_uuid, item: _, ...fields } = data
  const isInbound = isNewInbound(current, data)
  const isCall = /call$/.test((data.last as Conversation['last']).kind)
  const isUnread = isInbound && !isCall && !known.isRead(uuid)
  const whole = { channels: current.channels, unread: current.unread + (isUnread ? 1 : 0) }
  const next = newerOf(current, { ...fields, ...whole } as Conversation) // the event has all other fields
  const shown = known.items(uuid)
  const last = (data.last as Conversation['last']).item_uuid
  const isChanged = next !== undefined && item === undefined
  // A change of the state is an item of its own, and so is a message whose event has not come yet.
  const isBehind =
    shown !== undefined && isChanged && (!shown.some((each) => each.uuid === last) || hasNewState(current, next))
  return {
    ...nothing,
    conversations: next ? [next] : [],
    items: added,
    // The server knows whether the person has answered the call: it is unread for the others only.
    missing: isInbound && isCall && !known.isRead(uuid) ? [uuid] : [],
    behind: isBehind ? [uuid] : [],
  }
}

const hasNewState = (before: Conversation, after: Conversation): boolean =>
  before.status !== after.status ||
  before.assignee_uuid !== after.assignee_uuid ||
  before.priority !== after.priority ||
  before.tags.join() !== after.tags.join() ||
  before.snoozed_until !== after.snoozed_until

/** States of a message on its way, in their order. Others are final, or those of calls. */
const way = ['scheduled', 'queued', 'sending', 'sent', 'delivered', 'received', 'read']

/** The last message with its later state: an answer may have been read before a receipt that overtook it. */
export const laterLast = (current: Conversation['last'] | undefined, next: Conversation['last']): typeof next => {
  const isOnWay = next.status !== undefined && way.includes(next.status)
  if (current?.item_uuid !== next.item_uuid || current.status === undefined || !isOnWay) return next
  const isLater = !way.includes(current.status) || way.indexOf(current.status) > way.indexOf(next.status ?? '')
  return isLater ? { ...next, status: current.status } : next
}

/** Events have times in UTC without a zone. */
const withZone = (time: unknown): string => {
  const text = String(time)
  return /(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`
}

type Kind = { readonly kind: Item['kind']; readonly field: 'sms' | 'message' | 'call'; readonly counterpart: string }

/** Acknowledgements of the messaging app, as lists name them. */
const acknowledgements = ['queued', 'sent', 'received', 'read']

/** The state of a last message that has a new one. A receipt changes no version, so the list learns it here only. */
const stateChange = (data: Data, { counterpart }: Kind, known: InboxSnapshot): Pick<Changes, 'state'> => {
  const conversation = known.withCounterpart(counterpart)
  const ack = data.failure ? 'failed' : acknowledgements[Number(data.wa_msg_ack)]
  const status = typeof data.status === 'string' ? data.status : ack
  if (!conversation || !status || conversation.last.item_uuid !== data.uuid || conversation.last.status === status)
    return {}
  return { state: { conversation: conversation.uuid, last: { ...conversation.last, status } } }
}

/** Replaces the item that shows a message or call. A new one is added if its thread is loaded. */
const itemChange = (
  data: Data,
  { kind, field, counterpart }: Kind,
  isInbound: boolean,
  known: InboxSnapshot,
): Changes => {
  const conversation = known.withCounterpart(counterpart)
  const items = conversation && known.items(conversation.uuid)
  if (!conversation || !items) return nothing
  const { uuid } = conversation
  const { event, test, note, ...fields } = data
  const shown = items.find((item) => item.uuid === data.uuid)
  const content = { ...shown?.[field], ...fields, created_at: withZone(data.created_at) }
  // Outbound messages name their author in the list of items only.
  if (!shown && !isInbound)
    return { ...nothing, behind: [uuid], awaited: { conversation: uuid, item: String(data.uuid) } }
  const item = {
    uuid: String(data.uuid),
    kind,
    at: shown?.at ?? withZone(data.created_at),
    direction: isInbound ? 'inbound' : 'outbound',
    channel_uuid: data.channel_uuid,
    ...shown,
    [field]: content,
  } as Item // the fields of an item, by its contract
  return { ...nothing, items: [{ conversation: uuid, items: [item] }] }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The counterpart of a call. A caller who withholds the number is one for that call alone. */
const callCounterpart = (data: LiveEvent['data']): string => {
  if (data.direction !== 'I') return text(data.to_number)
  const [number, call] = [data.received_on_number_uuid, data.uuid].map((id) => text(id).slice('DID'.length))
  return data.from === 'anonymous' ? `remote:${number}:${call}` : text(data.from)
}

/** Returns the changes of an event. */
export const changesOf = ({ name, data }: LiveEvent, known: InboxSnapshot): Changes => {
  if (name.startsWith('conversation.') && name !== 'conversation.bulk') return conversationChange(data, known)
  if (name.startsWith('sms.message.')) {
    const isInbound = data.direction === 'inbound'
    const counterpart = text(isInbound ? data.source : data.destination)
    const kind = { kind: 'sms', field: 'sms', counterpart } as const
    return { ...itemChange(data, kind, isInbound, known), ...stateChange(data, kind, known) }
  }
  if (name.startsWith('msgapp.message.')) {
    const counterpart = text(data.group_uuid) || text(data.remote_phone_number)
    const kind = { kind: 'msgapp', field: 'message', counterpart } as const
    const isInbound = data.sent_by === 'user'
    return { ...itemChange(data, kind, isInbound, known), ...(isInbound ? {} : stateChange(data, kind, known)) }
  }
  if (name.startsWith('call.')) {
    const counterpart = callCounterpart(data)
    const conversation = known.withCounterpart(counterpart)
    return conversation && known.items(conversation.uuid) ? { ...nothing, behind: [conversation.uuid] } : nothing
  }
  return nothing
}
