import {
  anonymousCaller,
  hiddenCounterpart,
  hiddenCounterparts,
  type Narrowing,
} from '../../domains/inbox/narrowing/ops.ts'
import type { Sql } from '../../platform/db/sql.ts'
import { print } from '../../platform/lib/id.ts'
import { type FeedEvent, topicsOf } from './topics.ts'

// An account may let agents see only conversations that are theirs, or that have no assignee. Pages of such agents get
// the events of these alone.

type Payload = { readonly [field: string]: unknown }

/** The bare id of a printed one. */
const withoutPrefix = (printed: string): string => printed.slice(3)

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** A person whose number the network hides, or a caller who withholds it, who is a counterpart for that call alone. */
const hiddenCounterpartOf = ({ channel_uuid, remote_id, received_on_number_uuid, from, uuid }: Payload): string[] => {
  const [channel, remote] =
    from === anonymousCaller ? [textOf(received_on_number_uuid), textOf(uuid)] : [textOf(channel_uuid), null]
  const id = remote === null ? textOf(remote_id) : withoutPrefix(remote)
  return channel !== null && id !== null ? [hiddenCounterpart(withoutPrefix(channel), id)] : []
}

/** Returns the counterparts that an event of a message or call may be with, as conversations name them. */
export const counterpartsOf = (payload: Payload): string[] => {
  const numbers = Object.values(payload).flatMap((value) => {
    const text = textOf(value)
    return text?.startsWith('+') || text?.startsWith('WAG') ? [text] : []
  })
  // Senders such as INFO have no number.
  const names = ['from_number', 'to_number', 'from', 'to'].flatMap((field) => textOf(payload[field]) ?? [])
  return [...new Set([...numbers, ...names, ...hiddenCounterpartOf(payload)])]
}

/** A conversation that went to another user: the page learns that, and no more. */
const withoutContent = (event: FeedEvent, { uuid, version, assignee_uuid, event: name }: Payload): FeedEvent => ({
  ...event,
  payload: JSON.stringify({ uuid, version, assignee_uuid, event: name }),
})

/** Returns the events that a user may see, in their order. Those of other topics than the inbox are not narrowed. */
export const narrowEvents = async (
  sql: Sql,
  narrowing: Narrowing,
  events: readonly FeedEvent[],
): Promise<FeedEvent[]> => {
  const own = narrowing.user && print('USR', narrowing.user)
  const read = events.map((event) => {
    const payload: Payload = JSON.parse(event.payload)
    const isText = topicsOf(event).includes('inbox') || event.name.startsWith('call.')
    const isConversation = event.name.startsWith('conversation.')
    // A user's own calls are shown to the user: calls/store.ts.
    const isNarrowed = isText && !isConversation && (own === null || payload.agent_id !== own)
    return { event, payload, isConversation, counterparts: isNarrowed ? counterpartsOf(payload) : [] }
  })
  const distinct = [...new Set(read.flatMap(({ counterparts }) => counterparts))]
  const hidden = new Set(distinct.length > 0 ? await hiddenCounterparts(sql, narrowing, distinct) : [])
  return read.flatMap(({ event, payload, isConversation, counterparts }) => {
    if (!isConversation) return counterparts.some((one) => hidden.has(one)) ? [] : [event]
    const assignee = textOf(payload.assignee_uuid)
    return [assignee === null || assignee === own ? event : withoutContent(event, payload)]
  })
}
