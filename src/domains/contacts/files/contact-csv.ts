import type { CountryCode } from 'libphonenumber-js/max'
import { linesOf, type Separator, withinColumns } from '../../../platform/lib/csv.ts'
import { csvLineOf, withoutApostrophe } from '../../../platform/lib/csv-cell.ts'
import { storable } from '../../../platform/lib/storable.ts'
import type { TextFile } from '../../../platform/lib/text-encoding.ts'
import { type FieldName, nameFields, otherFields } from '../contact-fields.ts'
import type { Contact } from '../contact-presenter.ts'
import type { DetailRow, DetailType } from '../details.ts'
import { maxDetails, maxIgnoredColumns, maxLineLength } from '../limits.ts'
import { addressParts, type Column, columnsOf } from './csv-columns.ts'
import {
  emptyEntry,
  hasUnusedCompany,
  type ParsedEntry,
  parseEntry,
  type RawDetail,
  type RawEntry,
} from './import-entry.ts'
import { labelOf } from './labels.ts'

type Head = readonly (Column | null)[]

/** Separator of several values in one cell, as address books write it. */
const valueSeparator = ' ::: '

/** Separators of several numbers in one cell: people write a comma, a semicolon or a line break. */
const numberSeparator = /\s*(?:\n|[,;|/]\s)\s*(?=[+(]?\d(?:[\s().-]{0,3}\d){6})/

const valuesOf = (kind: 'phone' | 'email' | 'address', cell: string): string[] =>
  cell
    .split(valueSeparator)
    .flatMap((text) => (kind === 'phone' ? withoutApostrophe(text).split(numberSeparator, maxDetails + 1) : [text]))

const types = { phone: 'PH', email: 'E', address: 'A' } as const satisfies Record<string, DetailType>

type Addresses = Map<string, { readonly label: string | null; readonly texts: Map<string, string[]> }>

/** Adds the last name that the column of the whole name has beside that of the first name. */
const lastNameOf = (first: string, whole: string): string =>
  whole === first ? '' : whole.startsWith(`${first} `) ? whole.slice(first.length).trim() : whole

const withNames = (raw: RawEntry, head: Head, { middle, second }: Readonly<Record<string, string>>): RawEntry => {
  const { texts } = raw
  const hasLast = head.some((column) => column?.kind === 'field' && column.name === 'last_name')
  if (texts.first_name && raw.whole && !hasLast) texts.last_name = lastNameOf(texts.first_name, raw.whole)
  if (texts.first_name) texts.first_name = [texts.first_name, middle].filter(Boolean).join(' ')
  if (second) texts.last_name = [texts.last_name, second].filter(Boolean).join(' ')
  return raw
}

/** The type of an address of e-mail is a protocol for Outlook. */
const isProtocol = (of: string, text: string): boolean => of === 'email' && /^(?:smtp|ex)$/i.test(text)

const rawOf = (line: number, head: Head, cells: readonly string[]): RawEntry => {
  const raw = emptyEntry()
  const more: Record<string, string> = {}
  const labels = new Map<string, string[]>()
  const parts: Addresses = new Map()
  const found: (RawDetail & { readonly place: string; readonly index: number })[] = []
  for (const [i, column] of head.entries()) {
    const text = withoutApostrophe(cells[i] ?? '').trim()
    if (text === '' || column === null) continue
    if (column.kind === 'field') raw.texts[column.name] ||= text
    else if (column.kind === 'whole' || column.kind === 'company') raw[column.kind] ||= text
    else if (column.kind === 'label') labels.set(column.place, isProtocol(column.of, text) ? [] : text.split(/ ?::: ?/))
    else if (column.kind === 'part') {
      const address = parts.get(column.place) ?? { label: column.label, texts: new Map<string, string[]>() }
      parts.set(column.place, address)
      address.texts.set(column.part, [...(address.texts.get(column.part) ?? []), text])
    } else if (column.kind === 'phone' || column.kind === 'email' || column.kind === 'address') {
      const { kind, place, label } = column
      // One above the limit shows that there are more: a line may hold 13,000 numbers, and each would be parsed.
      for (const [index, value] of valuesOf(kind, text).entries())
        if (found.length <= maxDetails) found.push({ type: types[kind], text: value, label, line, place, index })
    } else more[column.kind] ||= text
  }
  for (const { place, index, ...detail } of found) {
    const all = labels.get(place) ?? []
    const text = all.length === 1 ? all[0] : all[index]
    raw.details.push(text ? { ...detail, label: labelOf(text) } : detail)
  }
  for (const [place, { label, texts }] of parts) {
    // The parts of a formatted address repeat it.
    if (found.some((one) => one.place === place)) continue
    const text = addressParts.flatMap((part) => texts.get(part) ?? []).join(', ')
    const [own = ''] = labels.get(place) ?? []
    raw.details.push({ type: 'A', text, label: labelOf(own) ?? label, line })
  }
  return withNames(raw, head, more)
}

/** What a contact has once; null: the column may be one of several. */
const singleOf = (column: Column | null | undefined): string | null => {
  if (column?.kind === 'field') return column.name
  return column?.kind === 'whole' ||
    column?.kind === 'company' ||
    column?.kind === 'middle' ||
    column?.kind === 'second'
    ? column.kind
    : null
}

/** Finds the cells of columns that have no meaning, or the meaning of an earlier one with another text. */
const unusedCells = (head: Head, cells: readonly string[], raw: RawEntry): number[] => {
  const taken = new Map<string, string>()
  return [...cells.entries()].flatMap(([i, text]) => {
    if (text === '') return []
    const column = head[i]
    if (column === null || (column?.kind === 'company' && hasUnusedCompany(raw))) return [i]
    const single = singleOf(column)
    const first = single === null ? text : (taken.get(single) ?? text)
    if (single !== null) taken.set(single, first)
    return first === text ? [] : [i]
  })
}

const faultOf = (head: Head): string | null => {
  const kinds = new Set(head.map((column) => (column?.kind === 'field' ? column.name : column?.kind)))
  const has = (...all: (FieldName | Column['kind'])[]) => all.some((kind) => kind !== 'field' && kinds.has(kind))
  if (!has(...nameFields, 'whole', 'company')) return 'the first line must name the columns; first_name is missing'
  return has('phone', 'email', 'address', 'part') ? null : 'the columns phone, email and address are all missing'
}

export type ReadOptions = {
  /** Its national numbers are accepted too. */
  readonly country?: CountryCode | undefined
  /** Meanings of columns, by their places; null: by the name in the first line. */
  readonly columns?: Parameters<typeof columnsOf>[1]
  /** False if the first line is a contact. Default: true. */
  readonly hasHeader?: boolean | undefined
}

/** Notes of the reader of a file, besides its contacts. */
export type FileNotes = {
  separator?: Separator
  /** Names of columns or properties with values that are not taken over. */
  readonly ignored: Set<string>
}

/** Notes the name of a column or property that is not taken over. */
export const addIgnored = ({ ignored }: FileNotes, name: string): void => {
  if (name !== '' && ignored.size < maxIgnoredColumns)
    ignored.add(storable(name.slice(0, 100).replace(/\p{Cc}/gu, ' ')))
}

/**
 * Parses a CSV file whose first line names the columns.
 * @throws BrokenFile
 */
export async function* readCsv(
  file: TextFile,
  notes: FileNotes,
  { country, columns = [], hasHeader = true }: ReadOptions = {},
): AsyncGenerator<ParsedEntry> {
  let head: Head | null = null
  let titles: readonly string[] = []
  const lines = linesOf(file, maxLineLength, (separator) => {
    notes.separator = separator
  })
  for await (const { line, cells: all } of lines) {
    if (head === null) {
      titles = hasHeader ? all : []
      head = columnsOf(titles, columns)
      const fault = faultOf(head)
      if (fault !== null) {
        yield { line, read: fault }
        return
      }
      if (hasHeader) continue
    }
    const cells = withinColumns(all, head.length)
    if (cells.length > head.length) {
      yield { line, read: `there are ${cells.length} fields, but ${head.length} columns` }
      continue
    }
    const raw = rawOf(line, head, cells)
    for (const i of unusedCells(head, cells, raw)) addIgnored(notes, titles[i] ?? '')
    yield parseEntry(line, raw, country)
  }
}

const cellCounts = { phone: 3, email: 2, address: 2 } as const
const detailColumns = Object.entries(cellCounts).flatMap(([kind, count]) =>
  Array.from({ length: count }, (_, i) => (i === 0 ? kind : `${kind}_${i + 1}`)),
)

export const csvHead = `${[...nameFields, ...detailColumns, ...otherFields, ...detailColumns.map((name) => `${name}_label`)].join()}\r\n`

/** Spreads the values over this many cells; the last cell has all that are left. */
const spread = (texts: readonly string[], cells: number): string[] =>
  Array.from({ length: cells }, (_, i) => (i < cells - 1 ? (texts[i] ?? '') : texts.slice(i).join(valueSeparator)))

/** As `spread`, without a cell of separators alone. */
const spreadLabels = (labels: readonly (string | null)[], cells: number): string[] => {
  const last = labels.findLastIndex((label) => label !== null)
  return spread(
    labels.slice(0, last + 1).map((label) => label ?? ''),
    cells,
  )
}

/** Formats a contact as a line of CSV (RFC 4180). */
export const csvLine = (contact: Contact): string => {
  const textsOf = (names: readonly FieldName[]) => names.map((name) => contact[name] ?? '')
  const isOf = { phone: ['PH', 'WAPH'], email: ['E'], address: ['A'] } as const
  const cellsOf = (cells: (all: readonly DetailRow[], count: number) => string[]): string[] =>
    (['phone', 'email', 'address'] as const).flatMap((kind) =>
      cells(
        contact.details.filter(({ type }) => isOf[kind].some((one) => one === type)),
        cellCounts[kind],
      ),
    )
  return csvLineOf([
    ...textsOf(nameFields),
    ...cellsOf((all, count) =>
      spread(
        all.map(({ value, extension }) => value + (extension ?? '')),
        count,
      ),
    ),
    ...textsOf(otherFields),
    ...cellsOf((all, count) =>
      spreadLabels(
        all.map(({ label }) => label),
        count,
      ),
    ),
  ])
}
