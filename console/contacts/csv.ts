// CSV (RFC 4180) as spreadsheets write it, read piece by piece: for the bad lines of an import.

/** A record of a file, as it is written, with its first and last line. */
export type FileRecord = { readonly from: number; readonly to: number; readonly text: string }
/** Yields the records of a text that arrives in pieces. A line break within quotes does not end a record. */
export async function* recordsOf(pieces: AsyncIterable<string>): AsyncGenerator<FileRecord> {
  let [text, line, from, isQuoted, wasReturn] = ['', 1, 1, false, false]
  for await (const piece of pieces) {
    let start = 0
    for (let i = 0; i < piece.length; i += 1) {
      const letter = piece[i]
      if (letter === '"') isQuoted = !isQuoted
      const isBreak = letter === '\r' || (letter === '\n' && !wasReturn)
      const isRest = letter === '\n' && wasReturn
      wasReturn = letter === '\r'
      if (isRest) {
        if (isQuoted) continue
        start = i + 1
        continue
      }
      if (!isBreak) continue
      line += 1
      if (isQuoted) continue
      yield { from, to: line - 1, text: text + piece.slice(start, i) }
      text = ''
      start = i + 1
      from = line
    }
    text += piece.slice(start)
  }
  if (text !== '') yield { from, to: line, text }
}

const cellText = (text: string): string => (/[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Returns cells as a record with commas. */
export const recordText = (cells: readonly string[]): string => cells.map(cellText).join(',')
