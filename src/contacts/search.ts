import type { Db } from '../db/sql.ts'
import { type Asked, asWords, begunAlike, exactly, nearly, readAsked, type Wanted, within } from './asked.ts'
import { partsOf } from './details.ts'
import { type Hash, hashOf } from './keys.ts'
import { load } from './ops.ts'
import { scoreOf } from './rank.ts'
import type { Contact } from './shown.ts'
import * as store from './store.ts'

/** Contacts that one look at the index brings at most: enough to choose a page from. */
const most = 200
const mostExact = 100

/**
 * The contacts that a text finds, best first. Looks are taken one after the other, from the exact to the vague, until there
 * are enough; what they bring is judged by `scoreOf`. A million contacts: see bench/contacts.ts.
 */
export const search = async (db: Db, account: string, text: string, limit: number): Promise<Contact[]> => {
  const asked = readAsked(text)
  const [all, sample] = [hashOf(account, false), hashOf(account, true)]
  const seen = new Set<string>()
  const found: { contact: Contact; score: number }[] = []

  const look = async (wanted: Wanted, limit = most): Promise<string[]> => {
    if (wanted.whole.length + wanted.any.length === 0) return []
    return (await store.byGrams(db, account, wanted.whole, wanted.any, limit)).map(({ id }) => id)
  }
  /** What very many contacts have is found among the sample already. */
  const sampled = async (way: (hash: Hash, asked: Asked) => Wanted, asked: Asked): Promise<string[]> => {
    const some = await look(way(sample, asked))
    return some.length < most ? look(way(all, asked)) : some
  }
  const keep = async (ids: readonly string[], asked: Asked): Promise<void> => {
    const fresh = [...new Set(ids)].filter((id) => !seen.has(id))
    for (const contact of await load(db, account, fresh)) {
      const names = `${contact.first_name} ${contact.last_name}`
      const score = scoreOf(asked, { names, ...partsOf(contact.details) })
      if (score === 0) continue
      seen.add(contact.id)
      found.push({ contact, score })
    }
  }

  const exact = asked.words.length > 0 ? await look(exactly(all, asked), mostExact) : []
  await keep([...exact, ...(await sampled(nearly, asked))], asked)
  if (found.length < limit && asked.words.length > 0) await keep(await sampled(within, asked), asked)
  if (found.length < limit && asked.digits.length > 0) await keep(await sampled(nearly, asWords(asked)), asWords(asked))
  if (found.length === 0 && asked.words.length > 0) await keep(await sampled(begunAlike, asked), asked)

  const order = (one: Contact, other: Contact) => (one.id < other.id ? -1 : 1)
  found.sort((one, other) => other.score - one.score || order(one.contact, other.contact))
  return found.slice(0, limit).map(({ contact }) => contact)
}
