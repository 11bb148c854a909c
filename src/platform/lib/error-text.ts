// V8 quotes a part of invalid JSON, which may be message text: `Unexpected token 'Z', "ZQX" is not valid JSON`.
const quoted = /(?:Unexpected token .+?, )?(?:\.\.\.)?".*"(?:\.\.\.)? is not valid JSON/gs

const withoutQuotes = (text: string): string => text.replace(quoted, 'not valid JSON')

/** Returns the message of an error for the log, without quoted input. */
export const errorText = (error: unknown): string =>
  withoutQuotes(error instanceof Error ? error.message : String(error))

/** Returns the stack of an error for the log, else its message, without quoted input. */
export const errorStack = (error: unknown): string =>
  error instanceof Error ? withoutQuotes(error.stack ?? error.message) : errorText(error)
