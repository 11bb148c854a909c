import type { FastifyRequest } from 'fastify'
import type { Sql } from '../../../platform/db/sql.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import { type Access, accessOf, maySee } from '../access.ts'
import type { ConversationRow } from '../conversation-row.ts'
import { notes } from '../conversation-store.ts'
import { loadItems } from '../item-sources.ts'
import { printItem } from '../presenter.ts'
import { parseWords, type WordQuery } from '../words.ts'
import { comparedTexts, examinedNewest } from './limits.ts'
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

/** Finders of one reader. Each returns the newest results first. */
export type InboxSearch = {
  /** The reader sees only own conversations, and those without assignee. */
  readonly isNarrowed: boolean
  conversations(text: string, limit: number): Promise<InboxHit[]>
  texts(text: string, limit: number): Promise<InboxHit[]>
  notes(text: string, limit: number): Promise<InboxHit[]>
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
  limit: number,
): Promise<store.WordHit[]> => {
  const newest = await store.amongNewest(sql, account, kind, hashes, { examined: examinedNewest, limit })
  if (newest.length >= limit) return newest
  return kind === 'text'
    ? await store.byWordsOfTexts(sql, account, hashes, limit)
    : await store.byWordsOutsideTexts(sql, account, kind, hashes, limit)
}

const visibleConversations = async (sql: Sql, access: Access, ids: readonly string[]) => {
  const rows = await store.conversations(sql, access.account, [...new Set(ids)])
  return new Map(rows.filter((row) => maySee(access, row)).map((row) => [row.id, row]))
}

const makeFinders = (sql: Sql, access: Access): InboxSearch => {
  const { account } = access

  /** Joins found texts with their conversations, and cuts out the part around the words. */
  const present = async (
    query: WordQuery,
    hits: readonly store.WordHit[],
    found: ReadonlyMap<string, { readonly uuid: string; readonly text: string; readonly at: Date }>,
    limit: number,
  ): Promise<InboxHit[]> => {
    const known = await visibleConversations(
      sql,
      access,
      hits.map(({ conversation_id }) => conversation_id),
    )
    return hits
      .flatMap(({ id, conversation_id }): InboxHit[] => {
        const [row, one] = [known.get(conversation_id), found.get(id)]
        if (!row || !one || !hasWords(query, one.text)) return []
        const { text, marks } = snippetOf(one.text, query)
        const conversation = print('CNV', row.id)
        return [
          {
            ...{ uuid: one.uuid, conversation_uuid: conversation, title: row.name, text, text_marks: marks },
            ...{ at: iso(one.at), href: itemHref(conversation, one.uuid) },
          },
        ]
      })
      .slice(0, limit)
  }

  return {
    isNarrowed: access.isNarrowed,
    conversations: async (text, limit) => {
      const id = parse('CNV', text.slice(0, 3).toUpperCase() + text.slice(3))
      const query = parseWords(account, text)
      const ids = id
        ? [id]
        : query
          ? (await hitsOf(sql, account, 'name', query, limit * comparedTexts)).map((hit) => hit.conversation_id)
          : []
      const rows = [...(await visibleConversations(sql, access, ids)).values()]
      return rows
        .toSorted((one, other) => other.last_at.getTime() - one.last_at.getTime())
        .slice(0, limit)
        .map(conversationHit)
    },

    texts: async (text, limit) => {
      const query = parseWords(account, text)
      if (!query) return []
      const hits = await hitsOf(sql, account, 'text', query, limit * comparedTexts)
      const refs = (await store.kindsOf(sql, account, hits)).flatMap(({ id, kind }) =>
        kind === 'sms' || kind === 'msgapp' ? [{ id, kind }] : [],
      )
      const items = await loadItems(sql, account, refs)
      const found = items.map(
        ({ id, kind, direction, text, at }) => [id, { uuid: printItem(kind, direction, id), text, at }] as const,
      )
      return present(query, hits, new Map(found), limit)
    },

    notes: async (text, limit) => {
      const query = parseWords(account, text)
      if (!query) return []
      const hits = await hitsOf(sql, account, 'note', query, limit * comparedTexts)
      const rows = await notes(
        sql,
        account,
        hits.map(({ id }) => id),
      )
      const found = rows
        .filter(({ removed_at }) => removed_at === null)
        .map(({ id, text, created_at }) => [id, { uuid: print('NTE', id), text, at: created_at }] as const)
      return present(query, hits, new Map(found), limit)
    },
  }
}

/** Returns the search of a caller: it finds what the caller may see. */
export const inboxSearch = async (sql: Sql, call: Call): Promise<InboxSearch> =>
  makeFinders(sql, await accessOf(sql, call))
