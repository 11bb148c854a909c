import type { Db } from '../../../platform/db/sql.ts'
import type { Contact } from '../contact-presenter.ts'
import { maxPerLookup } from '../limits.ts'
import { load } from '../ops.ts'
import * as store from '../store.ts'
import { type Hash, makeHash } from './search-keys.ts'
import {
  digitsAsWords,
  exactQuery,
  nearQuery,
  parseQuery,
  prefixQuery,
  type SearchQuery,
  withinQuery,
} from './search-query.ts'
import { scoreOf } from './search-ranking.ts'

type SearchPage = {
  readonly channel: string | null
  /** Only blocked contacts. */
  readonly isBlocked?: boolean | undefined
  readonly limit: number
  readonly offset: number
}

type QueryBuilder = (hash: Hash, variant: SearchQuery) => store.GramQuery

/**
 * Returns a page of matching contacts, best first. Lookups run from exact to vague until one page is full; later
 * pages continue in the same order. `scoreOf` ranks the results. Measured with a million contacts: bench/contacts.ts.
 */
export const search = async (
  db: Db,
  account: string,
  text: string,
  { channel, isBlocked = false, limit, offset }: SearchPage,
): Promise<{ contacts: Contact[]; total: number }> => {
  const query = parseQuery(text)
  const [all, sample] = [makeHash(account, false), makeHash(account, true)]
  const scores = new Map<string, number>()

  const lookUp = async (build: QueryBuilder, variant: SearchQuery): Promise<void> => {
    const gramQuery = build(all, variant)
    if (gramQuery.whole.length + gramQuery.any.length === 0) return
    const found = await store.findByGrams(db, account, gramQuery, build(sample, variant), maxPerLookup)
    const ids = found.map(({ id }) => id)
    const isFiltered = channel !== null || isBlocked
    const allowed = isFiltered ? new Set(await store.among(db, account, { channel, isBlocked }, ids)) : null
    for (const row of found) {
      if (allowed && !allowed.has(row.id)) continue
      if (scores.has(row.id)) continue
      const score = scoreOf(variant, row)
      if (score > 0) scores.set(row.id, score)
    }
  }
  const hasWords = query.words.length > 0

  if (hasWords) await lookUp(exactQuery, query)
  if (scores.size < limit) await lookUp(nearQuery, query)
  if (scores.size < limit && hasWords) await lookUp(withinQuery, query)
  if (scores.size < limit && query.digits.length > 0) await lookUp(nearQuery, digitsAsWords(query))
  if (scores.size === 0 && hasWords) await lookUp(prefixQuery, query)

  const best = [...scores]
    .sort(([one, left], [other, right]) => right - left || (one < other ? -1 : 1))
    .slice(offset, offset + limit)
  const contacts = await load(
    db,
    account,
    best.map(([id]) => id),
  )
  const rank = new Map(best.map(([id], i) => [id, i]))
  contacts.sort((one, other) => (rank.get(one.id) ?? 0) - (rank.get(other.id) ?? 0))
  return { contacts, total: scores.size }
}
