import { parsePhoneNumber } from '@trunkline/phone/phone.ts'
import type { CountryCode } from 'libphonenumber-js/max'
import { linesOf, withinColumns } from '../../../platform/lib/csv.ts'
import { withoutApostrophe } from '../../../platform/lib/csv-cell.ts'
import { fold } from '../../../platform/lib/fold.ts'
import { isStorable } from '../../../platform/lib/storable.ts'
import type { TextFile } from '../../../platform/lib/text-encoding.ts'
import { maxOptOutLine, maxOptOutNote } from '../limits.ts'
import { everyNumber, type NewOptOut } from './store.ts'

/** A line of an import: an opt-out, or its errors as text. */
export type ParsedLine = { readonly line: number; readonly read: NewOptOut | string }

type Column = 'contact_number' | 'phone_number' | 'note'

const columnNames: ReadonlyMap<string, Column> = new Map([
  [fold('contact_number'), 'contact_number'],
  [fold('phone_number'), 'phone_number'],
  [fold('note'), 'note'],
])

const notPhone = (field: Column, text: string) =>
  `${field}: "${text.slice(0, 60)}" is not a phone number in E.164 format, such as +447700900123`

const parseLine = (cells: ReadonlyMap<Column, string>, country?: CountryCode): NewOptOut | string => {
  const [contactText = '', numberText = '', note = ''] = (['contact_number', 'phone_number', 'note'] as const).map(
    (name) => withoutApostrophe(cells.get(name) ?? '').trim(),
  )
  if ([contactText, numberText, note].some((text) => text.includes('\ufffd') || !isStorable(text)))
    return 'it is not text in the encoding of the file'
  const contact = parsePhoneNumber(contactText, country)
  const number = numberText === '' ? everyNumber : parsePhoneNumber(numberText, country)
  const faults = [
    ...(contact === null
      ? [contactText === '' ? 'contact_number is missing' : notPhone('contact_number', contactText)]
      : []),
    ...(number === null ? [notPhone('phone_number', numberText)] : []),
    ...(note.length > maxOptOutNote ? [`note: it is longer than ${maxOptOutNote} characters`] : []),
  ]
  return contact === null || number === null || faults.length > 0
    ? faults.join('; ')
    : { contact, number, note: note || null }
}

const plainList: readonly Column[] = ['contact_number']

/**
 * Parses a CSV file of opt-outs. Its first line names the columns, of which others are ignored; or each line is a number.
 * @throws UnreadableCsv
 */
export async function* readOptOuts(file: TextFile, country?: CountryCode): AsyncGenerator<ParsedLine> {
  let head: readonly (Column | null)[] | null = null
  for await (const { line, cells: all } of linesOf(file, maxOptOutLine)) {
    if (head === null) {
      const named = all.map((cell) => columnNames.get(fold(cell)) ?? null)
      if (named.includes('contact_number')) {
        head = named
        continue
      }
      if (parsePhoneNumber(withoutApostrophe(all[0] ?? ''), country) === null) {
        yield { line, read: 'contact_number: the first line must name this column, or be a phone number' }
        return
      }
      head = plainList
    }
    const columns = head
    const cells = withinColumns(all, columns.length)
    yield {
      line,
      read:
        cells.length > columns.length
          ? `there are ${cells.length} fields, but ${columns.length} ${columns.length === 1 ? 'column' : 'columns'}`
          : parseLine(new Map(cells.flatMap((cell, i) => (columns[i] ? [[columns[i], cell] as const] : []))), country),
    }
  }
}
