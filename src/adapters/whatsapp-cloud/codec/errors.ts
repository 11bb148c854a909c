import { fieldsOf, numberOf, textOf } from './fields.ts'

/** An error of the Graph API (Cloud API, "Error codes"). */
export type GraphError = { readonly code: number; readonly reason: string }

/** Parses `{error}` of a response or an entry of a status' `errors`; null when absent. */
export const readError = (value: unknown): GraphError | null => {
  const error = fieldsOf(value)
  const code = numberOf(error.code)
  if (code === null) return null
  const said = textOf(error.title) ?? textOf(error.message) ?? 'no reason given'
  const details = textOf(fieldsOf(error.error_data).details)
  return { code, reason: details === null || details === said ? said : `${said}: ${details}` }
}

/** Rate limits, with the seconds until a retry. 131056 applies to one pair of numbers: one message per 6 s. */
const retrySeconds: Readonly<Record<number, number>> = {
  4: 60,
  80007: 60,
  80008: 60,
  130429: 5,
  131048: 60,
  131056: 6,
  133016: 60,
}

/** Temporary outages in which the request was not executed. */
const outages = new Set([2, 131016, 131057, 133004])

/** Seconds until a retry of a temporary error; null for a permanent one. */
export const retryAfterOf = ({ code }: GraphError): number | null =>
  retrySeconds[code] ?? (outages.has(code) ? 5 : null)

/** The token is invalid or lacks a permission (0, 190; 10 and 200 to 219 are permissions). */
export const isTokenRefused = ({ code }: GraphError): boolean => code === 0 || code === 190

/** Error code: the number exceeded its messages per second. */
export const rateLimitCode = '130429'
