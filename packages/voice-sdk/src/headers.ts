/** Custom headers, with or without `X-` before the name; as an object, or as lines `Name: value`. */
export type ExtraHeaders = { readonly [name: string]: string } | readonly string[]

const isLines = (headers: ExtraHeaders): headers is readonly string[] => Array.isArray(headers)

const pairs = (headers: ExtraHeaders): (readonly [string, string])[] =>
  isLines(headers)
    ? headers.map((line) => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1)] as const)
    : Object.entries(headers)

/**
 * Returns headers by name without `X-`. Drops names that are not tokens (RFC 3261, 25.1) and removes line breaks from
 * values.
 */
export const readHeaders = (headers: ExtraHeaders = {}): Record<string, string> =>
  Object.fromEntries(
    pairs(headers)
      .map(([name, value]) => [name.replace(/^x-/i, ''), value.replace(/\s+/g, ' ').trim()] as const)
      .filter(([name]) => /^[\w.!%*+`'~-]+$/.test(name)),
  )

/** Formats headers for JsSIP. */
export const writeHeaders = (headers: Record<string, string>): string[] =>
  Object.entries(headers).map(([name, value]) => `X-${name}: ${value}`)

/** The headers of a request in the form of JsSIP. */
export type ReceivedHeaders = { readonly [name: string]: readonly { readonly raw: string }[] }

/** Returns the headers of a request that begin with `X-`, by name without that prefix. */
export const customHeaders = (received: ReceivedHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(received)
      .filter(([name]) => /^x-/i.test(name))
      .map(([name, values]) => [name.slice(2), values[0]?.raw ?? '']),
  )
