import type { Db } from '../db/sql.ts'
import { type Asked, asWords, begunAlike, exactly, nearly, readAsked, within } from './asked.ts'
import { type Hash, hashOf } from './keys.ts'
import { load } from './ops.ts'
import { scoreOf } from './rank.ts'
import type { Contact } from './shown.ts'
import * as store from './store.ts'

/** Contacts that one look at the index brings at most: enough to choose a page from. */
const most = 200

type Way = (hash: Hash, asked: Asked) => store.Wanted

/**
 * A page of the contacts that a text finds, best first. Looks are taken one after the other, from the exact to the vague, until there
 * are enough for one page; later pages go on in the same order. What they bring is judged by `scoreOf`. Measured with a million contacts: bench/contacts.ts.
 */
export const search = async (
  db: Db,
  account: string,
  text: string,
  { channel, limit, offset }: { channel: string | null; limit: number; offset: number },
): Promise<{ contacts: Contact[]; total: number }> => {
  const given = readAsked(text)
  const [all, sample] = [hashOf(account, false), hashOf(account, true)]
  const scores = new Map<string, number>()

  const look = async (way: Way, asked: Asked): Promise<void> => {
    const wanted = way(all, asked)
    if (wanted.whole.length + wanted.any.length === 0) return
    const found = await store.found(db, account, wanted, way(sample, asked), most)
    const ids = found.map(({ id }) => id)
    const here = channel === null ? null : new Set(await store.amongChannel(db, account, channel, ids))
    for (const row of found) {
      if (here && !here.has(row.id)) continue
      if (scores.has(row.id)) continue
      const score = scoreOf(asked, row)
      if (score > 0) scores.set(row.id, score)
    }
  }
  const hasWords = given.words.length > 0

  if (hasWords) await look(exactly, given)
  if (scores.size < limit) await look(nearly, given)
  if (scores.size < limit && hasWords) await look(within, given)
  if (scores.size < limit && given.digits.length > 0) await look(nearly, asWords(given))
  if (scores.size === 0 && hasWords) await look(begunAlike, given)

  const best = [...scores]
    .sort(([one, left], [other, right]) => right - left || (one < other ? -1 : 1))
    .slice(offset, offset + limit)
  const contacts = await load(
    db,
    account,
    best.map(([id]) => id),
  )
  const place = new Map(best.map(([id], i) => [id, i]))
  contacts.sort((one, other) => (place.get(one.id) ?? 0) - (place.get(other.id) ?? 0))
  return { contacts, total: scores.size }
}
