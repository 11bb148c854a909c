import type { Sql } from '../../platform/db/sql.ts'
import { Problem, refuse } from '../../platform/http/problem.ts'
import { parse } from '../../platform/lib/id.ts'
import type { Access } from './access.ts'
import { unreadAfter } from './context-store.ts'
import { type ConversationFilter, countConversations } from './conversation-list.ts'
import * as store from './conversation-store.ts'
import { countCap, examinedConversations } from './limits.ts'
import { noUser, readFilter } from './list-filters.ts'
import { keyReader } from './presenter.ts'
import { refusals } from './refusals.ts'
import { countedLists } from './schemas.ts'

type CappedCount = { readonly n: number; readonly more: boolean }
type CountedList = (typeof countedLists)[number]

const capped = (n: number): CappedCount => ({ n: Math.min(Math.max(n, 0), countCap.view), more: n > countCap.view })

const everything: ConversationFilter = {
  ...{
    status: null,
    assignees: null,
    mentioned: null,
    tag: null,
    channel: null,
    kind: null,
    unread: null,
    waiting: null,
    priority: null,
  },
  ...{ contact: null, q: null, since: null, until: null, sort: '-last_at' },
}

/** Returns the numbers that the counters hold. A narrowed reader has those of the own and the unassigned ones. */
const countFromCounters = async (sql: Sql, { account, userId, isNarrowed }: Access) => {
  const subjects = [...new Set([keyReader, ...(userId === null ? [] : [userId])])]
  const kinds = ['open', 'snoozed', 'closed', 'waiting', 'open-of', 'waiting-of']
  const rows = await store.counters(sql, account, kinds, subjects)
  const of = (kind: string, subject: string | null) =>
    subject === null ? 0 : (rows.find((row) => row.kind === kind && row.subject === subject)?.n ?? 0)
  const own = { open: of('open-of', userId), waiting: of('waiting-of', userId) }
  const unassigned = { open: of('open-of', keyReader), waiting: of('waiting-of', keyReader) }
  return {
    mine: own.open,
    mine_waiting: own.waiting,
    unassigned: unassigned.open,
    open: isNarrowed ? own.open + unassigned.open : of('open', keyReader),
    waiting: isNarrowed ? own.waiting + unassigned.waiting : of('waiting', keyReader),
    ...(isNarrowed ? {} : { snoozed: of('snoozed', keyReader), closed: of('closed', keyReader) }),
  }
}

/** A view may name a tag that was deleted since: it has no conversations, and the other numbers are still shown. */
const noneIfGone = (error: unknown): null => {
  if (error instanceof Problem && error.problem === 'notFound') return null
  throw error
}

const isCounted = (name: string): name is CountedList => countedLists.some((known) => known === name)

/** Counts lists by their names, and saved views by their ids. @throws Problem 400, 404 */
export const countLists = async (
  sql: Sql,
  access: Access,
  names: readonly string[] = countedLists,
): Promise<{ [name: string]: CappedCount }> => {
  const counters = new Map<string, number>(Object.entries(await countFromCounters(sql, access)))
  const count = async (name: string): Promise<CappedCount> => {
    const known = counters.get(name)
    if (known !== undefined) return capped(known)
    if (name === 'unread' && !access.isNarrowed) {
      const after = await unreadAfter(sql, access.account, access.user)
      return capped(await store.countUnread(sql, access, after, examinedConversations))
    }
    if (isCounted(name))
      return await countConversations(
        sql,
        access,
        name === 'unread'
          ? { ...everything, status: 'open', unread: true }
          : { ...everything, status: name === 'snoozed' ? 'snoozed' : 'closed' },
      )
    if (name === 'mentions')
      return await countConversations(sql, access, { ...everything, mentioned: access.userId ?? noUser })
    if (!name.startsWith('VIW'))
      throw refusals.unknownCount(name.slice(0, 60), [...countedLists, 'mentions'].join(', '))
    const id = parse('VIW', name)
    const view = (id && (await store.view(sql, access, id))) || refuse(refusals.unknownView(name))
    const filter = await readFilter(sql, access, view.query).catch(noneIfGone)
    return filter === null ? capped(0) : await countConversations(sql, access, filter)
  }
  const counts: { [name: string]: CappedCount } = {}
  for (const name of new Set(names)) counts[name] = await count(name)
  return counts
}
