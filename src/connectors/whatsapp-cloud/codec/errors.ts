import { fieldsOf, numberOf, textOf } from './fields.ts'

/** An error as the Graph API words it (Cloud API, "Error codes"). */
export type GraphError = { readonly code: number; readonly reason: string }

/** Reads `{error}` of an answer, or an entry of `errors` of a status. Null when there is none. */
export const readError = (value: unknown): GraphError | null => {
  const error = fieldsOf(value)
  const code = numberOf(error.code)
  if (code === null) return null
  const said = textOf(error.title) ?? textOf(error.message) ?? 'no reason given'
  const details = textOf(fieldsOf(error.error_data).details)
  return { code, reason: details === null || details === said ? said : `${said}: ${details}` }
}

/** Too much was asked; the seconds after which another try is worth while. 131056 is of one pair of numbers: one message each 6 s. */
const paces: Readonly<Record<number, number>> = {
  4: 60,
  80007: 60,
  80008: 60,
  130429: 5,
  131048: 60,
  131056: 6,
  133016: 60,
}

/** The service is not itself at this moment, and has done nothing. */
const outages = new Set([2, 131016, 131057, 133004])

/** Seconds to wait where an error passes by itself; null where it does not. */
export const waitOf = ({ code }: GraphError): number | null => paces[code] ?? (outages.has(code) ? 5 : null)

/** The token is not taken, or may not do this (0, 190; 10 and 200 to 219 are permissions). */
export const isTokenRefused = ({ code }: GraphError): boolean => code === 0 || code === 190

/** A number sent more messages in a second than it may. */
export const tooMany = '130429'
