import { numberForms } from '@trunkline/phone/number-forms.ts'
import { fold } from '../../platform/lib/fold.ts'
import { indexedPrefix, indexedWords } from './limits.ts'

// Words of texts are indexed as 32-bit hashes (FNV-1a) that include the account, so that the index of all accounts serves
// each alone. A hash begins with `w` for a whole word, and with `p` for its beginning.

const prime = 0x01000193

const hashFrom = (from: number, text: string): number => {
  let state = from
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), prime)
  return state
}

const stateOf = (account: string): number => hashFrom(0x811c9dc5, `inbox ${account} `)

/** Scripts written without spaces: each character is a word. */
const unspacedScripts = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu

/** Returns the folded words of a text. */
export const wordsOf = (text: string): string[] =>
  fold(text.normalize('NFKC')).replace(unspacedScripts, ' $& ').split(' ').filter(Boolean)

/** Returns the length of the longest indexed beginning of a word. */
const longestPrefixOf = (word: string): number =>
  /^\d+$/.test(word) ? indexedPrefix.longestOfDigits : indexedPrefix.longest

/** Returns the hashes of the words of a text, and of their beginnings. */
export const hashesOf = (account: string, text: string): number[] => {
  const from = stateOf(account)
  const hashes = new Set<number>()
  for (const word of new Set(wordsOf(text).slice(0, indexedWords))) {
    hashes.add(hashFrom(from, `w${word}`))
    for (let n = indexedPrefix.shortest; n <= Math.min(word.length, longestPrefixOf(word)); n++)
      hashes.add(hashFrom(from, `p${word.slice(0, n)}`))
  }
  return [...hashes]
}

/** Returns the hashes of a name and of a number, which is found by the digits of each form, with and without the country
 *  code. */
export const nameHashesOf = (account: string, name: string, number: string | null): number[] => {
  const forms = number?.startsWith('+') ? numberForms(number).map((form) => form.slice(1)) : []
  const national = forms.flatMap((digits) => (digits.length > 7 ? [1, 2, 3].map((n) => digits.slice(n)) : []))
  return hashesOf(account, [name, ...forms, ...national, ...national.map((one) => `0${one}`)].join(' '))
}

/** A parsed search: hashes that a text must have. Beginnings of more than six letters need a comparison too. */
export type WordQuery = {
  readonly hashes: readonly number[]
  readonly words: readonly string[]
  /** The last word, which may be the beginning of one. */
  readonly last: string
}

/** Parses a search. The last word may be the beginning of one. Null if it has no word. */
export const parseWords = (account: string, text: string): WordQuery | null => {
  const from = stateOf(account)
  const isNumber = /^[\s+\d().-]+$/.test(text)
  const all = isNumber ? [text.replace(/\D/g, '').replace(/^00/, '')].filter(Boolean) : wordsOf(text).slice(0, 10)
  const last = all.at(-1)
  if (last === undefined) return null
  const words = all.slice(0, -1)
  const beginning = last.length < indexedPrefix.shortest ? `w${last}` : `p${last.slice(0, longestPrefixOf(last))}`
  return { hashes: [...words.map((word) => hashFrom(from, `w${word}`)), hashFrom(from, beginning)], words, last }
}
