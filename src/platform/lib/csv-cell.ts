/**
 * Prefixes a cell with an apostrophe if a spreadsheet would evaluate it: cells that begin with one of these characters
 * are formulas, and +44… is a sum. The apostrophe marks the cell as text.
 */
const withApostrophe = (text: string): string => (/^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text)

/** Removes the apostrophe that `withApostrophe` added. */
export const withoutApostrophe = (text: string): string => (/^'+[=+\-@\t\r]/.test(text) ? text.slice(1) : text)

const cell = (text: string): string => {
  const safe = withApostrophe(text)
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Formats cells as a line of CSV (RFC 4180). No cell is a formula. */
export const csvLineOf = (texts: readonly string[]): string => `${texts.map(cell).join(',')}\r\n`
