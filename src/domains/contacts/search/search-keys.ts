import { fold } from '../../../platform/lib/fold.ts'
import { maxSearchKeys } from '../limits.ts'

/**
 * Search keys of a contact: 32-bit hashes (FNV-1a) in the column `grams`. Each hash includes the account, so that one
 * account's search never walks another's rows. Kinds, by their first letter:
 *
 * - `w` a word of the names or of an e-mail address
 * - `p` its beginnings of 1 to 8 letters
 * - `t` three consecutive letters of it
 * - `v` a word of the names without one of its letters: two words that differ by one letter added, removed, replaced
 * or swapped with the next share a `w` or `v`
 * - `d` three consecutive digits of a phone number
 *
 * One contact in 64 has all of them a second time with another hash (the sample). For keys that very many contacts
 * share, the sample suffices and avoids a walk through all.
 */
export type Hash = (kind: 'w' | 'p' | 't' | 'v' | 'd', text: string) => number

const prime = 0x01000193

const fnv1a = (from: number, text: string): number => {
  let state = from
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), prime)
  return state
}

/** @param isSample whether to hash for the sample, which one contact in 64 belongs to */
export const makeHash = (account: string, isSample: boolean): Hash => {
  const state = fnv1a(0x811c9dc5, `${account}${isSample ? ' sample ' : ' '}`)
  return (kind, text) => fnv1a(state, kind + text)
}

const isSampled = (id: string): boolean => Number.parseInt(id.slice(-2), 16) % 64 === 0

/** Scripts written without spaces: each character is a word. */
const unspacedScripts = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu

const latin = /^[\0-\u02ff]*$/

/** Returns the folded words of a text. */
export const wordsOf = (text: string): string[] => {
  const folded = fold(text)
  const apart = latin.test(folded) ? folded : folded.replace(unspacedScripts, ' $& ')
  return apart.split(' ').filter(Boolean)
}

export const digitsOf = (text: string): string => text.replace(/\(0\)|\D/g, '')

/** Longer words are indexed by their beginning. */
const longestWord = 24
const longestPrefix = 8
const shortestVaried = 4
const longestVaried = 16

export const triples = (text: string): string[] =>
  Array.from({ length: Math.max(0, text.length - 2) }, (_, i) => text.slice(i, i + 3))

/** Returns the word with each single letter removed; none for words too short or too long to be distinctive. */
export const deletions = (word: string): string[] =>
  word.length < shortestVaried || word.length > longestVaried
    ? []
    : [...new Set(Array.from(word, (_, i) => word.slice(0, i) + word.slice(i + 1)))]

export const shortened = (word: string): string => word.slice(0, longestWord)

/** Returns the key that finds words with this beginning. */
export const beginning = (word: string): string => word.slice(0, longestPrefix)

/** Yields the indexed texts of a contact, with their kinds. */
function* textsOf(names: string, numbers: readonly string[], emails: readonly string[]) {
  const inName = wordsOf(names).map(shortened)
  const inEmails = emails.flatMap((email) => wordsOf(email).slice(0, 8).map(shortened))
  for (const word of inName) for (const text of deletions(word)) yield ['v', text] as const
  for (const number of numbers) for (const text of triples(number)) yield ['d', text] as const
  for (const word of [...inName, ...inEmails]) {
    yield ['w', word] as const
    for (let i = 1; i <= Math.min(word.length - 1, longestPrefix); i++) yield ['p', word.slice(0, i)] as const
    for (const text of triples(word)) yield ['t', text] as const
  }
}

/** Computes the column `grams` of a contact. */
export const gramsOf = (
  account: string,
  id: string,
  { names, numbers, emails }: { names: string; numbers: readonly string[]; emails: readonly string[] },
): number[] => {
  const grams = new Set<number>()
  const hashes = [makeHash(account, false), ...(isSampled(id) ? [makeHash(account, true)] : [])]
  for (const [kind, text] of textsOf(names, numbers, emails)) {
    if (grams.size >= maxSearchKeys) break
    for (const hash of hashes) grams.add(hash(kind, text))
  }
  return [...grams]
}
