import { refusals } from '../refusals.ts'
import { contactKinds, statuses } from '../schemas.ts'

type FilterValue = string | number | boolean

const oneOf = (values: readonly string[]) => (text: string) => (values.includes(text) ? text : null)
const matching = (pattern: RegExp) => (text: string) => (pattern.test(text) ? text : null)
const boolean = (text: string) => (text === 'true' ? true : text === 'false' ? false : null)
const time = (text: string) => (/^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text)) ? text : null)

const uuid = '[0-9a-fA-F-]{36}'

/** Filters of the list of conversations, with the readers of their values: as in `conversationFilters`. */
const readers = new Map<string, (text: string) => FilterValue | null>(
  Object.entries({
    status: oneOf(statuses),
    assignee: matching(new RegExp(`^(?:me|none|USR${uuid})(?:,(?:me|none|USR${uuid})){0,9}$`)),
    mentioned: matching(/^me$/),
    tag: matching(new RegExp(`^TAG${uuid}$`)),
    channel_uuid: matching(new RegExp(`^(?:SMS|WPN|DID)${uuid}$`)),
    kind: oneOf(contactKinds),
    unread: boolean,
    waiting: boolean,
    priority: (text) => (/^[012]$/.test(text) ? Number(text) : null),
    contact_uuid: matching(new RegExp(`^CON${uuid}$`)),
    q: (text) => (text.length >= 1 && text.length <= 200 ? text : null),
    since: time,
    until: time,
    sort: oneOf(['-last_at', 'waiting_since']),
  }),
)

/** Reads the filters of a saved view of the inbox. @throws Problem 422 for a filter that the list does not have */
export const readInboxQuery = (query: { readonly [name: string]: string }): Record<string, FilterValue> =>
  Object.fromEntries(
    Object.entries(query).map(([name, text]) => {
      const value = readers.get(name)?.(text) ?? null
      if (value === null) throw refusals.badFilter(name)
      return [name, value]
    }),
  )
