/**
 * Prefixes a cell with an apostrophe if a spreadsheet would evaluate it: cells that begin with one of these characters
 * are formulas, and +44… is a sum. The apostrophe marks the cell as text.
 */
const withApostrophe = (text: string): string => (/^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text)

/** Removes the apostrophe that `withApostrophe` added. */
export const withoutApostrophe = (text: string): string => (/^'+[=+\-@\t\r]/.test(text) ? text.slice(1) : text)

const quoted = (safe: string): string => (/[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe)

const cell = (text: string): string => quoted(withApostrophe(text))

/** Formats cells as a line of CSV (RFC 4180). No cell is a formula. */
export const csvLineOf = (texts: readonly string[]): string => `${texts.map(cell).join(',')}\r\n`

/** Like `csvLineOf`, but leaves phone numbers as they are: programs read the exports of the interface. */
export const csvExportLineOf = (texts: readonly string[]): string =>
  `${texts.map((text) => (/^\+\d+$/.test(text) ? text : cell(text))).join(',')}\r\n`
