// V8 quotes a piece of what it could not parse, which may be of a message: `Unexpected token 'Z', "ZQX" is not valid JSON`.
const quoted = /(?:Unexpected token .+?, )?(?:\.\.\.)?".*"(?:\.\.\.)? is not valid JSON/gs

const withoutQuotes = (text: string): string => text.replace(quoted, 'not valid JSON')

/** The message of an error as it may be logged: without pieces of what was parsed. */
export const errorText = (error: unknown): string =>
  withoutQuotes(error instanceof Error ? error.message : String(error))

/** The same with its stack, where there is one. */
export const errorStack = (error: unknown): string =>
  error instanceof Error ? withoutQuotes(error.stack ?? error.message) : errorText(error)
