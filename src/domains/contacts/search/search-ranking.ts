import { searchedText } from '../contact-fields.ts'
import type { FoundRow } from '../store.ts'
import { shortened, triples, wordsOf } from './search-keys.ts'
import type { SearchQuery } from './search-query.ts'

/** Whether the words differ by one letter added, removed, replaced or swapped with the next. */
const isOneApart = (one: string, other: string): boolean => {
  if (Math.abs(one.length - other.length) > 1) return false
  let i = 0
  while (i < one.length && one[i] === other[i]) i++
  const [left, right] = [one.slice(i), other.slice(i)]
  if (left.slice(1) === right.slice(1) || left.slice(1) === right || left === right.slice(1)) return true
  return left[0] === right[1] && left[1] === right[0] && left.slice(2) === right.slice(2)
}

/** Share of common trigrams, as pg_trgm counts them; for words with one or two letters more or less. */
const similarity = (one: string, other: string): number => {
  const [left, right] = [new Set(triples(`  ${one} `)), new Set(triples(`  ${other} `))]
  let common = 0
  for (const text of left) if (right.has(text)) common++
  return common / (left.size + right.size - common)
}

/** Scores a word of a contact against a query word, from 0 (no match) to 1. */
const wordScore = (queryWord: string, word: string): number => {
  if (word === queryWord) return 1
  if (word.startsWith(queryWord)) return 0.8 + (0.15 * queryWord.length) / word.length
  if (queryWord.length >= 4 && isOneApart(queryWord, word)) return 0.7
  return queryWord.length >= 3 && word.includes(queryWord) ? 0.6 : 0
}

const minSimilarity = 0.3

/** Scores words that are only similar, by common trigrams. */
const similarityScore = (queryWord: string, word: string): number => {
  const alike = queryWord.length >= 4 ? similarity(queryWord, word) : 0
  return alike >= minSimilarity ? alike / 2 : 0
}

const numberScore = (queryDigits: string, number: string): number => {
  if (number === queryDigits) return 1
  if (number.startsWith(queryDigits)) return 0.9
  if (number.endsWith(queryDigits)) return 0.85
  return number.includes(queryDigits) ? 0.8 : 0
}

const best = <Item>(items: readonly Item[], value: (item: Item) => number): number =>
  items.reduce((most, item) => Math.max(most, value(item)), 0)

/**
 * Scores a contact against the query, from 0 to 1; 0 if a word or number is missing. Names rank above e-mail
 * addresses.
 */
export const scoreOf = ({ words, digits }: SearchQuery, row: FoundRow): number => {
  const inName = wordsOf(searchedText(row)).map(shortened)
  const inEmails = words.length > 0 ? wordsOf(row.emails).map(shortened) : []
  const numbers = row.numbers.split(' ')
  const scores = [
    ...words.map(
      (queried) =>
        // A fuzzy comparison costs ten times an exact one.
        Math.max(
          best(inName, (word) => wordScore(queried, word)),
          0.9 * best(inEmails, (word) => wordScore(queried, word)),
        ) || best(inName, (word) => similarityScore(queried, word)),
    ),
    ...digits.map((queried) => best(numbers, (number) => numberScore(queried, number))),
  ]
  return scores.includes(0) ? 0 : scores.reduce((sum, score) => sum + score, 0) / Math.max(1, scores.length)
}
