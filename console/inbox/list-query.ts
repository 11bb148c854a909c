import type { Conversation } from './inbox-types.ts'
import type { SortKey } from './item-order.ts'

// Which conversations a list has, and in which order: the predicate of `GET /open/conversations`. A test holds it against
// the answers of the server. Pure.

/** Filters of a list, as in the query of `GET /open/conversations`. */
export type ListQuery = {
  readonly status?: Conversation['status']
  /** `me`, `none`, `USR…`, or several separated by commas. */
  readonly assignee?: string
  readonly tag?: string
  readonly channel_uuid?: string
  readonly kind?: Conversation['last']['kind']
  readonly unread?: boolean
  readonly waiting?: boolean
  readonly priority?: number
  readonly contact_uuid?: string
  readonly mentioned?: string
  readonly q?: string
  readonly since?: string
  readonly until?: string
  readonly sort?: '-last_at' | 'waiting_since'
}

const isAssigned = (filter: string, assignee: string | undefined, viewer: string): boolean =>
  filter
    .split(',')
    .some((each) => (each === 'none' ? assignee === undefined : assignee === (each === 'me' ? viewer : each)))

/**
 * True if the list has the conversation; undefined if only the server can know, as with a search.
 * @param viewer the user of the session; empty for a key
 */
export const isInList = (query: ListQuery, conversation: Conversation, viewer: string): boolean | undefined => {
  const { status, assignee, tag, channel_uuid, kind, unread, waiting, priority, contact_uuid, since, until } = query
  const { last } = conversation
  const isMember =
    (status === undefined || conversation.status === status) &&
    (assignee === undefined || isAssigned(assignee, conversation.assignee_uuid, viewer)) &&
    (tag === undefined || conversation.tags.includes(tag)) &&
    (channel_uuid === undefined || last.channel_uuid === channel_uuid) &&
    (kind === undefined || last.kind === kind) &&
    (unread === undefined || conversation.unread > 0 === unread) &&
    (waiting === undefined || (conversation.waiting_since !== undefined) === waiting) &&
    (priority === undefined || conversation.priority === priority) &&
    (contact_uuid === undefined || conversation.contact?.uuid === contact_uuid) &&
    (since === undefined || Date.parse(last.at) >= Date.parse(since)) &&
    (until === undefined || Date.parse(last.at) < Date.parse(until)) &&
    (query.sort !== 'waiting_since' || (conversation.waiting_since !== undefined && conversation.status === 'open'))
  if (!isMember) return false
  return query.q === undefined && query.mentioned === undefined ? true : undefined
}

/** Times of different precision compare as texts only in one form. */
const sortable = (time: string): string => new Date(time).toISOString()

/** The place of a conversation in the list. */
export const sortKeyOf = ({ sort }: ListQuery, { uuid, last, waiting_since }: Conversation): SortKey =>
  sort === 'waiting_since'
    ? { value: sortable(waiting_since ?? last.at), id: uuid, isDescending: false }
    : { value: sortable(last.at), id: uuid, isDescending: true }
