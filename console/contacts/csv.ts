// CSV (RFC 4180) as spreadsheets write it, read piece by piece: for the preview and for the bad lines of an import.

export type Separator = ',' | ';' | '\t'

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

/** True for a row without any text, as spreadsheets write one between others. */
export const isBlank = (record: string): boolean => !/[^\s",;]/.test(record)

/** Returns the cells of a record. */
export const cellsOf = (record: string, separator: Separator): string[] => {
  const cells: string[] = []
  let [cell, isQuoted] = ['', false]
  for (let i = 0; i < record.length; i += 1) {
    const letter = record[i] ?? ''
    if (letter === '"' && isQuoted && record[i + 1] === '"') {
      cell += '"'
      i += 1
    } else if (letter === '"' && (isQuoted || cell.trim() === '')) {
      isQuoted = !isQuoted
      if (isQuoted) cell = ''
    } else if (letter === separator && !isQuoted) {
      cells.push(cell.trim())
      cell = ''
    } else cell += letter
  }
  cells.push(cell.trim())
  return cells
}

const cellText = (text: string): string => (/[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Returns cells as a record with commas. */
export const recordText = (cells: readonly string[]): string => cells.map(cellText).join(',')

/** The separator that divides a record into most cells. */
export const separatorOf = (record: string): Separator =>
  ([',', ';', '\t'] as const).reduce((best, each) =>
    cellsOf(record, each).length > cellsOf(record, best).length ? each : best,
  )
