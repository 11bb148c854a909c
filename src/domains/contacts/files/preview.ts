import { linesOf, type Separator, UnreadableCsv } from '../../../platform/lib/csv.ts'
import { fullName } from '../../../platform/lib/full-name.ts'
import { storable } from '../../../platform/lib/storable.ts'
import type { TextFile } from '../../../platform/lib/text-encoding.ts'
import { maxLineLength, previewBytes, previewLines } from '../limits.ts'
import { columnsOf, meaningOf } from './csv-columns.ts'
import { readVcards } from './vcard.ts'

type Row = { readonly line: number; readonly cells: string[] }

/** Returns the beginning of a file. The rest is read and dropped, so that its sender can end. */
export const beginningOf = async (body: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of body) {
    if (size < previewBytes) pieces.push(piece)
    size += piece.length
  }
  return Buffer.concat(pieces).subarray(0, previewBytes)
}

/** Collects the first rows. The end of a beginning may be cut anywhere. */
const firstRows = async (rows: AsyncIterable<Row>): Promise<Row[]> => {
  const found: Row[] = []
  try {
    for await (const row of rows) {
      found.push({ line: row.line, cells: row.cells.map((cell) => storable(cell)) })
      if (found.length > previewLines) break
    }
  } catch (error) {
    if (!(error instanceof UnreadableCsv)) throw error
  }
  return found
}

async function* cellsOf(file: TextFile, found: (separator: Separator) => void): AsyncGenerator<Row> {
  for await (const { line, cells } of linesOf(file, maxLineLength, found)) yield { line, cells: [...cells] }
}

export const previewCsv = async (file: TextFile) => {
  let separator: Separator = ','
  const rows = await firstRows(
    cellsOf(file, (found) => {
      separator = found
    }),
  )
  const titles = rows[0]?.cells ?? []
  const columns = columnsOf(titles).map((column, i) => ({ title: titles[i] ?? '', meaning: meaningOf(column) }))
  return { encoding: file.encoding, separator, columns, rows }
}

async function* cardsOf(file: TextFile): AsyncGenerator<Row> {
  for await (const { line, read } of readVcards(file, { ignored: new Set() })) {
    if (typeof read === 'string') yield { line, cells: [read, '', ''] }
    else {
      const firstOf = (...types: string[]) => read.details.find(({ type }) => types.includes(type))?.value ?? ''
      yield { line, cells: [fullName(read), firstOf('PH', 'WAPH'), firstOf('E')] }
    }
  }
}

const cardColumns = (['name', 'phone', 'email'] as const).map((meaning) => ({ title: meaning, meaning }))

export const previewCards = async (file: TextFile) => {
  const rows = await firstRows(cardsOf(file))
  return { encoding: file.encoding, columns: cardColumns, rows: rows.slice(0, previewLines) }
}
