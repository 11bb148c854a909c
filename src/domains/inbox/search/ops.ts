import type { FastifyRequest } from 'fastify'
import type { Sql } from '../../../platform/db/sql.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { greatestId, parse, print } from '../../../platform/lib/id.ts'
import { type Access, accessOf, maySee } from '../access.ts'
import type { ConversationRow } from '../conversation-row.ts'
import { notes } from '../conversation-store.ts'
import { loadItems } from '../item-sources.ts'
import { comparedNames, comparedTexts, examinedNewest } from '../limits.ts'
import { printItem } from '../presenter.ts'
import { parseWords, type WordQuery } from '../words.ts'
import { hasWords, snippetOf } from './snippet.ts'
import * as store from './store.ts'

/** A conversation, message or note that a search found. */
export type InboxHit = {
  readonly uuid: string
  readonly conversation_uuid: string
  readonly title: string
  readonly text: string
  readonly text_marks: [number, number][]
  readonly at: string
  readonly href: string
}

/** Which results of a search are wanted. @property after results that precede the page: their number, or the last id */
type SearchPage<After> = { readonly after: After | null; readonly limit: number }

/** Results of a page. @property next `after` of the next page; null: there is none */
type FoundPage<After> = { readonly hits: readonly InboxHit[]; readonly next: After | null }

/** Finders of one reader. Each returns the newest results first. */
export type InboxSearch = {
  conversations(text: string, page: SearchPage<number>): Promise<FoundPage<number>>
  texts(text: string, page: SearchPage<string>): Promise<FoundPage<string>>
  notes(text: string, page: SearchPage<string>): Promise<FoundPage<string>>
}

type Call = Parameters<typeof accessOf>[1] & { readonly request: Pick<FastifyRequest, 'sessionAccount'> }

const itemHref = (conversation: string, item: string): string =>
  `/open/conversations/${conversation}/items?around=${item}`

const conversationHit = (row: ConversationRow): InboxHit => ({
  uuid: print('CNV', row.id),
  conversation_uuid: print('CNV', row.id),
  title: row.name,
  text: row.last_text,
  text_marks: [],
  at: iso(row.last_at),
  href: `/open/conversations/${print('CNV', row.id)}`,
})

/** Finds the newest rows with the words of a search. Frequent words are met by time, rare ones by their index. */
const hitsOf = async (
  sql: Sql,
  account: string,
  kind: 'name' | 'text' | 'note',
  { hashes }: WordQuery,
  page: store.WordPage,
): Promise<store.WordHit[]> => {
  const newest = await store.amongNewest(sql, account, kind, hashes, { ...page, examined: examinedNewest })
  if (newest.length >= page.limit) return newest
  return kind === 'text'
    ? await store.byWordsOfTexts(sql, account, hashes, page)
    : await store.byWordsOutsideTexts(sql, account, kind, hashes, page)
}

/** Rows that are compared for one page of texts or notes. */
const comparedPage = ({ after, limit }: SearchPage<string>): store.WordPage => ({
  before: after ?? greatestId,
  limit: (limit + 1) * comparedTexts,
})

const visibleConversations = async (sql: Sql, access: Access, ids: readonly string[]) => {
  const rows = await store.conversations(sql, access.account, [...new Set(ids)])
  return new Map(rows.filter((row) => maySee(access, row)).map((row) => [row.id, row]))
}

const none = { hits: [], next: null }

const makeFinders = (sql: Sql, access: Access): InboxSearch => {
  const { account } = access

  /** Joins found texts with their conversations, and cuts out the part around the words. */
  const present = async (
    query: WordQuery,
    hits: readonly store.WordHit[],
    found: ReadonlyMap<string, { readonly uuid: string; readonly text: string; readonly at: Date }>,
    page: SearchPage<string>,
  ): Promise<FoundPage<string>> => {
    const known = await visibleConversations(
      sql,
      access,
      hits.map(({ conversation_id }) => conversation_id),
    )
    const shown = hits.flatMap(({ id, conversation_id }) => {
      const [row, one] = [known.get(conversation_id), found.get(id)]
      if (!row || !one || !hasWords(query, one.text)) return []
      const { text, marks } = snippetOf(one.text, query)
      const conversation = print('CNV', row.id)
      const hit: InboxHit = {
        ...{ uuid: one.uuid, conversation_uuid: conversation, title: row.name, text, text_marks: marks },
        ...{ at: iso(one.at), href: itemHref(conversation, one.uuid) },
      }
      return [{ id, hit }]
    })
    const results = shown.slice(0, page.limit)
    // Rows that the reader may not see, or that have a longer word, take places of the page: the next one goes on.
    const isFull = hits.length === comparedPage(page).limit
    const last = shown.length > page.limit ? results.at(-1) : isFull ? hits.at(-1) : undefined
    return { hits: results.map(({ hit }) => hit), next: last?.id ?? null }
  }

  return {
    conversations: async (text, { after, limit }) => {
      const id = parse('CNV', text.slice(0, 3).toUpperCase() + text.slice(3))
      const query = parseWords(account, text)
      const ids = id
        ? [id]
        : query
          ? (await hitsOf(sql, account, 'name', query, { before: greatestId, limit: comparedNames })).map(
              (hit) => hit.conversation_id,
            )
          : []
      const rows = [...(await visibleConversations(sql, access, ids)).values()]
      const [from, end] = [after ?? 0, (after ?? 0) + limit]
      const page = rows.toSorted((one, other) => other.last_at.getTime() - one.last_at.getTime()).slice(from, end)
      return { hits: page.map(conversationHit), next: rows.length > end ? end : null }
    },

    texts: async (text, page) => {
      const query = parseWords(account, text)
      if (!query) return none
      const hits = await hitsOf(sql, account, 'text', query, comparedPage(page))
      const refs = (await store.kindsOf(sql, account, hits)).flatMap(({ id, kind }) =>
        kind === 'sms' || kind === 'msgapp' ? [{ id, kind }] : [],
      )
      const items = await loadItems(sql, account, refs)
      const found = items.map(
        ({ id, kind, direction, text, at }) => [id, { uuid: printItem(kind, direction, id), text, at }] as const,
      )
      return present(query, hits, new Map(found), page)
    },

    notes: async (text, page) => {
      const query = parseWords(account, text)
      if (!query) return none
      const hits = await hitsOf(sql, account, 'note', query, comparedPage(page))
      const rows = await notes(
        sql,
        account,
        hits.map(({ id }) => id),
      )
      const found = rows
        .filter(({ removed_at }) => removed_at === null)
        .map(({ id, text, created_at }) => [id, { uuid: print('NTE', id), text, at: created_at }] as const)
      return present(query, hits, new Map(found), page)
    },
  }
}

/** Returns the search of a caller: it finds what the caller may see. */
export const inboxSearch = async (sql: Sql, call: Call): Promise<InboxSearch> =>
  makeFinders(sql, await accessOf(sql, call))
