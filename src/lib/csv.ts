import { pipeline, type Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { CsvError, parse } from 'csv-parse'

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

/** Bytes after which others have their turn: 64 KiB of line feeds hold the event loop for 60 ms. */
const turn = 2 * 1024

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
 * Reads lines as they come, and no faster than they are taken. Empty ones are passed over.
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
    on_record: (cells: string[], { lines }) => [...cells, String(lines)],
  })
  // The error reaches us by the loop.
  pipeline(body, small, parser, () => {})
  try {
    for await (const record of parser) {
      const cells: string[] = record
      yield { line: Number(cells.pop()), cells }
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const why = error.code === 'CSV_MAX_RECORD_SIZE' ? `a line is longer than ${longestLine} bytes` : error.message
    throw new BrokenFile(parser.info.lines, `the CSV cannot be read on from here: ${why}`)
  }
}
