import { snippetLength } from '../limits.ts'
import { type WordQuery, wordsOf } from '../words.ts'

/** True if a text has the words of a query. The index knows beginnings of up to 6 letters only. */
export const hasWords = ({ words, last }: WordQuery, text: string): boolean => {
  const own = wordsOf(text)
  return words.every((word) => own.includes(word)) && own.some((word) => word.startsWith(last))
}

/** A part of a text, with the ranges of the words that were searched: first UTF-16 unit, and the one after the last. */
export type Snippet = { readonly text: string; readonly marks: [number, number][] }

/** Words as people separate them; each is folded before it is compared. */
const wordForm = /[\p{L}\p{N}\p{M}]+/gu

/** Returns the part of a text around the first of the words, on one line. */
export const snippetOf = (whole: string, { words, last }: WordQuery): Snippet => {
  const text = whole.replace(/\s+/g, ' ').trim()
  const isMatch = (word: string) => wordsOf(word).some((one) => words.includes(one) || one.startsWith(last))
  const ranges = [...text.matchAll(wordForm)]
    .filter(([word]) => isMatch(word))
    .map((match): [number, number] => [match.index, match.index + match[0].length])
  const [first] = ranges
  const start = first && first[1] > snippetLength ? Math.max(0, first[0] - snippetLength / 4) : 0
  // A cut never leaves half a character.
  const from = /[\udc00-\udfff]/.test(text[start] ?? '') ? start + 1 : start
  const cut = text.slice(from, from + snippetLength).replace(/[\ud800-\udbff]$/, '')
  return {
    text: cut,
    marks: ranges
      .map(([begin, end]): [number, number] => [begin - from, end - from])
      .filter(([begin, end]) => begin >= 0 && end <= cut.length),
  }
}
