import { fold } from '../lib/fold.ts'

/**
 * What a contact is found by, as 32-bit hashes (FNV-1a) in the column `grams`. Each begins with the account, so that one
 * account's search never walks another's rows. Kinds, by their first letter:
 *
 * - `w` a word of the names or of an e-mail address
 * - `p` its beginnings of 1 to 8 letters
 * - `t` three letters of it that follow each other
 * - `v` a word of the names without one of its letters: two words that differ by one letter more, less, other or swapped with
 *   the next have one of `w` and `v` in common
 * - `d` three digits of a phone number that follow each other
 *
 * One contact in 64 has all of them a second time, with a hash of their own: of what very many contacts have, these are
 * enough, and found without a walk through all.
 */
export type Hash = (kind: 'w' | 'p' | 't' | 'v' | 'd', text: string) => number

const prime = 0x01000193

const spread = (from: number, text: string): number => {
  let state = from
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), prime)
  return state
}

/** @param isSample of those that one contact in 64 has */
export const hashOf = (account: string, isSample: boolean): Hash => {
  const state = spread(0x811c9dc5, `${account}${isSample ? ' sample ' : ' '}`)
  return (kind, text) => spread(state, kind + text)
}

const isSampled = (id: string): boolean => Number.parseInt(id.slice(-2), 16) % 64 === 0

/** Scripts that are written without spaces: each sign is a word. */
const signs = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu

const latin = /^[\0-\u02ff]*$/

/** The folded words of a text. */
export const wordsOf = (text: string): string[] => {
  const folded = fold(text)
  const apart = latin.test(folded) ? folded : folded.replace(signs, ' $& ')
  return apart.split(' ').filter(Boolean)
}

export const digitsOf = (text: string): string => text.replace(/\(0\)|\D/g, '')

/** Longer words are taken by their beginning. */
const longestWord = 24
const longestPrefix = 8
const shortestVaried = 4
const longestVaried = 16

export const triples = (text: string): string[] =>
  Array.from({ length: Math.max(0, text.length - 2) }, (_, i) => text.slice(i, i + 3))

/** A word without one of its letters; none of one so short or so long that this says little. */
export const variants = (word: string): string[] =>
  word.length < shortestVaried || word.length > longestVaried
    ? []
    : [...new Set(Array.from(word, (_, i) => word.slice(0, i) + word.slice(i + 1)))]

export const shortened = (word: string): string => word.slice(0, longestWord)

/** The key by which words that begin with this one are found. */
export const beginning = (word: string): string => word.slice(0, longestPrefix)

/** The texts, with their kinds, that stand for a contact. */
function* textsOf(names: string, numbers: readonly string[], emails: readonly string[]) {
  const inName = wordsOf(names).map(shortened)
  const inEmails = emails.flatMap((email) => wordsOf(email).slice(0, 8).map(shortened))
  for (const word of inName) for (const text of variants(word)) yield ['v', text] as const
  for (const number of numbers) for (const text of triples(number)) yield ['d', text] as const
  for (const word of [...inName, ...inEmails]) {
    yield ['w', word] as const
    for (let i = 1; i <= Math.min(word.length - 1, longestPrefix); i++) yield ['p', word.slice(0, i)] as const
    for (const text of triples(word)) yield ['t', text] as const
  }
}

/** A contact with fifty long addresses must not cost more than some ordinary ones (about 60 each). */
const mostKeys = 1500

/** The column `grams` of a contact. */
export const gramsOf = (
  account: string,
  id: string,
  { names, numbers, emails }: { names: string; numbers: readonly string[]; emails: readonly string[] },
): number[] => {
  const grams = new Set<number>()
  const hashes = [hashOf(account, false), ...(isSampled(id) ? [hashOf(account, true)] : [])]
  for (const [kind, text] of textsOf(names, numbers, emails)) {
    if (grams.size >= mostKeys) break
    for (const hash of hashes) grams.add(hash(kind, text))
  }
  return [...grams]
}
