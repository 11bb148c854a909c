import type { Readable } from 'node:stream'
import type { CountryCode } from 'libphonenumber-js/max'
import { linesOf } from '../../../platform/lib/csv.ts'
import { csvLineOf, withoutApostrophe } from '../../../platform/lib/csv-cell.ts'
import { fold } from '../../../platform/lib/fold.ts'
import { contactFields, type FieldName, fieldNames, nameFields, otherFields } from '../contact-fields.ts'
import type { Contact } from '../contact-presenter.ts'
import { searchValuesOf } from '../details.ts'
import { maxDetails, maxLineLength } from '../limits.ts'
import { emptyEntry, type ParsedEntry, parseEntry, type RawEntry } from './import-entry.ts'

type Column = FieldName | 'middle' | 'whole' | 'company' | 'phone' | 'email' | 'address'

const labelPattern = '(?:(?:mobile|home|business|work|primary|main|other|car|company main|assistants) )?'
const suffixPattern = '(?: \\d+)?(?: value)?$'

/** Column names, ours and those of common address books. Folded. */
const columns: readonly (readonly [RegExp, Column])[] = [
  ...fieldNames.map((name) => [contactFields[name].csv, name] as const),
  [/^(?:middle|additional) name$/, 'middle'],
  [/^(?:full )?name$|^display name$/, 'whole'],
  [/^(?:company|organi[sz]ation|organi[sz]ation name)$/, 'company'],
  [new RegExp(`^${labelPattern}(?:tele)?(?:phone|mobile|tel|cell)(?: number)?${suffixPattern}`), 'phone'],
  [/^e ?mail(?: address)?(?: \d+)?(?: value| address)?$/, 'email'],
  [/^(?:postal )?address(?: \d+)?(?: formatted)?$/, 'address'],
]

const columnOf = (name: string): Column | null => {
  const folded = fold(name)
  return columns.find(([form]) => form.test(folded))?.[1] ?? null
}

/** Separator of several values in one cell, as address books write it. */
const valueSeparator = ' ::: '

/** Stops one above the limit of details: a line may hold 13,000 numbers, and each would be parsed. */
const push = (list: string[], texts: readonly string[]): void => {
  for (const text of texts) if (list.length <= maxDetails) list.push(text)
}

const rawOf = (head: readonly (Column | null)[], cells: readonly string[]): RawEntry => {
  const raw = emptyEntry()
  let [middle, company] = ['', '']
  for (const [i, column] of head.entries()) {
    const text = withoutApostrophe(cells[i] ?? '').trim()
    if (text === '' || column === null) continue
    if (column === 'phone') push(raw.phones, text.split(valueSeparator).map(withoutApostrophe))
    else if (column === 'email') push(raw.emails, text.split(valueSeparator))
    else if (column === 'address') push(raw.addresses, text.split(valueSeparator))
    else if (column === 'middle') middle = text
    else if (column === 'company') company = text
    else if (column === 'whole') raw.whole = text
    else raw.texts[column] = text
  }
  if (raw.texts.first_name) raw.texts.first_name = [raw.texts.first_name, middle].filter(Boolean).join(' ')
  return { ...raw, whole: raw.whole || company }
}

const faultOf = (head: readonly (Column | null)[]): string | null => {
  const has = (...names: Column[]) => head.some((column) => column !== null && names.includes(column))
  if (!has(...nameFields, 'whole', 'company')) return 'the first line must name the columns; first_name is missing'
  return has('phone', 'email', 'address') ? null : 'the columns phone, email and address are all missing'
}

/**
 * Parses a CSV file whose first line names the columns.
 * @throws BrokenFile
 */
export async function* readCsv(body: Readable, country?: CountryCode): AsyncGenerator<ParsedEntry> {
  let head: (Column | null)[] | null = null
  for await (const { line, cells } of linesOf(body, maxLineLength)) {
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
        ? `there are ${cells.length} fields, but ${head.length} columns`
        : parseEntry(rawOf(head, cells), country),
    }
  }
}

const detailColumns = ['phone', 'phone_2', 'phone_3', 'email', 'email_2', 'address', 'address_2']

export const csvHead = `${[...nameFields, ...detailColumns, ...otherFields].join()}\r\n`

/** Spreads the values over this many cells; the last cell has all that are left. */
const spread = (texts: readonly string[], cells: number): string[] =>
  Array.from({ length: cells }, (_, i) => (i < cells - 1 ? (texts[i] ?? '') : texts.slice(i).join(valueSeparator)))

/** Formats a contact as a line of CSV (RFC 4180). */
export const csvLine = (contact: Contact): string => {
  const { phones, emails, addresses } = searchValuesOf(contact.details)
  const textsOf = (names: readonly FieldName[]) => names.map((name) => contact[name] ?? '')
  const details = [...spread(phones, 3), ...spread(emails, 2), ...spread(addresses, 2)]
  return csvLineOf([...textsOf(nameFields), ...details, ...textsOf(otherFields)])
}
