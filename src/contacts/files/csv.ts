import type { Readable } from 'node:stream'
import type { CountryCode } from 'libphonenumber-js/max'
import { linesOf } from '../../lib/csv.ts'
import { fold } from '../../lib/fold.ts'
import { mostDetails, partsOf } from '../details.ts'
import type { Contact } from '../shown.ts'
import { emptyRaw, type Raw, type Read, readEntry } from './entry.ts'

type Column = 'first' | 'middle' | 'last' | 'whole' | 'company' | 'picture' | 'phone' | 'email' | 'address'

const place = '(?:(?:mobile|home|business|work|primary|main|other|car|company main|assistants) )?'
const end = '(?: \\d+)?(?: value)?$'

/** Names of columns by which address books write them too; our own are among them. Folded. */
const columns: readonly (readonly [RegExp, Column])[] = [
  [/^(?:first|given) name$|^first$/, 'first'],
  [/^(?:middle|additional) name$/, 'middle'],
  [/^(?:last|family) name$|^surname$|^last$/, 'last'],
  [/^(?:full )?name$|^display name$/, 'whole'],
  [/^(?:company|organi[sz]ation|organi[sz]ation name)$/, 'company'],
  [/^(?:profile pic(?:ture)? url|photo|photo url)$/, 'picture'],
  [new RegExp(`^${place}(?:tele)?(?:phone|mobile|tel|cell)(?: number)?${end}`), 'phone'],
  [/^e ?mail(?: address)?(?: \d+)?(?: value| address)?$/, 'email'],
  [/^(?:postal )?address(?: \d+)?(?: formatted)?$/, 'address'],
]

const columnOf = (name: string): Column | null => {
  const folded = fold(name)
  return columns.find(([form]) => form.test(folded))?.[1] ?? null
}

/** Several values of one cell, as address books write them. */
const between = ' ::: '

/** Beyond what a contact may have, one more tells that there are too many: each number of 13,000 in a line would be read. */
const push = (list: string[], texts: readonly string[]): void => {
  for (const text of texts) if (list.length <= mostDetails) list.push(text)
}

/**
 * A spreadsheet takes what begins so for a formula, and +44… for a sum. Such a cell is written with an apostrophe before it,
 * which spreadsheets take for "this is text", and is read without.
 */
const guarded = (text: string): string => (/^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text)
const unguarded = (text: string): string => (/^'+[=+\-@\t\r]/.test(text) ? text.slice(1) : text)

const cell = (text: string): string => {
  const safe = guarded(text)
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

const rawOf = (head: readonly (Column | null)[], cells: readonly string[]): Raw => {
  const raw = emptyRaw()
  let [middle, company] = ['', '']
  for (const [i, column] of head.entries()) {
    const text = unguarded(cells[i] ?? '').trim()
    if (text === '' || column === null) continue
    if (column === 'phone') push(raw.phones, text.split(between).map(unguarded))
    else if (column === 'email') push(raw.emails, text.split(between))
    else if (column === 'address') push(raw.addresses, text.split(between))
    else if (column === 'middle') middle = text
    else if (column === 'company') company = text
    else raw[column] = text
  }
  if (raw.first !== '') raw.first = [raw.first, middle].filter(Boolean).join(' ')
  return { ...raw, whole: raw.whole || company }
}

const faultOf = (head: readonly (Column | null)[]): string | null => {
  const has = (...wanted: Column[]) => head.some((column) => column !== null && wanted.includes(column))
  if (!has('first', 'last', 'whole', 'company')) return 'the first line must name the columns; there is no first_name'
  return has('phone', 'email', 'address') ? null : 'there is no column phone, email or address'
}

const longestLine = 64 * 1024

/** Reads contacts of a CSV file whose first line names the columns. @throws BrokenFile */
export async function* readCsv(body: Readable, country?: CountryCode): AsyncGenerator<Read> {
  let head: (Column | null)[] | null = null
  for await (const { line, cells } of linesOf(body, longestLine)) {
    if (head === null) {
      head = cells.map(columnOf)
      const fault = faultOf(head)
      if (fault === null) continue
      yield { line, read: fault }
      return
    }
    const isTorn = cells.length > head.length
    yield {
      line,
      read: isTorn
        ? `there are ${cells.length} fields, and ${head.length} in the head`
        : readEntry(rawOf(head, cells), country),
    }
  }
}

export const csvHead = 'first_name,last_name,phone,phone_2,phone_3,email,email_2,address,address_2,profile_pic_url\r\n'

/** The texts in so many cells; the last one has all that are left. */
const spread = (texts: readonly string[], cells: number): string[] =>
  Array.from({ length: cells }, (_, i) => (i < cells - 1 ? (texts[i] ?? '') : texts.slice(i).join(between)))

/** A contact as a line of CSV (RFC 4180). */
export const csvLine = (contact: Contact): string => {
  const { phones, emails, addresses } = partsOf(contact.details)
  const { first_name, last_name, profile_pic_url } = contact
  const texts = [first_name, last_name, ...spread(phones, 3), ...spread(emails, 2), ...spread(addresses, 2)]
  return `${[...texts, profile_pic_url ?? ''].map(cell).join(',')}\r\n`
}
