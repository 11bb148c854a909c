import { setImmediate } from 'node:timers/promises'
import { CsvError, parse } from 'csv-parse'
import { readText, type TextFile, utf8Of } from './text-encoding.ts'
import { TimeSlice } from './time-slice.ts'

/** A line of a CSV file, with its line number in an editor. */
export type CsvLine = { readonly line: number; readonly cells: readonly string[] }

/** The file cannot be parsed beyond this line. */
export class UnreadableCsv extends Error {
  readonly line: number
  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

const unreadable = (line: number, why: string) =>
  new UnreadableCsv(line, `the CSV cannot be read beyond this line: ${why}`)

/** Bytes that the parser reads before it yields: 64 KiB of line feeds hold the event loop for 60 ms. */
const chunkBytes = 2 * 1024

/** Maximum number of columns. Address books export fewer than 200. */
export const maxColumns = 1_000

/** Characters between the cells of a file. Spreadsheets write a semicolon where the comma is the decimal sign. */
const separators = [',', ';', '\t'] as const
export type Separator = (typeof separators)[number]

/** Returns the separator that divides a line into most cells; the comma if there is none. */
const separatorOf = (line: string): Separator => {
  const counts = { ',': 0, ';': 0, '\t': 0 }
  let isQuoted = false
  for (const sign of line) {
    if (sign === '"') isQuoted = !isQuoted
    else if (!isQuoted && (sign === ',' || sign === ';' || sign === '\t')) counts[sign]++
  }
  return separators.reduce((best, each) => (counts[each] > counts[best] ? each : best))
}

/** Where the first line of a text that is not blank ends, outside quotes; -1: not within it. */
const firstLineEnd = (text: string): number => {
  let [isQuoted, isBlank] = [false, true]
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]
    if (sign === '"') isQuoted = !isQuoted
    const isBreak = sign === '\r' || sign === '\n'
    if (isBreak && !isQuoted && !isBlank) return at
    if (!isBreak) isBlank = false
  }
  return -1
}

/** The line that Excel reads, and writes on demand, before the names of the columns. */
const separatorLine = /^(?:\ufeff|\u00ef\u00bb\u00bf)?\s*"?sep=([,;\t])"?$/i

/** Reads the beginning of a file, until its first line ends. */
const readHead = async (pieces: AsyncIterator<Uint8Array>, longestLine: number) => {
  let head = Buffer.alloc(0)
  for (;;) {
    // Every separator is an octet of ASCII.
    const text = head.toString('latin1', 0, longestLine + 1)
    const end = firstLineEnd(text)
    const next = end < 0 && head.length <= longestLine ? await pieces.next() : { done: true as const }
    if (!next.done) {
      head = Buffer.concat([head, next.value])
      continue
    }
    const line = end < 0 ? text : text.slice(0, end)
    const stated = separators.find((each) => each === separatorLine.exec(line)?.[1])
    // The line stays empty, so that the lines after it keep their numbers.
    return { separator: stated ?? separatorOf(line), head: stated ? head.subarray(line.length) : head }
  }
}

async function* smallChunks(head: Buffer, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  async function* all() {
    yield head
    yield* rest
  }
  for await (const bytes of all())
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      yield Buffer.from(bytes.subarray(at, at + chunkBytes))
      await setImmediate()
    }
}

/**
 * Reads lines as a stream with backpressure, and skips those without any text. Commas, semicolons or tabs divide the cells, as the
 * first line shows. The reader yields to the event loop after 5 ms, including the work of the caller between two lines.
 * @param longestLine bytes
 * @param found is called with the separator
 * @throws UnreadableCsv
 */
export async function* linesOf(
  file: TextFile,
  longestLine = 10_000,
  found: (separator: Separator) => void = () => {},
): AsyncGenerator<CsvLine> {
  const pieces = utf8Of(file)
  const { separator, head } = await readHead(pieces, longestLine)
  found(separator)
  const parser = parse({
    bom: true,
    // With rtrim, text behind a closing quote would be an error, and the lines after it would be lost.
    ltrim: true,
    delimiter: separator,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    // A quote within a field is content, so that the lines after it are read too.
    relax_quotes: true,
    skip_empty_lines: true,
    // Spreadsheets write rows of separators between others.
    skip_records_with_empty_values: true,
    max_record_size: longestLine,
    on_record: (cells: string[], { lines }) => {
      // Resets the count, as the parser compares a record's length with the first one. An error would cost 0.1 ms.
      Object.assign(parser.info, { records: 0 })
      waiting.push({ line: lines, cells: cells.map(trimmed) })
      return null
    },
  })
  // An error of the parser would destroy the lines that its stream holds.
  const waiting: CsvLine[] = []
  parser.on('error', () => {})
  const turns = new TimeSlice()
  async function* rows() {
    for (const row of waiting.splice(0)) {
      if (turns.isOver) await turns.yieldToLoop()
      if (row.cells.length > maxColumns)
        throw unreadable(row.line, `the line has ${row.cells.length} columns, and the limit is ${maxColumns}`)
      yield row
    }
  }
  for await (const chunk of smallChunks(head, pieces)) {
    const error = await new Promise<Error | null | undefined>((resolve) => parser.write(chunk, resolve))
    yield* rows()
    if (error) throw unreadableOf(error, parser.info.lines, longestLine)
  }
  const error = await new Promise<Error | null | undefined>((resolve) => parser.end(resolve))
  yield* rows()
  if (error) throw unreadableOf(error, parser.info.lines, longestLine)
}

const unreadableOf = (error: Error, line: number, longestLine: number): Error => {
  if (!(error instanceof CsvError)) return error
  const why = error.code === 'CSV_MAX_RECORD_SIZE' ? `a line is longer than ${longestLine} bytes` : error.message
  return unreadable(line, why)
}

/** Trims a cell, also behind its closing quote: with a space there, the parser takes the quotes for content. */
const trimmed = (cell: string): string => cell.replace(/^"(.*)"\s+$/s, '$1').trimEnd()

/** Returns the cells of a line without empty ones behind the last column: spreadsheets write a comma there. */
export const withinColumns = (cells: readonly string[], columns: number): readonly string[] =>
  cells.slice(columns).every((cell) => cell === '') ? cells.slice(0, columns) : cells

/** A line as an object by column name, or the reason why it cannot be read. */
export type CsvRow = { readonly line: number; readonly row: Readonly<Record<string, string>> | string }

/** Maximum number of lines of a CSV text in memory. */
const maxRows = 200_000

/**
 * Reads the lines after the header of a CSV text.
 * @throws UnreadableCsv
 */
export async function* rowsOf(csv: string): AsyncGenerator<CsvRow> {
  let head: readonly string[] | null = null
  let rows = 0
  for await (const { line, cells: all } of linesOf(readText([csv]))) {
    if (head === null) {
      head = all
      continue
    }
    const cells = withinColumns(all, head.length)
    if (++rows > maxRows) throw unreadable(line, `the file has more than ${maxRows} lines`)
    if (cells.length !== head.length)
      yield { line, row: `the line has ${cells.length} fields, and the header has ${head.length}` }
    else yield { line, row: Object.fromEntries(head.map((name, i) => [name, cells[i] ?? ''])) }
  }
}
