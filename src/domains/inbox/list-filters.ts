import type { Static } from 'typebox'
import type { Sql } from '../../platform/db/sql.ts'
import { refuse } from '../../platform/http/problem.ts'
import { parse } from '../../platform/lib/id.ts'
import type { Access } from './access.ts'
import type * as c from './contract.ts'
import type { ConversationFilter } from './conversation-list.ts'
import * as store from './conversation-store.ts'
import { parseChannel } from './ids.ts'
import { keyReader } from './presenter.ts'
import { refusals } from './refusals.ts'

/** Filters of a list as a request, a saved view or a bulk change has them. */
export type FilterQuery = Omit<Static<typeof c.listConversations.query>, 'view' | 'cursor' | 'results_per_page'>

/** No user has this id: a key has no conversations of its own. */
export const noUser = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const assigneeOf = async (sql: Sql, { account, userId }: Access, value: string): Promise<string> => {
  if (value === 'none') return keyReader
  if (value === 'me') return userId ?? noUser
  const id = parse('USR', value)
  return id && (await store.exists(sql, account, 'users', id)) ? id : refuse(refusals.unknownUser(value))
}

const assigneesOf = async (sql: Sql, access: Access, value: string): Promise<readonly string[]> => {
  const found: string[] = []
  for (const each of value.split(',')) found.push(await assigneeOf(sql, access, each))
  return [...new Set(found)]
}

/** Reads filters. @throws Problem 404 for a thing that is not the account's */
export const readFilter = async (sql: Sql, access: Access, query: FilterQuery): Promise<ConversationFilter> => {
  const { account } = access
  const { assignee, tag, channel_uuid: channel, contact_uuid: contact } = query
  const tagId = tag === undefined ? null : (parse('TAG', tag) ?? refuse(refusals.unknownTag(tag)))
  if (tag !== undefined && tagId && !(await store.exists(sql, account, 'inbox_tags', tagId)))
    throw refusals.unknownTag(tag)
  const found = channel === undefined ? null : (parseChannel(channel) ?? refuse(refusals.unknownChannel(channel)))
  if (channel !== undefined && found && !(await store.exists(sql, account, found.table, found.id)))
    throw refusals.unknownChannel(channel)
  const contactId = contact === undefined ? null : (parse('CON', contact) ?? refuse(refusals.unknownContact(contact)))
  if (contact !== undefined && contactId && !(await store.exists(sql, account, 'contacts', contactId)))
    throw refusals.unknownContact(contact)
  return {
    status: query.status ?? null,
    assignees: assignee === undefined ? null : await assigneesOf(sql, access, assignee),
    mentioned: query.mentioned === undefined ? null : (access.userId ?? noUser),
    tag: tagId,
    channel: found?.id ?? null,
    kind: query.kind ?? null,
    unread: query.unread ?? null,
    waiting: query.waiting ?? null,
    priority: query.priority ?? null,
    contact: contactId,
    q: query.q ?? null,
    since: query.since === undefined ? null : new Date(query.since),
    until: query.until === undefined ? null : new Date(query.until),
    sort: query.sort ?? '-last_at',
  }
}
