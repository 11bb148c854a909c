/** Headers of one's own: with or without `X-` before the name; as an object, or as lines `Name: value`. */
export type ExtraHeaders = { readonly [name: string]: string } | readonly string[]

const isLines = (headers: ExtraHeaders): headers is readonly string[] => Array.isArray(headers)

const pairs = (headers: ExtraHeaders): (readonly [string, string])[] =>
  isLines(headers)
    ? headers.map((line) => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1)] as const)
    : Object.entries(headers)

/** By name without `X-`; what is no token of RFC 3261 (25.1) is left out, and no value ends its line. */
export const readHeaders = (headers: ExtraHeaders = {}): Record<string, string> =>
  Object.fromEntries(
    pairs(headers)
      .map(([name, value]) => [name.replace(/^x-/i, ''), value.replace(/\s+/g, ' ').trim()] as const)
      .filter(([name]) => /^[\w.!%*+`'~-]+$/.test(name)),
  )

/** As JsSIP wants them. */
export const writeHeaders = (headers: Record<string, string>): string[] =>
  Object.entries(headers).map(([name, value]) => `X-${name}: ${value}`)

/** The headers of a request as JsSIP keeps them. */
export type Received = { readonly [name: string]: readonly { readonly raw: string }[] }

/** Those of a request that begin with `X-`, by name without it. */
export const customHeaders = (received: Received): Record<string, string> =>
  Object.fromEntries(
    Object.entries(received)
      .filter(([name]) => /^x-/i.test(name))
      .map(([name, values]) => [name.slice(2), values[0]?.raw ?? '']),
  )
