import { makeConditions } from '../../platform/db/conditions.ts'
import { exactTime } from '../../platform/db/list-query.ts'
import type { Sql } from '../../platform/db/sql.ts'
import type { Access } from './access.ts'
import { unreadAfter } from './context-store.ts'
import type { ConversationRow, Status } from './conversation-row.ts'
import * as store from './conversation-store.ts'
import { countCap, examinedConversations, rareTag } from './limits.ts'
import { parseWords } from './words.ts'

/** Filters of a list of conversations. Ids have no prefix. */
export type ConversationFilter = {
  readonly status: Status | null
  /** null: all conversations; otherwise those of users, and `keyReader` for those without. */
  readonly assignees: readonly string[] | null
  /** The user whom a note mentions; null: any conversation. */
  readonly mentioned: string | null
  readonly tag: string | null
  readonly channel: string | null
  readonly kind: string | null
  readonly unread: boolean | null
  readonly waiting: boolean | null
  readonly priority: number | null
  readonly contact: string | null
  readonly q: string | null
  readonly since: Date | null
  readonly until: Date | null
  readonly sort: '-last_at' | 'waiting_since'
}

const none = '00000000-0000-0000-0000-000000000000'

export type ListedRow = ConversationRow & { exact: string }

export type ConversationPage = {
  readonly rows: ListedRow[]
  /** Key behind which the next page begins: time and id; null at the end. */
  readonly next: readonly [time: string, id: string] | null
}

/** Ids to which words and a rare tag limit a list; null: any. An empty list ends the search. */
const allowedIds = async (
  sql: Sql,
  account: string,
  { q, tag, mentioned }: ConversationFilter,
): Promise<string[] | null> => {
  const mentions = mentioned === null ? null : await store.withMention(sql, account, mentioned)
  if (mentions !== null && q === null) return mentions
  const words = q === null ? null : parseWords(account, q)
  if (q !== null && words === null) return []
  const found = words && (await store.withWords(sql, account, words.hashes))
  if (found !== null && mentions !== null) return found.filter((id) => mentions.includes(id))
  if (found !== null || tag === null || (await store.tagged(sql, account, tag)) > rareTag) return found
  return await store.withTag(sql, account, tag)
}

const hasNoIds = ({ q, tag, mentioned }: ConversationFilter): boolean =>
  q === null && tag === null && mentioned === null

/**
 * Returns the statement of a list. The conditions that an index serves bound the rows that are examined; the others
 * filter them.
 */
const statementOf = (
  access: Access,
  filter: ConversationFilter,
  {
    ids,
    after,
    limit,
    unreadAfter: mark,
  }: {
    ids: readonly string[] | null
    after: readonly string[] | null
    limit: number
    unreadAfter: string
  },
) => {
  const filterConditions = makeConditions()
  const isByWaiting = filter.sort === 'waiting_since'
  const [time, direction, beyond] = isByWaiting ? ['waiting_since', '', '>'] : ['last_at', 'desc', '<']
  filterConditions.add('account_id = ?', access.account)
  if (isByWaiting) filterConditions.push("status = 'open' and waiting_since is not null")
  if (ids !== null) filterConditions.add('id = any (?::uuid[])', ids)
  // A leading column of an index, or rows of which few do not match.
  filterConditions.add('status = ?', filter.status)
  const assigned = "coalesce(assignee_id, '00000000-0000-0000-0000-000000000000')"
  filterConditions.add('last_channel = ?', filter.channel)
  filterConditions.add('contact_id = ?', filter.contact)
  if (filter.priority !== null && filter.priority > 0)
    filterConditions.push(`priority > 0 and priority = ${filterConditions.bind(filter.priority)}`)
  if (filter.waiting === true) filterConditions.push("status = 'open' and waiting_since is not null")
  filterConditions.add('last_at >= ?', filter.since)
  filterConditions.add('last_at < ?', filter.until)
  if (after !== null) {
    const [at = '', id = ''] = after
    filterConditions.push(
      `(${time}, id) ${beyond} (${filterConditions.bind(at)}::timestamptz, ${filterConditions.bind(id)}::uuid)`,
    )
  }
  const order = `order by ${time} ${direction}, id ${direction}`
  // Each assignee is a range of the index, and the ranges are merged. A narrowed reader has two.
  const visible = access.isNarrowed ? [none, ...(access.userId === null ? [] : [access.userId])] : null
  const assignees = filter.assignees?.filter((user) => visible?.includes(user) !== false) ?? visible
  const ranges = assignees?.map((user) => `${assigned} = ${filterConditions.bind(user)}::uuid`) ?? ['true']
  if (ranges.length === 0) ranges.push('false')
  const bound = `limit ${examinedConversations + 1}`
  const selectOne = (range: string, rowLimit: string) =>
    `(select * from conversations ${filterConditions.text} and ${range} ${order} ${rowLimit})`
  const boundValues = [...filterConditions.values]
  const conditions: string[] = []
  const push = (text: string) => void conditions.push(text)
  if (filter.tag !== null) push(`tags @> array[${filterConditions.bind(filter.tag)}::uuid]`)
  if (filter.kind !== null) push(`last_kind = ${filterConditions.bind(filter.kind)}`)
  if (filter.priority === 0) push('priority = 0')
  if (filter.waiting === false) push("not (status = 'open' and waiting_since is not null)")
  if (filter.unread !== null) {
    const read = `select r.read_until from conversation_reads r where r.account_id = ${filterConditions.bind(access.account)}
      and r.user_id = ${filterConditions.bind(access.user)} and r.conversation_id = e.id`
    const isUnread = `e.last_inbound is not null and e.last_inbound > coalesce((${read}), ${filterConditions.bind(mark)}::uuid)`
    push(filter.unread ? isUnread : `not (${isUnread})`)
  }
  const isExamined = conditions.length > 0
  const source = (rowLimit: string) =>
    ranges.length === 1
      ? selectOne(ranges[0] ?? 'true', rowLimit)
      : `(select * from (${ranges.map((range) => selectOne(range, rowLimit)).join(' union all ')}) merged ${order} ${rowLimit})`
  const where = isExamined ? `where ${conditions.join(' and ')}` : ''
  const exact = exactTime(time)
  return {
    isExamined,
    values: filterConditions.values,
    boundValues,
    text: `select e.*, ${exact} as exact from (${source(isExamined ? bound : `limit ${limit + 1}`)}) e ${where} ${order} limit ${limit + 1}`,
    /** The last row that the statement examines, if it does not examine all. */
    lastText: `select ${exact} as exact, id, n from (
      select ${time}, id, count(*) over () as n from (${source(bound)}) e) x order by ${time} ${direction === '' ? 'desc' : ''}, id ${direction === '' ? 'desc' : ''} limit 1`,
  }
}

/** Reads a page of conversations. @param after key of the row before the page */
export const listConversations = async (
  sql: Sql,
  access: Access,
  filter: ConversationFilter,
  after: readonly string[] | null,
  limit: number,
): Promise<ConversationPage> => {
  const ids = hasNoIds(filter) ? null : await allowedIds(sql, access.account, filter)
  if (ids?.length === 0) return { rows: [], next: null }
  const mark = filter.unread === null ? none : await unreadAfter(sql, access.account, access.user)
  const { text, lastText, values, boundValues, isExamined } = statementOf(access, filter, {
    ids,
    after,
    limit,
    unreadAfter: mark,
  })
  const found = await sql.raw<ListedRow>(text, values)
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  if (found.length > limit && last) return { rows, next: [last.exact, last.id] }
  if (!isExamined) return { rows, next: null }
  const [examined] = await sql.raw<{ exact: string; id: string; n: number }>(lastText, boundValues)
  return { rows, next: examined && examined.n > examinedConversations ? [examined.exact, examined.id] : null }
}

/** Counts the conversations of a filter, up to the limit, among those that one page examines. */
export const countConversations = async (
  sql: Sql,
  access: Access,
  filter: ConversationFilter,
): Promise<{ n: number; more: boolean }> => {
  const ids = hasNoIds(filter) ? null : await allowedIds(sql, access.account, filter)
  if (ids?.length === 0) return { n: 0, more: false }
  const mark = filter.unread === null ? none : await unreadAfter(sql, access.account, access.user)
  const { text, values } = statementOf(access, filter, { ids, after: null, limit: countCap.view, unreadAfter: mark })
  const [row] = await sql.raw<{ n: number }>(`select count(*)::integer as n from (${text}) counted`, values)
  const n = row?.n ?? 0
  return { n: Math.min(n, countCap.view), more: n > countCap.view }
}
