import { maxIndexedWords } from '../limits.ts'
import type { GramQuery } from '../store.ts'
import { beginning, deletions, digitsOf, type Hash, shortened, triples, wordsOf } from './search-keys.ts'

/** A parsed search query: words, and digits of phone numbers. */
export type SearchQuery = { readonly words: readonly string[]; readonly digits: readonly string[] }

const shortestDigits = 3

/** Removes the zeros dialled before a national or an international number. */
const withoutZeros = (digits: string): string => {
  const rest = digits.replace(/^0+/, '')
  return rest.length >= shortestDigits ? rest : digits
}

/** Parses a query such as `ada`, `+44 7700-900` or `lovelace 0900`. */
export const parseQuery = (text: string): SearchQuery => {
  if (!/\p{L}/u.test(text)) {
    const digits = digitsOf(text)
    if (digits.length >= shortestDigits) return { words: [], digits: [withoutZeros(digits)] }
  }
  const words = wordsOf(text).slice(0, 10).map(shortened)
  const isNumber = (word: string) => /^\d{3,}$/.test(word)
  return { words: words.filter((word) => !isNumber(word)), digits: words.filter(isNumber).map(withoutZeros) }
}

/** The last digits of a long number suffice: numbers of one country begin alike. */
const distinctiveDigits = (digits: string): string[] =>
  digits.length < 9 ? triples(digits) : [digits.slice(-9, -6), digits.slice(-6, -3), digits.slice(-3)]

const digitGrams = (hash: Hash, { digits }: SearchQuery): number[] =>
  digits.flatMap((one) => distinctiveDigits(one).map((text) => hash('d', text)))

/** Query for contacts that contain each word exactly. */
export const exactQuery = (hash: Hash, query: SearchQuery): GramQuery => ({
  whole: [...query.words.slice(0, maxIndexedWords).map((word) => hash('w', word)), ...digitGrams(hash, query)],
  any: [],
})

/** Query for contacts that contain each word, a word that begins with it, or one that differs by one letter. */
export const nearQuery = (hash: Hash, query: SearchQuery): GramQuery => ({
  whole: digitGrams(hash, query),
  any: query.words.slice(0, maxIndexedWords).map((word) => {
    const near = [word, ...deletions(word)]
    return [hash('p', beginning(word)), ...near.flatMap((text) => [hash('w', text), hash('v', text)])]
  }),
})

/** Trigrams that together cover a word. Few, because a lookup takes as long as the lists it reads. */
const covering = (word: string): string[] => triples(word).filter((_, i, all) => i % 3 === 0 || i === all.length - 1)

/** Query for contacts whose words contain each word. */
export const withinQuery = (hash: Hash, query: SearchQuery): GramQuery => ({
  whole: [
    ...query.words
      .slice(0, maxIndexedWords)
      .flatMap((word) => (word.length < 3 ? [hash('p', word)] : covering(word).map((text) => hash('t', text)))),
    ...digitGrams(hash, query),
  ],
  any: [],
})

/** Query for contacts whose words begin with the same three letters. */
export const prefixQuery = (hash: Hash, query: SearchQuery): GramQuery => ({
  whole: [
    ...query.words.slice(0, maxIndexedWords).map((word) => hash('p', word.slice(0, 3))),
    ...digitGrams(hash, query),
  ],
  any: [],
})

/** Treats digits as words of a name, such as Room 101. */
export const digitsAsWords = ({ words, digits }: SearchQuery): SearchQuery => ({
  words: [...words, ...digits],
  digits: [],
})
