import { makeConditions } from '../../../platform/db/conditions.ts'
import type { Sql, Value } from '../../../platform/db/sql.ts'
import type { ConversationEvents } from '../../inbox/messages/ops.ts'
import type { EventName } from '../event-names.ts'
import { examinedAround, examinedEvents, maxEventsOfSubject } from '../limits.ts'

/** Below and above every id. */
export const least = '00000000-0000-0000-0000-000000000000'
export const greatest = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

export type EventRow = {
  id: string
  name: EventName
  channel_id: string | null
  webhook_id: string | null
  payload: string
  created_at: Date
}

export type EventFilter = {
  readonly name: string | null
  /** Bare ids of a channel: a virtual number and its SMS channel are equivalent. */
  readonly channels: readonly string[] | null
  readonly conversation: ConversationEvents | null
  readonly since: Date | null
  readonly until: Date | null
  /** Ids between which the list lies: its ends excluded. */
  readonly above: string
  readonly below: string
  readonly isOldestFirst: boolean
}

/** The events that a page examines. */
const examined = (account: string, { above, below, isOldestFirst }: EventFilter) => {
  const bindings = makeConditions()
  bindings.add('account_id = ?', account)
  bindings.add('id > ?::uuid', above)
  bindings.add('id < ?::uuid', below)
  const text = `select id, name, channel_id, webhook_id, conversation, payload, created_at from events ${bindings.text}
    order by id ${isOldestFirst ? '' : 'desc'} limit ${examinedEvents}`
  return { bindings, text }
}

/**
 * Returns the condition that an event is one of a conversation. A call is looked up by its id. Its scalar subquery is
 * probed for the events of calls alone: the planner never joins all calls of the account.
 */
const ofConversation = (
  { keys, peers, counterpart }: ConversationEvents,
  account: string,
  bind: (value: Value) => string,
): string => `case
    when conversation = any (${bind(keys)}::text[]) then true
    when name like 'sms.%' or name like 'msgapp.%' then substr(conversation, 38) = any (${bind(peers)}::text[])
    when conversation like 'call %' then (
      select canonical_number(case c.direction when 'O' then c.to_number else c.from_number end) from calls c
      where c.account_id = ${bind(account)} and c.id = substr(e.conversation, 6)::uuid limit 1) = ${bind(counterpart)}
    else false end`

/** Returns the first matching events. Examines 10,000 at most. */
export const page = (sql: Sql, account: string, filter: EventFilter, limit: number) => {
  const { bindings, text } = examined(account, filter)
  const conditions: string[] = []
  if (filter.name !== null) conditions.push(`name = ${bindings.bind(filter.name)}`)
  if (filter.channels !== null) conditions.push(`channel_id = any (${bindings.bind(filter.channels)}::uuid[])`)
  if (filter.conversation !== null) conditions.push(ofConversation(filter.conversation, account, bindings.bind))
  if (filter.since !== null) conditions.push(`created_at >= ${bindings.bind(filter.since)}`)
  if (filter.until !== null) conditions.push(`created_at < ${bindings.bind(filter.until)}`)
  const where = conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''
  return sql.raw<EventRow>(
    `select id, name, channel_id, webhook_id, payload::text as payload, created_at from (${text}) e ${where}
     order by id ${filter.isOldestFirst ? '' : 'desc'} limit ${bindings.bind(limit)}`,
    bindings.values,
  )
}

/** Returns the last event that `page` examines; null if it examines all that follow. */
export const lastExamined = async (sql: Sql, account: string, filter: EventFilter): Promise<string | null> => {
  const { bindings, text } = examined(account, filter)
  const [row] = await sql.raw<{ id: string; count: number }>(
    `select id, (count(*) over ())::integer as count from (select id from (${text}) x) e
     order by id ${filter.isOldestFirst ? 'desc' : ''} limit 1`,
    bindings.values,
  )
  return row && row.count >= examinedEvents ? row.id : null
}

export const find = (sql: Sql, account: string, id: string) => sql.maybe<EventRow>`
  select id, name, channel_id, webhook_id, payload::text as payload, created_at
  from events where account_id = ${account} and id = ${id}`

export type FoundEventRow = { id: string; name: EventName; created_at: Date }

export type Windows = { readonly from: readonly string[]; readonly until: readonly string[] }

/** Events of a conversation about one thing, within windows of ids, oldest first. */
export const ofSubject = (
  sql: Sql,
  account: string,
  { conversation, printed, windows }: { conversation: string; printed: string; windows: Windows },
) => sql.many<FoundEventRow>`
  select distinct e.id, e.name, e.created_at
  from unnest(${windows.from}::uuid[], ${windows.until}::uuid[]) w (low, high)
  cross join lateral (
    select id, name, created_at, conversation, payload, webhook_id from events
    where account_id = ${account} and id >= w.low and id < w.high
    order by id limit ${examinedAround}::integer) e
  where e.webhook_id is null and e.conversation = ${conversation} and e.payload ->> 'uuid' = ${printed}
  order by e.id limit ${maxEventsOfSubject}::integer`

/** Returns the ids that events on a channel carry; none for a channel that is not the account's. */
export const channelIds = async (
  sql: Sql,
  account: string,
  kind: 'SMS' | 'DID' | 'WPN',
  id: string,
): Promise<string[]> => {
  if (kind === 'WPN') {
    const found = await sql.maybe`select 1 from msgapp_channels where account_id = ${account} and id = ${id}`
    return found ? [id] : []
  }
  const rows =
    kind === 'DID'
      ? await sql.many<{ did: string; sms: string | null }>`
          select v.id as did, c.id as sms from virtual_numbers v
          left join sms_channels c on c.account_id = v.account_id and c.virtual_number_id = v.id
          where v.account_id = ${account} and v.id = ${id}`
      : await sql.many<{ did: string; sms: string | null }>`
          select virtual_number_id as did, id as sms from sms_channels where account_id = ${account} and id = ${id}`
  return rows.flatMap(({ did, sms }) => (sms === null ? [did] : [did, sms]))
}
