import type { Sql } from '../../../platform/db/sql.ts'
import type { ConversationRow, ItemKind } from '../conversation-row.ts'

export type WordHit = { id: string; conversation_id: string }

/** A page of found rows. @property before id of the row that precedes the page */
export type WordPage = { readonly before: string; readonly limit: number }

/**
 * The newest texts, notes or names with all words, among the newest rows of the account: finds frequent words.
 * @param examined rows that are read backwards by time
 */
export const amongNewest = (
  sql: Sql,
  account: string,
  kind: 'name' | 'text' | 'note',
  hashes: readonly number[],
  { before, limit, examined }: WordPage & { readonly examined: number },
) => sql.many<WordHit>`
  select id, conversation_id from (
    select id, conversation_id, kind, words from conversation_words
    where account_id = ${account} and id < ${before}
    order by account_id desc, id desc limit ${examined}::integer) newest
  where kind = ${kind} and words @> ${hashes}::integer[] order by id desc limit ${limit}::integer`

/** The newest notes or names with all words, by their own index: a word that all texts have is rare in them. */
export const byWordsOutsideTexts = (
  sql: Sql,
  account: string,
  kind: 'name' | 'note',
  hashes: readonly number[],
  { before, limit }: WordPage,
) => sql.many<WordHit>`
  select id, conversation_id from (
    select id, conversation_id, kind from conversation_words
    where words @> ${hashes}::integer[] and account_id = ${account} and kind <> 'text' offset 0) found
  where kind = ${kind} and id < ${before} order by id desc limit ${limit}::integer`

/** The newest texts with all words, by the index of words: for words that are rare. */
export const byWordsOfTexts = (
  sql: Sql,
  account: string,
  hashes: readonly number[],
  { before, limit }: WordPage,
) => sql.many<WordHit>`
  select id, conversation_id from (
    select id, conversation_id, kind from conversation_words
    where words @> ${hashes}::integer[] and account_id = ${account} offset 0) found
  where kind = 'text' and id < ${before} order by id desc limit ${limit}::integer`

export const conversations = (sql: Sql, account: string, ids: readonly string[]) => sql.many<ConversationRow>`
  select * from conversations where account_id = ${account} and id = any (${ids}::uuid[])`

/** Kinds of items, which say where their texts are. */
export const kindsOf = (sql: Sql, account: string, hits: readonly WordHit[]) => sql.many<{
  id: string
  kind: ItemKind
}>`
  select i.id, i.kind
  from unnest(${hits.map((h) => h.conversation_id)}::uuid[], ${hits.map((h) => h.id)}::uuid[]) h (conversation_id, id)
  join conversation_items i on i.account_id = ${account} and i.conversation_id = h.conversation_id and i.id = h.id`
