import { numberForms } from '@trunkline/phone/number-forms.ts'
import { e164, parsePhoneNumber } from '@trunkline/phone/phone.ts'

type Country = Parameters<typeof parsePhoneNumber>[1]

/** Text that may be a telephone number: digits, and what people write between them. */
const numberForm = /^\+?[\d\s().\-/\u2010-\u2015]{2,40}$/

/** True if the text is written like a telephone number. */
export const isNumber = (text: string): boolean => numberForm.test(text.trim()) && /\d{2}/.test(text)

/**
 * Returns the numbers (E.164) that a text may mean, in all of their forms: written with +, with 00, by its digits alone,
 * or as dialled within one of the countries.
 * @param countries ISO 3166-1 alpha-2
 */
export const numbersMeant = (text: string, countries: readonly string[]): string[] => {
  if (!isNumber(text)) return []
  const international = parsePhoneNumber(text)
  const digits = text.replace(/\D/g, '')
  // The text of a country is one of the library's: an unknown one parses nothing.
  const national = countries.map((country) => parsePhoneNumber(text, country as Country))
  const bare = text.trim().startsWith('0') ? null : e164(digits)
  const numbers = [international, bare, ...national].filter((number) => number !== null)
  return [...new Set(numbers.flatMap(numberForms))]
}

/** Returns the digits by which a part of a number is found: without the zeros that are dialled before it. */
export const partOf = (text: string): string | null => {
  if (!isNumber(text)) return null
  const digits = text.replace(/\D/g, '').replace(/^0+/, '')
  return digits.length >= 2 ? digits : null
}

/** Returns the ranges of a title in which words of the query occur, without regard to case. */
export const marksOf = (title: string, query: string): [number, number][] => {
  const lower = title.toLowerCase()
  if (lower.length !== title.length) return []
  const words = query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 10)
  const part = partOf(query)
  const ranges = [...words, ...(part ? [part] : [])].flatMap((word): [number, number][] => {
    const at = lower.indexOf(word)
    return at === -1 ? [] : [[at, at + word.length]]
  })
  const merged: [number, number][] = []
  for (const [from, to] of ranges.toSorted(([one], [other]) => one - other)) {
    const last = merged.at(-1)
    if (last && from <= last[1]) last[1] = Math.max(last[1], to)
    else merged.push([from, to])
  }
  return merged
}
