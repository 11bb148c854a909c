import { beginning, digitsOf, type Hash, shortened, triples, variants, wordsOf } from './keys.ts'
import type { Wanted } from './store.ts'

/** What somebody looks for: words, and digits of phone numbers. */
export type Asked = { readonly words: readonly string[]; readonly digits: readonly string[] }

/** Words beyond these count for the order of what is found only. */
const most = 3
const shortestDigits = 3

/** Without the zeros that are dialled before a national or an international number. */
const withoutZeros = (digits: string): string => {
  const rest = digits.replace(/^0+/, '')
  return rest.length >= shortestDigits ? rest : digits
}

/** Reads what was asked: `ada`, `+44 7700-900`, `lovelace 0900`. */
export const readAsked = (text: string): Asked => {
  if (!/\p{L}/u.test(text)) {
    const digits = digitsOf(text)
    if (digits.length >= shortestDigits) return { words: [], digits: [withoutZeros(digits)] }
  }
  const words = wordsOf(text).slice(0, 10).map(shortened)
  const isNumber = (word: string) => /^\d{3,}$/.test(word)
  return { words: words.filter((word) => !isNumber(word)), digits: words.filter(isNumber).map(withoutZeros) }
}

/** Of many digits the last ones say enough: whole numbers of one country begin alike. */
const telling = (digits: string): string[] =>
  digits.length < 9 ? triples(digits) : [digits.slice(-9, -6), digits.slice(-6, -3), digits.slice(-3)]

const ofDigits = (hash: Hash, { digits }: Asked): number[] =>
  digits.flatMap((one) => telling(one).map((text) => hash('d', text)))

/** Contacts that have each word as it is. */
export const exactly = (hash: Hash, asked: Asked): Wanted => ({
  whole: [...asked.words.slice(0, most).map((word) => hash('w', word)), ...ofDigits(hash, asked)],
  any: [],
})

/** Contacts that have of each word itself, what begins with it, or what differs from it by one letter. */
export const nearly = (hash: Hash, asked: Asked): Wanted => ({
  whole: ofDigits(hash, asked),
  any: asked.words.slice(0, most).map((word) => {
    const near = [word, ...variants(word)]
    return [hash('p', beginning(word)), ...near.flatMap((text) => [hash('w', text), hash('v', text)])]
  }),
})

/** Three letters in a row from which a word can be put together: a look takes as long as it has lists to read. */
const covering = (word: string): string[] => triples(word).filter((_, i, all) => i % 3 === 0 || i === all.length - 1)

/** Contacts within whose words each word stands. */
export const within = (hash: Hash, asked: Asked): Wanted => ({
  whole: [
    ...asked.words
      .slice(0, most)
      .flatMap((word) => (word.length < 3 ? [hash('p', word)] : covering(word).map((text) => hash('t', text)))),
    ...ofDigits(hash, asked),
  ],
  any: [],
})

/** Contacts whose words begin with the same three letters. */
export const begunAlike = (hash: Hash, asked: Asked): Wanted => ({
  whole: [...asked.words.slice(0, most).map((word) => hash('p', word.slice(0, 3))), ...ofDigits(hash, asked)],
  any: [],
})

/** Digits as words of a name, such as of Room 101. */
export const asWords = ({ words, digits }: Asked): Asked => ({ words: [...words, ...digits], digits: [] })
