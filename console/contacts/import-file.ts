import { contactFields, type FieldName, nameFields, otherFields } from './contact-details.ts'
import { cellsOf, type FileRecord, isBlank, recordsOf, recordText, type Separator, separatorOf } from './csv.ts'

// A file of contacts on the way to the server: its first lines for the preview, its columns, its bad lines.

/** Meanings of a column, as the import names them. */
export type Meaning = FieldName | 'ignore' | 'name' | 'company' | 'phone' | 'email' | 'address'
export const meanings: readonly Meaning[] = [
  ...(['ignore', ...nameFields, 'name', 'company', 'phone', 'email', 'address'] as const),
  ...otherFields,
]

/** Lines that the preview shows. */
const previewed = 20

/** The beginning of a CSV file. */
export type CsvPreview = {
  readonly kind: 'csv'
  readonly separator: Separator
  /** Cells of the first line, which names the columns or is the first contact. */
  readonly head: readonly string[]
  readonly rows: readonly { readonly line: number; readonly cells: readonly string[] }[]
}
/** The beginning of a file of vCards: the names and numbers of the first ones. */
export type CardPreview = {
  readonly kind: 'cards'
  readonly rows: readonly { readonly line: number; readonly cells: readonly string[] }[]
}
export type Preview = CsvPreview | CardPreview

export const isCardFile = ({ name, type }: File): boolean => /\.vcf$/i.test(name) || /vcard/.test(type)

/** Reads a file as text. @throws TypeError for other text than UTF-8 */
async function* textOf(file: Blob): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const reader = file.stream().getReader()
  for (;;) {
    const { done, value } = await reader.read()
    yield decoder.decode(value, { stream: !done })
    if (done) return
  }
}

/** Yields the cards of a file, as written. */
async function* cardsOf(pieces: AsyncIterable<string>): AsyncGenerator<FileRecord> {
  let card: { from: number; lines: string[] } | undefined
  for await (const { from: line, text } of linesOf(pieces)) {
    if (/^BEGIN:VCARD\s*$/i.test(text)) card = { from: line, lines: [] }
    card?.lines.push(text)
    if (card && /^END:VCARD\s*$/i.test(text)) {
      yield { from: card.from, to: line, text: card.lines.join('\r\n') }
      card = undefined
    }
  }
}

async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<FileRecord> {
  let [rest, line] = ['', 0]
  for await (const piece of pieces) {
    const lines = (rest + piece).split(/\r\n|\n/)
    rest = lines.pop() ?? ''
    for (const text of lines) {
      line += 1
      yield { from: line, to: line, text }
    }
  }
  if (rest !== '') yield { from: line + 1, to: line + 1, text: rest }
}

const fieldOf = (card: string, name: string): string =>
  new RegExp(`^(?:[\\w-]+\\.)?${name}(?:;[^:\\r\\n]*)?:([^\\r\\n]*)`, 'im').exec(card)?.[1] ?? ''

/** @throws TypeError for other text than UTF-8 */
export const previewOf = async (file: File): Promise<Preview> => {
  if (isCardFile(file)) {
    const rows: CardPreview['rows'][number][] = []
    for await (const { from: line, text } of cardsOf(textOf(file))) {
      const name = fieldOf(text, 'FN') || fieldOf(text, 'N').split(';').filter(Boolean).reverse().join(' ')
      rows.push({ line, cells: [name, fieldOf(text, 'TEL').replace(/^tel:/i, ''), fieldOf(text, 'EMAIL')] })
      if (rows.length === previewed) break
    }
    return { kind: 'cards', rows }
  }
  const records: FileRecord[] = []
  for await (const record of recordsOf(textOf(file))) {
    if (!isBlank(record.text)) records.push(record)
    if (records.length > previewed) break
  }
  const separator = separatorOf(records[0]?.text ?? '')
  const rows = records.map(({ from: line, text }) => ({ line, cells: cellsOf(text, separator) }))
  return { kind: 'csv', separator, head: rows[0]?.cells ?? [], rows }
}

const formsOf = (fields: readonly FieldName[]) => fields.map((name) => [contactFields[name].column, name] as const)

/** Column names of common address books, folded. The first match counts. */
const names: readonly (readonly [RegExp, Meaning])[] = [
  ...formsOf(nameFields),
  [/company|organi[sz]ation|firma/, 'company'],
  [/mail/, 'email'],
  [/phone|mobile|cell|^tel|number|telefon|handy/, 'phone'],
  ...formsOf(otherFields),
  [/address|adresse/, 'address'],
  [/name/, 'name'],
]

/** Guesses what the columns mean. Labels and types of values are no values. */
export const guessMeanings = (head: readonly string[]): Meaning[] =>
  head.map((title) => {
    const text = title.trim().toLowerCase().replace(/[_-]+/g, ' ')
    if (/\b(label|type)\b/.test(text)) return 'ignore'
    return names.find(([form]) => form.test(text))?.[1] ?? 'ignore'
  })

/** True if the first line is a contact: it has a number or an e-mail address. */
export const isHeadless = (head: readonly string[]): boolean =>
  head.some((cell) => /^\+?[\d ()-]{7,}$/.test(cell) || /^\S+@\S+\.\S+$/.test(cell))

/** Characters of a piece of a rewritten file. */
const pieceLength = 1_000_000

/** Returns the file as the import reads it: the first line names the columns by their meanings, commas divide cells. */
export const mappedFile = async (
  file: File,
  { separator }: CsvPreview,
  meaning: readonly Meaning[],
  hasHead: boolean,
): Promise<Blob> => {
  const pieces: Blob[] = []
  let text = `${recordText(meaning.map((one) => (one === 'ignore' ? 'ignored' : one)))}\n`
  let isFirst = true
  for await (const record of recordsOf(textOf(file))) {
    const lines = record.to - record.from + 1
    // Blank rows are no contacts. As empty lines they keep the numbers of the lines after them.
    if (isBlank(record.text)) {
      text += '\n'.repeat(lines)
      continue
    }
    const isHead = isFirst && hasHead
    isFirst = false
    if (isHead) {
      text += '\n'.repeat(lines - 1)
      continue
    }
    // Rows with more cells than columns are faults, which the import reports. A shorter one is complete.
    text += `${separator === ',' ? record.text : recordText(cellsOf(record.text, separator))}\n`
    if (text.length < pieceLength) continue
    pieces.push(new Blob([text]))
    text = ''
  }
  return new Blob([...pieces, text], { type: 'text/csv' })
}

/** Returns the records of a file that these lines belong to, by line. */
export const recordsAt = async (file: File, lines: ReadonlySet<number>): Promise<ReadonlyMap<number, string>> => {
  const found = new Map<number, string>()
  const records = isCardFile(file) ? cardsOf(textOf(file)) : recordsOf(textOf(file))
  const last = Math.max(...lines)
  for await (const { from, to, text } of records) {
    for (let line = from; line <= to; line += 1) if (lines.has(line)) found.set(line, text)
    if (from > last) break
  }
  return found
}
