import { pipeline, Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { CsvError, parse } from 'csv-parse'
import { Turns } from './turns.ts'

/** A line of a CSV file, by the number under which an editor shows it. */
export type Line = { readonly line: number; readonly cells: readonly string[] }

/** The file breaks off: what comes after this line cannot be told apart. */
export class BrokenFile extends Error {
  readonly line: number
  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

const broken = (line: number, why: string) => new BrokenFile(line, `the CSV cannot be read on from here: ${why}`)

/** Bytes that the parser reads before it yields: 64 KiB of line feeds hold the event loop for 60 ms. */
const turn = 2 * 1024

/** Columns of a file. Address books export fewer than 200. */
export const mostColumns = 1_000

async function* small(body: AsyncIterable<Buffer | string>): AsyncGenerator<Buffer> {
  for await (const chunk of body) {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk)
    for (let at = 0; at < bytes.length; at += turn) {
      yield bytes.subarray(at, at + turn)
      await setImmediate()
    }
  }
}

/**
 * Reads lines as they come, and no faster than they are taken. Empty ones are passed over. The reader yields to the event loop
 * after 5 ms, and so does the work of the caller between two lines.
 * @param longestLine bytes
 * @throws BrokenFile
 */
export async function* linesOf(body: Readable, longestLine = 10_000): AsyncGenerator<Line> {
  const parser = parse({
    bom: true,
    trim: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    // A quote within a field is a part of it, so that the lines after it are read too.
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: longestLine,
    // The line's number travels as one more cell: the parser itself may be ahead when the record is taken.
    on_record: (cells: string[], { lines }) => {
      // Each record counts as the first: for one of another length the parser would make an error, 0.1 ms, and drop it.
      Object.assign(parser.info, { records: 0 })
      return [...cells, String(lines)]
    },
  })
  const turns = new Turns()
  // The error reaches us by the loop.
  pipeline(body, small, parser, () => {})
  try {
    for await (const record of parser) {
      if (turns.isOver) await turns.next()
      const cells: string[] = record
      const line = Number(cells.pop())
      if (cells.length > mostColumns)
        throw broken(line, `the line has ${cells.length} columns, and the limit is ${mostColumns}`)
      yield { line, cells }
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const why = error.code === 'CSV_MAX_RECORD_SIZE' ? `a line is longer than ${longestLine} bytes` : error.message
    throw broken(parser.info.lines, why)
  }
}

/** A line by the names of its columns, or why it has none. */
export type Row = { readonly line: number; readonly row: Readonly<Record<string, string>> | string }

/** Lines of a CSV text that is held in memory. */
const mostRows = 200_000

/**
 * Reads the lines below the head of a CSV text.
 * @throws BrokenFile
 */
export async function* rowsOf(csv: string): AsyncGenerator<Row> {
  let head: readonly string[] | null = null
  let rows = 0
  for await (const { line, cells } of linesOf(Readable.from([csv]))) {
    if (head === null) {
      head = cells
      continue
    }
    if (++rows > mostRows) throw broken(line, `the file has more than ${mostRows} lines`)
    if (cells.length !== head.length)
      yield { line, row: `there are ${cells.length} fields, and ${head.length} in the head` }
    else yield { line, row: Object.fromEntries(head.map((name, i) => [name, cells[i] ?? ''])) }
  }
}
