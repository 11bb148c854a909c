import { pipeline, Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { CsvError, parse } from 'csv-parse'
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

async function* smallChunks(body: AsyncIterable<Buffer | string>): AsyncGenerator<Buffer> {
  for await (const chunk of body) {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk)
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      yield bytes.subarray(at, at + chunkBytes)
      await setImmediate()
    }
  }
}

/**
 * Reads lines as a stream with backpressure, and skips empty ones. The reader yields to the event loop after 5 ms,
 * including the work of the caller between two lines.
 * @param longestLine bytes
 * @throws UnreadableCsv
 */
export async function* linesOf(body: Readable, longestLine = 10_000): AsyncGenerator<CsvLine> {
  const parser = parse({
    bom: true,
    trim: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    // A quote within a field is content, so that the lines after it are read too.
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: longestLine,
    // The line number is added as a cell: the parser may be ahead when the record is consumed.
    on_record: (cells: string[], { lines }) => {
      // Resets the count, as the parser compares a record's length with the first one. An error would cost 0.1 ms.
      Object.assign(parser.info, { records: 0 })
      return [...cells, String(lines)]
    },
  })
  const turns = new TimeSlice()
  // The loop below throws the error.
  pipeline(body, smallChunks, parser, () => {})
  try {
    for await (const record of parser) {
      if (turns.isOver) await turns.yieldToLoop()
      const cells: string[] = record
      const line = Number(cells.pop())
      if (cells.length > maxColumns)
        throw unreadable(line, `the line has ${cells.length} columns, and the limit is ${maxColumns}`)
      yield { line, cells }
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const why = error.code === 'CSV_MAX_RECORD_SIZE' ? `a line is longer than ${longestLine} bytes` : error.message
    throw unreadable(parser.info.lines, why)
  }
}

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
  for await (const { line, cells } of linesOf(Readable.from([csv]))) {
    if (head === null) {
      head = cells
      continue
    }
    if (++rows > maxRows) throw unreadable(line, `the file has more than ${maxRows} lines`)
    if (cells.length !== head.length)
      yield { line, row: `the line has ${cells.length} fields, and the header has ${head.length}` }
    else yield { line, row: Object.fromEntries(head.map((name, i) => [name, cells[i] ?? ''])) }
  }
}
