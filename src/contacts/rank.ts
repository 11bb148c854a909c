import type { Asked } from './asked.ts'
import { shortened, triples, wordsOf } from './keys.ts'
import type { FoundRow } from './store.ts'

/** True when one letter more, less, other or swapped with the next makes one word of the other. */
const isOneApart = (one: string, other: string): boolean => {
  if (Math.abs(one.length - other.length) > 1) return false
  let i = 0
  while (i < one.length && one[i] === other[i]) i++
  const [left, right] = [one.slice(i), other.slice(i)]
  if (left.slice(1) === right.slice(1) || left.slice(1) === right || left === right.slice(1)) return true
  return left[0] === right[1] && left[1] === right[0] && left.slice(2) === right.slice(2)
}

/** Words of one or two letters more or less: the share of three letters in a row that both have, as pg_trgm counts. */
const similarity = (one: string, other: string): number => {
  const [left, right] = [new Set(triples(`  ${one} `)), new Set(triples(`  ${other} `))]
  let common = 0
  for (const text of left) if (right.has(text)) common++
  return common / (left.size + right.size - common)
}

/** How well a word of a contact answers one that was asked for, from 0 (not at all) to 1. */
const worth = (asked: string, word: string): number => {
  if (word === asked) return 1
  if (word.startsWith(asked)) return 0.8 + (0.15 * asked.length) / word.length
  if (asked.length >= 4 && isOneApart(asked, word)) return 0.7
  return asked.length >= 3 && word.includes(asked) ? 0.6 : 0
}

const leastSimilar = 0.3

/** The same for words that only sound alike. */
const likeness = (asked: string, word: string): number => {
  const alike = asked.length >= 4 ? similarity(asked, word) : 0
  return alike >= leastSimilar ? alike / 2 : 0
}

const ofNumber = (asked: string, number: string): number => {
  if (number === asked) return 1
  if (number.startsWith(asked)) return 0.9
  if (number.endsWith(asked)) return 0.85
  return number.includes(asked) ? 0.8 : 0
}

const best = <Item>(items: readonly Item[], value: (item: Item) => number): number =>
  items.reduce((most, item) => Math.max(most, value(item)), 0)

/** How well a contact answers, from 0 to 1; 0 when something that was asked for is not there. Names count before e-mail
 *  addresses. */
export const scoreOf = ({ words, digits }: Asked, row: FoundRow): number => {
  const inName = wordsOf(`${row.first_name} ${row.last_name}`).map(shortened)
  const inEmails = words.length > 0 ? wordsOf(row.emails).map(shortened) : []
  const numbers = row.numbers.split(' ')
  const scores = [
    ...words.map(
      (asked) =>
        // What is like something costs ten times what is something.
        Math.max(
          best(inName, (word) => worth(asked, word)),
          0.9 * best(inEmails, (word) => worth(asked, word)),
        ) || best(inName, (word) => likeness(asked, word)),
    ),
    ...digits.map((asked) => best(numbers, (number) => ofNumber(asked, number))),
  ]
  return scores.includes(0) ? 0 : scores.reduce((sum, score) => sum + score, 0) / Math.max(1, scores.length)
}
